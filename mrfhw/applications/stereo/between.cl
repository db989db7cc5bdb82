/* Where greys of two pictures fit between whole pixels, in the common subset of OpenCL C and CUDA C; the macros of
   `mrfhw.samplers.gpu.source` stand in front. Everything is worked out in the order of `mrfhw.applications.stereo.between` and
   `mrfhw.applications.slopes`, so that no bit differs. A cell is a pixel, of (H, W) arrays. */

#define PIXEL \
    const I64 at = (I64)GROUP_ID(0) * GROUP + LOCAL_ID(0); \
    if (at >= (I64)rows * cols) \
        return; \
    const int row = (int)(at / cols), col = (int)(at % cols);

/* The right picture at each pixel's position, and the mean of the two there. */
KERNEL void moved_by(GLOBAL const double *left, GLOBAL const double *right, GLOBAL const double *disparity, GLOBAL double *apart,
                     GLOBAL double *middle, int rows, int cols)
{
    PIXEL
    double x = col + -disparity[at];
    x = x < 0.0 ? 0.0 : x > cols - 1.0 ? cols - 1.0 : x;
    const int before = (int)x, behind = before + 1 < cols ? before + 1 : cols - 1;
    const double along = x - before;
    GLOBAL const double *of_row = right + (I64)row * cols;
    const double moved = of_row[before] * (1 - along) + of_row[behind] * along;
    apart[at] = moved - left[at];
    middle[at] = (left[at] + moved) / 2;
}

KERNEL void slopes(GLOBAL const double *middle, GLOBAL double *found, int rows, int cols)
{
    PIXEL
    found[at] = col == 0 ? middle[at + 1] - middle[at]
                         : col == cols - 1 ? middle[at] - middle[at - 1] : (middle[at + 1] - middle[at - 1]) / 2.0;
}

/* By what the greys' squared error is least among the pixels around that have the pixel's surface, and 1 / the variance of that.
   surface: the disparity of each; hidden: not 0 where the right picture does not show a pixel. */
KERNEL void fit(GLOBAL const double *slope, GLOBAL const double *apart, GLOBAL const double *surface, GLOBAL const UCHAR *hidden,
                GLOBAL double *step, GLOBAL double *precision, int rows, int cols, double stiff, double most, double noise)
{
    PIXEL
    double number = 0, of_along = 0, of_apart = 0, along_along = 0, along_apart = 0, apart_apart = 0;
    const int top = row > REACH ? row - REACH : 0, bottom = row + REACH + 1 < rows ? row + REACH + 1 : rows;
    const int first = col > REACH ? col - REACH : 0, end = col + REACH + 1 < cols ? col + REACH + 1 : cols;
    for (int y = top; y < bottom; ++y)
        for (int x = first; x < end; ++x) {
            const I64 other = (I64)y * cols + x;
            if (hidden[other] == hidden[at] && surface[other] == surface[at]) {
                const double a = slope[other], e = apart[other];
                number += 1;
                of_along += a;
                of_apart += e;
                along_along += a * a;
                along_apart += a * e;
                apart_apart += e * e;
            }
        }
    of_along = of_along / number;
    of_apart = of_apart / number;
    along_along = along_along / number - of_along * of_along;
    along_apart = along_apart / number - of_along * of_apart;
    apart_apart = apart_apart / number - of_apart * of_apart;
    const double by = along_apart / (along_along + stiff / number);
    step[at] = by < -most ? -most : by > most ? most : by;
    precision[at] = (along_along > 0 ? along_along : 0.0) * number / (apart_apart + noise);
}

/* The disparity by greys and by what labels share, weighed by their precision. */
KERNEL void weigh(GLOBAL const double *step, GLOBAL const double *precision, GLOBAL const double *disparity,
                  GLOBAL const double *near, GLOBAL const double *mode, GLOBAL float *out, int rows, int cols, double shares,
                  double farthest)
{
    PIXEL
    const double least = mode[at] - farthest, most = mode[at] + farthest;
    double found = (precision[at] * (disparity[at] + step[at]) + shares * near[at]) / (precision[at] + shares);
    found = found < least ? least : found > most ? most : found;
    out[at] = (float)found;
}

/* The median of the square of pixels around each; beyond the edges the nearest pixel stands. */
KERNEL void median(GLOBAL const float *values, GLOBAL const double *mode, GLOBAL double *out, int rows, int cols, double farthest)
{
    float rising[SIDE * SIDE];
    PIXEL
    int number = 0;
    for (int y = row - SIDE / 2; y <= row + SIDE / 2; ++y)
        for (int x = col - SIDE / 2; x <= col + SIDE / 2; ++x) {
            const int near_row = y < 0 ? 0 : y < rows ? y : rows - 1, near_col = x < 0 ? 0 : x < cols ? x : cols - 1;
            const float value = values[(I64)near_row * cols + near_col];
            int place = number++;
            for (; place > 0 && rising[place - 1] > value; --place)
                rising[place] = rising[place - 1];
            rising[place] = value;
        }
    const double least = mode[at] - farthest, most = mode[at] + farthest, found = rising[SIDE * SIDE / 2];
    out[at] = found < least ? least : found > most ? most : found;
}
