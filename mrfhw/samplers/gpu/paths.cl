/* Least energies along straight paths (semi-global matching), in the common subset of OpenCL C and CUDA C; the macros of `source.py`
   stand in front. A work-group follows one path, its cells have the labels in turn. All numbers are whole. */

/* Starts the sums of a block's sites: of a site's own energy in four paths, one counts. */
KERNEL void begin(GLOBAL const int *own, GLOBAL int *sums, I64 entries)
{
    const I64 at = (I64)GROUP_ID(0) * ROW + LOCAL_ID(0);
    if (at < entries)
        sums[at] = -3 * own[at];
}

/* Path n begins at site n * line_stride, or at the other end for a negative stride, and has `steps` sites. own, sums (sites, labels);
   weights (4, sites), of the edge to the site before, those of `side`; offsets (near), costs (near, labels): the doubleton of label l
   with label l + offset at the site before; far: with all others. */
KERNEL void follow(GLOBAL const int *own, GLOBAL int *sums, GLOBAL const int *weights, GLOBAL const int *offsets,
                   GLOBAL const int *costs, int near, int far, int labels, int line_stride, int steps, int stride, I64 first_weight)
{
    LOCAL int before[MOST_LABELS];
    LOCAL int part[GROUP];
    int found[MOST_LABELS / GROUP];
    const int cell = LOCAL_ID(0);
    I64 at = (I64)GROUP_ID(0) * line_stride;
    if (stride < 0)
        at -= (I64)(steps - 1) * stride;
    for (int l = cell; l < labels; l += GROUP)
        before[l] = 0;
    weights += first_weight;
    for (int n = 0; n < steps; ++n, at += stride) {
        BARRIER;
        int least = 0x7FFFFFFF;
        for (int l = cell; l < labels; l += GROUP)
            least = before[l] < least ? before[l] : least;
        part[cell] = least;
        for (int span = GROUP / 2; span; span /= 2) {
            BARRIER;
            if (cell < span && part[cell + span] < part[cell])
                part[cell] = part[cell + span];
        }
        BARRIER;
        least = part[0];
        const int weight = weights[at], most = weight * far;
        GLOBAL const int *single = own + at * labels;
        for (int l = cell, m = 0; l < labels; l += GROUP, ++m) {
            int energy = most;
            for (int k = 0; k < near; ++k) {
                int other = l + offsets[k];
                if (other >= 0 && other < labels) {
                    int with = before[other] - least + weight * costs[k * labels + l];
                    energy = with < energy ? with : energy;
                }
            }
            found[m] = energy + single[l];
        }
        BARRIER;
        GLOBAL int *sum = sums + at * labels;
        for (int l = cell, m = 0; l < labels; l += GROUP, ++m) {
            before[l] = found[m];
            sum[l] += found[m];
        }
    }
}

/* The label of the least sum of each site, the lowest on ties. */
KERNEL void choose(GLOBAL const int *sums, GLOBAL UCHAR *out, int labels, I64 sites)
{
    const I64 site = (I64)GROUP_ID(0) * ROW + LOCAL_ID(0);
    if (site >= sites)
        return;
    GLOBAL const int *sum = sums + site * labels;
    int best = 0;
    for (int l = 1; l < labels; ++l)
        best = sum[l] < sum[best] ? l : best;
    out[site] = (UCHAR)best;
}
