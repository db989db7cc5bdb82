/* Motions of blocks of descriptors by their Hamming distance, in the common subset of OpenCL C and CUDA C; the macros of `source.py`
   stand in front. All numbers are whole. Beyond the edges the nearest pixel stands. */

static FUNCTION int ones(UINT bits)
{
    bits = bits - ((bits >> 1) & 0x55555555u);
    bits = (bits & 0x33333333u) + ((bits >> 2) & 0x33333333u);
    return (int)((((bits + (bits >> 4)) & 0x0F0F0F0Fu) * 0x01010101u) >> 24);
}

/* sums (HELD, H, W), of motions from `begin` on: the distances of a block's rows in a column. first (H, W), second (.., stride):
   descriptors; offsets (labels, 2), from a pixel of the first to one of the second; observed, shown: 0 where one says nothing. */
KERNEL void columns(GLOBAL const UINT *first, GLOBAL const UINT *second, GLOBAL const int *offsets, GLOBAL const UCHAR *observed,
                    GLOBAL const UCHAR *shown, GLOBAL int *sums, int rows, int cols, int stride, int labels, int begin,
                    int out_of_range)
{
    const int cell = GLOBAL_ID(0), held = cell / cols, col = cell % cols, label = begin + held;
    if (held >= HELD || label >= labels)
        return;
    const int down = offsets[2 * label], along = offsets[2 * label + 1];
    int sum = 0;
    for (int newest = -(SIZE / 2); newest < rows + SIZE / 2; ++newest)
        for (int leaves = 0; leaves < 2; ++leaves) {
            const int place = leaves ? newest - SIZE : newest;
            if (place >= -(SIZE / 2)) {
                const int row = place < 0 ? 0 : place < rows ? place : rows - 1;
                const I64 site = (I64)row * cols + col, there = (I64)(row + down) * stride + col + along;
                const int far = !observed[site] ? 0 : !shown[there] ? out_of_range : ones(first[site] ^ second[there]);
                sum += leaves ? -far : far;
            }
            if (leaves && newest >= SIZE / 2)
                sums[((I64)held * rows + newest - SIZE / 2) * cols + col] = sum;
        }
}

/* The motion of the least sum over a block, the first on ties, where that is below `least` (H, W), which then has it. */
KERNEL void choose(GLOBAL const int *sums, GLOBAL int *least, GLOBAL USHORT *out, int rows, int cols, int labels, int begin)
{
    const I64 at = (I64)GROUP_ID(0) * GROUP + LOCAL_ID(0);
    if (at >= (I64)rows * cols)
        return;
    const int row = (int)(at / cols), col = (int)(at % cols);
    int lowest = least[at], found = out[at];
    for (int held = 0; held < HELD && begin + held < labels; ++held) {
        GLOBAL const int *of_row = sums + ((I64)held * rows + row) * cols;
        int sum = 0;
        for (int place = col - SIZE / 2; place <= col + SIZE / 2; ++place)
            sum += of_row[place < 0 ? 0 : place < cols ? place : cols - 1];
        if (sum < lowest) {
            lowest = sum;
            found = begin + held;
        }
    }
    least[at] = lowest;
    out[at] = (USHORT)found;
}
