/* Gibbs sampling of fields side by side, in the common subset of OpenCL C and CUDA C; the macros of `source.py` stand in front.

   Entry k of `entries` says where the data of field k lie (E_*), entry (step, k) of `now` what its sweep is like (N_*). The cells of a
   colour are (row, x), column 2 x + ((row + colour) & 1). All numbers are whole; `reference.py` has the same in NumPy. */

/* Four words of Philox4x32-10 of the counter (a, b, c, 0). */
static FUNCTION void philox(UINT a, UINT b, UINT c, UINT key0, UINT key1, UINT *words)
{
    UINT c0 = a, c1 = b, c2 = c, c3 = 0;
    for (int n = 0; n < 10; ++n) {
        UINT high0 = MUL_HI(0xD2511F53u, c0), low0 = 0xD2511F53u * c0, high1 = MUL_HI(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
        c0 = high1 ^ c1 ^ key0;
        c1 = low1;
        c2 = high0 ^ c3 ^ key1;
        c3 = low0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

/* A colour's sites of all fields, or of `band` rows of one from `first` on, of which `singles` holds that colour's alone. */
KERNEL void draw(GLOBAL const I64 *entries, GLOBAL const int *now, GLOBAL const SINGLE *singles, GLOBAL const int *doubles,
                 GLOBAL const UCHAR *edges, GLOBAL const UCHAR *clamped, GLOBAL const UINT *weights, GLOBAL UCHAR *labels,
                 GLOBAL COUNT *counts, GLOBAL I64 *sums, GLOBAL int *turns, GLOBAL UINT *visits, int step, int fields, int colour,
                 int first, int band)
{
    GLOBAL const I64 *of = entries + (I64)GROUP_ID(2) * ENTRY;
    GLOBAL const int *is = now + ((I64)step * fields + GROUP_ID(2)) * NOW;
    const int rows = (int)of[E_ROWS], columns = (int)of[E_COLUMNS], across = (columns + 1) / 2, number = NUMBER;
    const int x = GLOBAL_ID(0), row = first + GLOBAL_ID(1), column = 2 * x + ((row + colour) & 1);
    const int held = band ? band : rows;
    labels += of[E_SITES];
    clamped += of[E_CLAMPED];
    doubles += of[E_DOUBLES];
#if LOCAL_DOUBLES
    LOCAL int doubles_here[LOCAL_DOUBLES];
    for (int n = LOCAL_ID(1) * GROUP_X + LOCAL_ID(0); n < (int)of[E_SIDES] * (number + 1) * number; n += GROUP_X * GROUP_Y)
        doubles_here[n] = doubles[n];
#define DOUBLES doubles_here
#else
#define DOUBLES doubles
#endif
#if LOCAL_LABELS
    /* The labels of the other colour, of the group's cells with a rim. */
    LOCAL UCHAR labels_here[(GROUP_Y + 2) * (2 * GROUP_X + 2)];
    const int top = first + GROUP_ID(1) * GROUP_Y - 1, left_end = 2 * GROUP_ID(0) * GROUP_X - 1;
    for (int n = LOCAL_ID(1) * GROUP_X + LOCAL_ID(0); n < (GROUP_Y + 2) * (2 * GROUP_X + 2); n += GROUP_X * GROUP_Y) {
        int r = top + n / (2 * GROUP_X + 2), c = left_end + n % (2 * GROUP_X + 2);
        if (r >= 0 && r < rows && c >= 0 && c < columns && ((r + c) & 1) != colour)
            labels_here[n] = labels[(I64)r * columns + c];
    }
#define LABEL_AT(r, c) labels_here[((r) - top) * (2 * GROUP_X + 2) + (c) - left_end]
#else
#define LABEL_AT(r, c) labels[(I64)(r) * columns + (c)]
#endif
#if LOCAL_DOUBLES || LOCAL_LABELS
    BARRIER;
#endif
    /* Behind the barrier: all cells of a group meet there. No weights: the field rests. */
    if (!is[N_WEIGHTS_SIZE] || row >= (band ? first + band : rows) || column >= columns)
        return;
    const I64 site = (I64)row * columns + column;
    if (clamped[site])
        return;
#if EVENTS
    /* A region's turn of a colour is the last sweep in which it is to be drawn; what a turn is set to in a launch is no less. */
#define TURN(r, c, of_colour) turns[2 * ((I64)((r) / (int)of[E_REGION_ROWS]) * of[E_REGIONS_ACROSS] \
                                         + (c) / (int)of[E_REGION_COLUMNS]) + (of_colour)]
    turns += of[E_TURNS];
    if (!is[N_EVERY] && TURN(row, column, colour) < is[N_SWEEP])
        return;
    ++visits[of[E_SITES] + site];
#endif
    /* Rows of doubletons by the neighbours' labels; the last one is 0, for a neighbour that is not there. */
    const int after = of[E_SIDES] > 1 ? (number + 1) * number : 0;
    const int up = number * (row > 0 ? LABEL_AT(row - 1, column) : number);
    const int down = after + number * (row + 1 < rows ? LABEL_AT(row + 1, column) : number);
    const int left = number * (column > 0 ? LABEL_AT(row, column - 1) : number);
    const int right = after + number * (column + 1 < columns ? LABEL_AT(row, column + 1) : number);
    int above = 1, below = 1, before = 1, behind = 1;
    if (of[E_EDGES] >= 0) {
        GLOBAL const UCHAR *edge = edges + of[E_EDGES] + 4 * site;
        above = edge[0];
        below = edge[1];
        before = edge[2];
        behind = edge[3];
    }
    const I64 cells = (I64)held * across;
    GLOBAL const SINGLE *own = singles + of[E_SINGLES] + (band ? 0 : colour * number * cells) + (I64)(row - first) * across + x;
#define ENERGY(l) ((int)own[(l) * cells] + above * DOUBLES[up + (l)] + below * DOUBLES[down + (l)] + before * DOUBLES[left + (l)] \
                   + behind * DOUBLES[right + (l)])
#if SUBSET
    /* The site's label, and proposals: any label, or one beside a neighbour's. A slot's weight over how likely it is proposed. */
    int slots[SUBSET], energy[SUBSET], beside[4], many = 0, least = 0x7FFFFFFF;
    if (row > 0)
        beside[many++] = LABEL_AT(row - 1, column);
    if (row + 1 < rows)
        beside[many++] = LABEL_AT(row + 1, column);
    if (column > 0)
        beside[many++] = LABEL_AT(row, column - 1);
    if (column + 1 < columns)
        beside[many++] = LABEL_AT(row, column + 1);
    UINT words[4 * (SUBSET / 4 + 1)];
    for (int n = 0; n <= SUBSET / 4; ++n)
        philox((UINT)site, (UINT)is[N_SWEEP], n, (UINT)of[E_KEY0], (UINT)of[E_KEY1], words + 4 * n);
    for (int n = 0; n < SUBSET; ++n) {
        int l = labels[site];
        if (n) {
            const UINT word = words[n + 1];
            l = (int)MUL_HI(word << 1, number);
            if (word >> 31 && many) {
                l = beside[MUL_HI(word << 1 & ~7u, many)] + ((word & 3) == 3) - ((word & 3) == 2);
                l = l < 0 ? 0 : l < number ? l : number - 1;
            }
        }
        slots[n] = l;
        energy[n] = ENERGY(l);
        least = energy[n] < least ? energy[n] : least;
    }
    const int last = is[N_WEIGHTS_SIZE] - 1;
    weights += is[N_WEIGHTS];
    U64 parts[SUBSET], total = 0, running = 0;
    for (int n = 0; n < SUBSET; ++n) {
        int proposed = 4 * many;
        for (int k = 0; k < many; ++k) {
            const int higher = beside[k] + 1 < number ? beside[k] + 1 : number - 1, lower = beside[k] ? beside[k] - 1 : 0;
            proposed += number * (2 * (slots[n] == beside[k]) + (slots[n] == higher) + (slots[n] == lower));
        }
        const int above_least = energy[n] - least;
        parts[n] = (U64)weights[above_least < last ? above_least : last] * (UINT)(many ? PROPOSED / proposed : PROPOSED);
        total += parts[n];
    }
    const U64 point = MUL_HI64(total, (U64)words[0] << 32 | words[1]);
    int drawn = slots[0];
    for (int n = 1; n < SUBSET; ++n) {
        running += parts[n - 1];
        drawn = point >= running ? slots[n] : drawn;
    }
#else
    int least = 0x7FFFFFFF, likely = 0;
#if KEEP
    int energy[MOST_LABELS];
#endif
    UNROLL
    for (int l = 0; l < number; ++l) {
        int e = ENERGY(l);
        least = e < least ? e : least;
#if KEEP
        energy[l] = e;
#endif
    }
    /* Weights of at most 2^31 together, then the label at a point of their sum. */
    const int last = is[N_WEIGHTS_SIZE] - 1;
    weights += is[N_WEIGHTS];
    UINT total = 0, running = 0;
    UNROLL
    for (int l = 0; l < number; ++l) {
#if KEEP
        int above_least = energy[l] - least;
        UINT weight = weights[above_least < last ? above_least : last];
        energy[l] = (int)weight;
#else
        int above_least = ENERGY(l) - least;
        UINT weight = weights[above_least < last ? above_least : last];
#endif
        total += weight;
        likely += weight > 0;
    }
    UINT words[4];
    philox((UINT)site, (UINT)is[N_SWEEP], 0, (UINT)of[E_KEY0], (UINT)of[E_KEY1], words);
    const UINT point = MUL_HI(words[0], total);
    int drawn = 0;
    UNROLL
    for (int l = 0; l < number - 1; ++l) {
#if KEEP
        running += (UINT)energy[l];
#else
        int above_least = ENERGY(l) - least;
        running += weights[above_least < last ? above_least : last];
#endif
        drawn += point >= running;
    }
#endif
#if EVENTS
    if (likely > 1)
        TURN(row, column, colour) = is[N_SWEEP] + 1;
    if (labels[site] != drawn) {
        const int turn = is[N_SWEEP] + colour; /* white sites are drawn in this sweep, black ones in the next */
        if (row > 0)
            TURN(row - 1, column, 1 - colour) = turn;
        if (row + 1 < rows)
            TURN(row + 1, column, 1 - colour) = turn;
        if (column > 0)
            TURN(row, column - 1, 1 - colour) = turn;
        if (column + 1 < columns)
            TURN(row, column + 1, 1 - colour) = turn;
    }
#endif
    labels[site] = (UCHAR)drawn;
    if (is[N_COUNTED]) {
        if (of[E_COUNTS] >= 0)
            ++counts[of[E_COUNTS] + site * number + drawn];
        if (of[E_SUMS] >= 0) {
            sums[of[E_SUMS] + 2 * site] += drawn;
            ++sums[of[E_SUMS] + 2 * site + 1];
        }
    }
}

/* The energy of each row of a field with the edges to its right and below, (fields, most_rows). */
KERNEL void energy(GLOBAL const I64 *entries, GLOBAL const SINGLE *singles, GLOBAL const int *doubles, GLOBAL const UCHAR *edges,
                   GLOBAL const UCHAR *labels, GLOBAL I64 *found, int most_rows)
{
    GLOBAL const I64 *of = entries + (I64)GROUP_ID(2) * ENTRY;
    const int rows = (int)of[E_ROWS], columns = (int)of[E_COLUMNS], across = (columns + 1) / 2, number = (int)of[E_LABELS];
    const int row = GLOBAL_ID(0);
    if (row >= rows)
        return;
    labels += of[E_SITES];
    doubles += of[E_DOUBLES];
    const I64 cells = (I64)rows * across;
    I64 sum = 0;
    for (int column = 0; column < columns; ++column) {
        const I64 site = (I64)row * columns + column;
        const int label = labels[site], colour = (row + column) & 1;
        GLOBAL const UCHAR *edge = edges + (of[E_EDGES] >= 0 ? of[E_EDGES] + 4 * site : 0);
        sum += singles[of[E_SINGLES] + ((I64)colour * number + label) * cells + (I64)row * across + column / 2];
        if (column + 1 < columns)
            sum += (I64)(of[E_EDGES] >= 0 ? edge[3] : 1) * doubles[label * number + labels[site + 1]];
        if (row + 1 < rows)
            sum += (I64)(of[E_EDGES] >= 0 ? edge[1] : 1) * doubles[label * number + labels[site + columns]];
    }
    found[(I64)GROUP_ID(2) * most_rows + row] = sum;
}
