/* Histograms averaged among pixels that look alike, by a guided filter, in the common subset of OpenCL C and CUDA C; the macros of
   `mrfhw.samplers.gpu.source` stand in front. All sums are those of `mrfhw.analysis.alike`, in its order, so that no bit differs.
   Of HELD labels from `begin` on; sums, lines: (H, 2, W, HELD) double. */

/* Sums of columns of shares, and of their products with the greys, over the windows of rows. */
KERNEL void columns(GLOBAL const COUNT *counts, GLOBAL const UCHAR *last, GLOBAL const I64 *totals, GLOBAL const double *guide,
                    GLOBAL double *sums, int rows, int cols, int labels, int begin)
{
    const int cell = GLOBAL_ID(0), col = cell / HELD, label = begin + cell % HELD;
    if (col >= cols || label >= labels)
        return;
    double first = 0, second = 0;
    for (int entering = 0; entering < rows + RADIUS; ++entering)
        for (int way = 0; way < 2; ++way) {
            const int row = way ? entering - SIDE : entering;
            if (row >= 0 && row < rows) {
                const I64 site = (I64)row * cols + col;
                double share = totals[site] ? (double)counts[site * labels + label] / (double)totals[site]
                                            : (last[site] == label ? 1.0 : 0.0);
                if (way)
                    share = -share;
                first += share;
                second += share * guide[site];
            }
            if (way && entering >= RADIUS) {
                GLOBAL double *sum = sums + ((I64)(entering - RADIUS) * 2 * cols + col) * HELD + label - begin;
                sum[0] = first;
                sum[(I64)cols * HELD] = second;
            }
        }
}

/* Sums of a row's columns around `col`, moved on to it; around -1 before. */
static FUNCTION void along(GLOBAL const double *of_row, int cols, int col, double *first, double *second)
{
    const I64 kind = (I64)cols * HELD;
    if (col + RADIUS < cols) {
        *first += of_row[(I64)(col + RADIUS) * HELD];
        *second += of_row[kind + (I64)(col + RADIUS) * HELD];
    }
    if (col > RADIUS) {
        *first -= of_row[(I64)(col - RADIUS - 1) * HELD];
        *second -= of_row[kind + (I64)(col - RADIUS - 1) * HELD];
    }
}

static FUNCTION void started(GLOBAL const double *of_row, int cols, double *first, double *second)
{
    *first = *second = 0;
    for (int col = 0; col < RADIUS && col < cols; ++col) {
        *first += of_row[(I64)col * HELD];
        *second += of_row[((I64)cols + col) * HELD];
    }
}

/* The straight line of the greys in each window: its slope, and what it is at grey 0. */
KERNEL void fit_lines(GLOBAL const double *sums, GLOBAL const double *number, GLOBAL const double *mean,
                      GLOBAL const double *variance, GLOBAL double *lines, int rows, int cols, double flat)
{
    const int cell = GLOBAL_ID(0), row = cell / HELD;
    if (row >= rows)
        return;
    const I64 at = (I64)row * 2 * cols * HELD + cell % HELD;
    double first, second;
    started(sums + at, cols, &first, &second);
    for (int col = 0; col < cols; ++col) {
        along(sums + at, cols, col, &first, &second);
        const I64 site = (I64)row * cols + col;
        const double share = first / number[site];
        const double slope = (second / number[site] - share * mean[site]) / (variance[site] + flat);
        lines[at + (I64)col * HELD] = slope;
        lines[at + ((I64)cols + col) * HELD] = share - slope * mean[site];
    }
}

/* Sums of columns of lines over the windows of rows. */
KERNEL void line_columns(GLOBAL const double *lines, GLOBAL double *sums, int rows, int cols)
{
    const int cell = GLOBAL_ID(0);
    if (cell >= 2 * cols * HELD)
        return;
    const I64 stride = (I64)2 * cols * HELD;
    double sum = 0;
    for (int row = 0; row < rows + RADIUS; ++row) {
        if (row >= SIDE)
            sum -= lines[(row - SIDE) * stride + cell];
        if (row < rows)
            sum += lines[row * stride + cell];
        if (row >= RADIUS)
            sums[(row - RADIUS) * stride + cell] = sum;
    }
}

/* What the lines of all windows of a pixel say of it, in parts of WHOLE. */
KERNEL void averages(GLOBAL const double *sums, GLOBAL const double *number, GLOBAL const double *guide, GLOBAL USHORT *out,
                     int rows, int cols, int labels, int begin)
{
    const int cell = GLOBAL_ID(0), row = cell / HELD, label = begin + cell % HELD;
    if (row >= rows || label >= labels)
        return;
    const I64 at = (I64)row * 2 * cols * HELD + cell % HELD;
    double first, second;
    started(sums + at, cols, &first, &second);
    for (int col = 0; col < cols; ++col) {
        along(sums + at, cols, col, &first, &second);
        const I64 site = (I64)row * cols + col;
        double share = (first * guide[site] + second) / number[site];
        share = share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
        out[site * labels + label] = (USHORT)(WHOLE * share + 0.5);
    }
}

/* A site's shares after the power, in their place; 0 where nothing was counted. */
KERNEL void sharpen(GLOBAL const I64 *totals, GLOBAL const double *powers, GLOBAL USHORT *out, I64 sites, int labels)
{
    const I64 site = (I64)GROUP_ID(0) * GROUP + LOCAL_ID(0);
    if (site >= sites)
        return;
    GLOBAL USHORT *own = out + site * labels;
    double whole = 0;
    for (int label = 0; label < labels; ++label)
        whole += powers[own[label]];
    for (int label = 0; label < labels; ++label)
        own[label] = (USHORT)(WHOLE * (totals[site] ? powers[own[label]] / whole : 0.0) + 0.5);
}
