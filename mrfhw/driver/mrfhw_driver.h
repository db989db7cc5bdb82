/* Runs problems on one generated machine: checks it, loads an image, drains the log, counts the labels.
 *
 * C99 without allocation, operating system or C library; <stdint.h>, <stddef.h> and <stdbool.h> are the compiler's own. Everything
 * of the machine comes from the generated header below, everything of a problem from a load image that `mrfhw export` writes.
 * The functions are not reentrant for one machine; several machines of the same circuit may be driven, each with its own objects.
 *
 *   mrfhw_open -> mrfhw_settle -> mrfhw_load -> mrfhw_run
 *
 * mrfhw_run is mrfhw_start, mrfhw_poll until done, and mrfhw_finish; call these three to do other work between polls.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MRFHW_DRIVER_H
#define MRFHW_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "@HEADER@"

#ifdef __cplusplus
extern "C" {
#endif

/* Words of a load image: its head, then MRFHW_IMAGE_WRITES pairs, then a pair for each site in raster order, then a CRC-32. */
@IMAGE@

/* Line packers of the machine: each ends a run with a line that may have room left. */
#define MRFHW_LINE_PACKERS @PACKERS@

/* Width of a count of the histogram, 8, 16 or 32 bits; no more sweeps can be counted, and no larger sums kept, than it holds. */
#ifndef MRFHW_COUNT_BITS
#define MRFHW_COUNT_BITS 32
#endif
#if MRFHW_COUNT_BITS == 32
typedef uint32_t mrfhw_count;
#define MRFHW_COUNT_MAX UINT32_MAX
#elif MRFHW_COUNT_BITS == 16
typedef uint16_t mrfhw_count;
#define MRFHW_COUNT_MAX UINT16_MAX
#elif MRFHW_COUNT_BITS == 8
typedef uint8_t mrfhw_count;
#define MRFHW_COUNT_MAX UINT8_MAX
#else
#error "MRFHW_COUNT_BITS must be 8, 16 or 32"
#endif

/* Every error with its line for mrfhw_error_text. */
#define MRFHW_ERRORS(X) \
    X(MRFHW_OK, "done") \
    X(MRFHW_ERROR_BUS, "the bus refused or failed an access: its address is in the machine's field fault") \
    X(MRFHW_ERROR_IDENTITY, "the identity register has another value: no such machine is at this address") \
    X(MRFHW_ERROR_VERSION, "the machine has another interface version: build the machine or this program again") \
    X(MRFHW_ERROR_DIGEST, "the machine's circuit is another: build it from the same parameters as this program") \
    X(MRFHW_ERROR_IMAGE, "the load image is damaged, cut off or of another format: export it again") \
    X(MRFHW_ERROR_IMAGE_MACHINE, "the load image is for another circuit: export it for this machine") \
    X(MRFHW_ERROR_BUFFER, "a buffer has fewer elements than the problem needs: give a larger one") \
    X(MRFHW_ERROR_COUNT_BITS, "more is counted than a count holds: compile with a larger MRFHW_COUNT_BITS") \
    X(MRFHW_ERROR_BUSY, "the machine is busy: call mrfhw_settle first") \
    X(MRFHW_ERROR_STATE, "no image is loaded, or the run has not ended: call the functions in their order") \
    X(MRFHW_ERROR_STATUS, "the status register has an impossible value: reset the machine") \
    X(MRFHW_ERROR_SWEEP, "the run is at a sweep where it cannot be: see that nothing else uses the machine, then load again") \
    X(MRFHW_ERROR_STUCK, "sweeps and log made no progress for as many polls as the patience: reset the machine") \
    X(MRFHW_ERROR_LOG_SOURCE, "the function that brings the log failed") \
    X(MRFHW_ERROR_LOG, "the log is damaged, or is not what the machine counted: load and run again") \
    X(MRFHW_ERROR_LOG_LONG, "the log is longer than the run's can be: drop what an earlier run left, then load and run again") \
    X(MRFHW_ERROR_LMEM, "LMem has a label that the problem lacks, or a clamped label has changed: load and run again") \
    X(MRFHW_ERROR_COUNTS, "a site has more or fewer labels than were counted, or an impossible sum: load and run again") \
    X(MRFHW_ERROR_RING, "the machine's log ring cannot have this base or size, or something else uses it") \
    X(MRFHW_ERROR_MEMORY, "memory refused the log: give a ring that the machine may write")

#define MRFHW_ERROR_NAME(name, text) name,
typedef enum { MRFHW_ERRORS(MRFHW_ERROR_NAME) MRFHW_ERROR_END } mrfhw_error;

/* One line without a newline for any value, also one that is no mrfhw_error. */
const char *mrfhw_error_text(mrfhw_error error);

/* How to reach a machine.
 *
 * write, read: one 32-bit word at a word address (a byte address is MRFHW_WORD_BYTES times that, from where the machine begins);
 *     false where the bus failed, which becomes MRFHW_ERROR_BUS. Order is kept; each call is one access, because reading a
 *     generator has an effect.
 * log: copy to `bytes` the next bytes of the log that have come, at most `size`; returns their number, 0 where none are there now,
 *     or a negative mrfhw_error; any other number is -MRFHW_ERROR_LOG_SOURCE. Must not wait. Each byte is given once, in order,
 *     lines of MRFHW_LINE_BYTES with their lowest byte first. Of a machine with AXI ports: mrfhw_ring_log.
 * context, log_context: handed to these functions.
 */
typedef struct {
    bool (*write)(void *context, uint32_t address, uint32_t data);
    bool (*read)(void *context, uint32_t address, uint32_t *data);
    int32_t (*log)(void *log_context, uint8_t *bytes, uint32_t size);
    void *context;
    void *log_context;
} mrfhw_bus;

/* What an image holds. sites = rows x cols; sweeps include burn_in, and counted = sweeps - burn_in. estimate: what is kept of the
 * run. MRFHW_ESTIMATE_MODE: the histogram. MRFHW_ESTIMATE_MEAN: the sum of each site's labels, without a log. MRFHW_ESTIMATE_LAST:
 * the last labels alone, without a log; burn_in is then sweeps. */
typedef struct {
    uint32_t rows, cols, sites, labels, sweeps, burn_in, counted, estimate;
} mrfhw_problem;

/* One machine. Only fault (the word address of the last access that failed), sweep (sweeps finished at the last poll) and problem
 * are for the caller to read. */
typedef struct {
    const mrfhw_bus *bus;
    const uint32_t *entries; /* the image's pairs of the sites; NULL before a load */
    mrfhw_count *counts;
    uint8_t *last;
    mrfhw_problem problem;
    uint32_t drawn;           /* sites that are not clamped */
    uint32_t fault;
    uint32_t sweep;
    uint32_t filled;          /* bytes of the next line */
    uint64_t messages, lines; /* of the log so far */
    bool ended;               /* the run and its log */
    uint8_t line[MRFHW_LINE_BYTES];
} mrfhw_machine;

/* What the machine counted in the last run: clock cycles, log messages, log lines. */
typedef struct {
    uint64_t cycles, label_cycles, gap_cycles, stall_cycles, messages;
    uint32_t lines;
} mrfhw_counters;

/* Take `machine` into use and check that it has the circuit of the generated header. Writes nothing to it.
 * Errors: BUS, IDENTITY, VERSION, DIGEST. */
mrfhw_error mrfhw_open(mrfhw_machine *machine, const mrfhw_bus *bus);

/* End a run that an earlier program left, and drop its log. Do this after mrfhw_open (and mrfhw_ring_open), and after an error.
 * patience: polls in a row, of at most a line each, without log or of an idle machine, after which to give up; 0: never.
 * Errors: BUS, STATUS, LOG_SOURCE, STUCK. */
mrfhw_error mrfhw_settle(mrfhw_machine *machine, uint32_t patience);

/* Check an image of `words` 32-bit words and say what it holds, without any machine: its CRC and circuit, that the circuit can run
 * what its numbers say, and that it has the address of each pair. An image read as bytes has its words' lowest byte first. After an
 * error `problem` means nothing. Errors: IMAGE, IMAGE_MACHINE. */
mrfhw_error mrfhw_image(const uint32_t *image, size_t words, mrfhw_problem *problem);

/* Check an image, write it to the machine, and set all counts to 0. Image and buffers must stay until the run is finished; the
 * same image may be loaded again, for the same run.
 * counts: of counts_size elements, at least sites x labels; counts[site x labels + label] will be how often the label was drawn in
 *     the counted sweeps, 0 at clamped sites; a site is row x cols + col. Of a mean: at least sites elements; counts[site] will be
 *     the sum of the site's labels in the counted sweeps. Of the last labels: none are needed, and counts may be NULL.
 * last: of last_size bytes, at least sites: each site's label after the last sweep.
 * Errors: IMAGE, IMAGE_MACHINE, BUFFER, COUNT_BITS, BUS, STATUS, BUSY. */
mrfhw_error mrfhw_load(mrfhw_machine *machine, const uint32_t *image, size_t words, mrfhw_count *counts, size_t counts_size,
                       uint8_t *last, size_t last_size);

/* Begin the run of the loaded image. It may be begun once after each load. Errors: STATE, BUS. */
mrfhw_error mrfhw_start(mrfhw_machine *machine);

/* Fold the log that has come into the counts, without waiting. Call it often: a machine whose log is not taken stands still.
 * done: whether the run has ended and its log is complete. Errors: STATE, BUS, STATUS, SWEEP, LOG_SOURCE, LOG, LOG_LONG, or what
 * the log's function returns. */
mrfhw_error mrfhw_poll(mrfhw_machine *machine, bool *done);

/* Read LMem after the run: fills last, adds what LMem holds to the counts, and checks that each site has as many labels as sweeps
 * were counted, or a sum that they can have. Errors: STATE, BUS, LMEM, COUNTS. */
mrfhw_error mrfhw_finish(mrfhw_machine *machine);

/* Start, poll until the run has ended, finish. patience: polls in a row without another sweep or log after which to give up;
 * 0: never. Errors: those of the three, and STUCK. */
mrfhw_error mrfhw_run(mrfhw_machine *machine, uint32_t patience);

/* Read what the machine counted. Right only while no labels are drawn. Errors: BUS. */
mrfhw_error mrfhw_count_registers(mrfhw_machine *machine, mrfhw_counters *counters);

#ifdef MRFHW_LOG_SIZE
/* The log ring of a machine with AXI ports. Fields are the driver's. */
typedef struct {
    const mrfhw_bus *bus;
    const volatile uint8_t *memory;
    uint32_t size;
    uint32_t position; /* bytes taken since the ring was set, modulo 2^32 */
    uint32_t place;    /* the next byte, within the ring */
} mrfhw_ring;

/* Have the machine write its log to a ring of `size` bytes at byte address `base`, as its memory port counts addresses, that the
 * processor sees at `memory`; base and size are multiples of MRFHW_LOG_BLOCK_BYTES. The memory must not be cached, or be coherent.
 * A run that an earlier program left is ended and its log dropped. patience: as of mrfhw_settle. Afterwards the bus must have
 * mrfhw_ring_log as `log` and the ring as `log_context`. Errors: BUS, STATUS, RING, STUCK. */
mrfhw_error mrfhw_ring_open(mrfhw_ring *ring, const mrfhw_bus *bus, const volatile uint8_t *memory, uint64_t base, uint32_t size,
                            uint32_t patience);

/* `log` of a mrfhw_bus whose log_context is a mrfhw_ring. Errors, negative: BUS, RING, MEMORY. */
int32_t mrfhw_ring_log(void *ring, uint8_t *bytes, uint32_t size);
#endif

#ifdef MRFHW_CLUSTERS
/* A machine of several clusters: each is a machine of its own, with a mrfhw_machine and a mrfhw_bus. Its write and read add
 * MRFHW_CLUSTER_STRIDE times the cluster's number to the address; its log is mrfhw_cluster_log, and its log_context a mrfhw_cluster.
 *
 * mrfhw_split: the log of all. log, log_context: what brings it, as of mrfhw_bus. The other fields are the driver's: 0 at first, and
 *     again after what an earlier program left has been dropped.
 * A line waits until the machine of its cluster is polled, and the others' wait behind it: poll all that run, or settle them. */
typedef struct {
    int32_t (*log)(void *log_context, uint8_t *bytes, uint32_t size);
    void *log_context;
    uint32_t filled, given, cluster;
    uint8_t line[MRFHW_LINE_BYTES];
} mrfhw_split;
typedef struct {
    mrfhw_split *split;
    uint32_t cluster;
} mrfhw_cluster;

/* `log` of a mrfhw_bus whose log_context is a mrfhw_cluster. Errors, negative: those of the split's log, LOG. */
int32_t mrfhw_cluster_log(void *cluster, uint8_t *bytes, uint32_t size);
#endif

#ifdef __cplusplus
}
#endif

#endif
