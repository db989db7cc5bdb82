/* A bare-metal program that runs the exported problem on a memory-mapped machine. Set the addresses below for your system.
 *
 * main returns the mrfhw_error; a debugger finds the answer in `counts` and `last`. SPDX-License-Identifier: BSD-2-Clause
 */
#include "mrfhw_driver.h"
#include "mrfhw_image.h"

#ifndef MACHINE_BASE
#define MACHINE_BASE 0x80000000u /* byte address of the machine's registers, which must not be cached */
#endif
#ifndef PATIENCE
#define PATIENCE 1000000u /* polls without progress */
#endif
/* Registers and ring are memory of different kinds to a processor such as the Cortex-A9, which may reorder accesses to the one and
 * to the other: there, compile with -DBARRIER=__sync_synchronize (GCC's and Clang's own, a dmb). */
#ifndef BARRIER
#define BARRIER() ((void)0)
#endif

static volatile uint32_t *const machine_words = (volatile uint32_t *)(uintptr_t)MACHINE_BASE;

/* An access that the machine refuses is an exception on some processors and reads as anything on others; nothing is known here. */
static bool write_word(void *context, uint32_t address, uint32_t data) {
    (void)context;
    BARRIER(); /* the ring is read before it is freed */
    machine_words[address] = data;
    return true;
}

static bool read_word(void *context, uint32_t address, uint32_t *data) {
    (void)context;
    *data = machine_words[address];
    BARRIER(); /* the ring is read after the position up to which it is written */
    return true;
}

#ifdef MRFHW_LOG_SIZE
/* With AXI ports the machine writes its log to memory that both see, here at the same address. */
#ifndef RING_BASE
#define RING_BASE 0x40000000u /* not cached, a multiple of MRFHW_LOG_BLOCK_BYTES */
#endif
#ifndef RING_BYTES
#define RING_BYTES (16u * MRFHW_LOG_BLOCK_BYTES)
#endif
static mrfhw_ring ring;
static const mrfhw_bus bus = {write_word, read_word, mrfhw_ring_log, NULL, &ring};
#else
/* Without AXI ports the log is a stream. This takes it from a FIFO of bytes as systems on chip have it: a word with the number of
 * bytes that are in it, and a word whose read gives the next byte. */
#ifndef LOG_BASE
#define LOG_BASE 0x80800000u
#endif
static volatile uint32_t *const log_words = (volatile uint32_t *)(uintptr_t)LOG_BASE;

static int32_t read_log(void *context, uint8_t *bytes, uint32_t size) {
    uint32_t count = log_words[0], i;
    (void)context;
    count = count < size ? count : size;
    for (i = 0; i < count; i++) bytes[i] = (uint8_t)log_words[1];
    return (int32_t)count;
}

static const mrfhw_bus bus = {write_word, read_word, read_log, NULL, NULL};
#endif

#if MRFHW_FIELD_SITES * MRFHW_FIELD_LABELS > UINT32_MAX /* of 64 bits here, and perhaps of 32 below */
#error "the histogram has more counts than 32 bits number: export with --estimate mean, and give one count a site"
#endif

static mrfhw_machine machine;
mrfhw_count counts[MRFHW_FIELD_SITES * MRFHW_FIELD_LABELS];
uint8_t last[MRFHW_FIELD_SITES];
const char *volatile message; /* what became of it, in one line */

static mrfhw_error solve(void) {
    mrfhw_error error = mrfhw_open(&machine, &bus);
#ifdef MRFHW_LOG_SIZE
    if (error == MRFHW_OK)
        error = mrfhw_ring_open(&ring, &bus, (const volatile uint8_t *)(uintptr_t)RING_BASE, RING_BASE, RING_BYTES, PATIENCE);
#endif
    if (error == MRFHW_OK) error = mrfhw_settle(&machine, PATIENCE);
    if (error == MRFHW_OK)
        error = mrfhw_load(&machine, mrfhw_load_image, MRFHW_LOAD_IMAGE_WORDS, counts, sizeof counts / sizeof counts[0], last,
                           sizeof last);
    if (error == MRFHW_OK) error = mrfhw_run(&machine, PATIENCE);
    return error;
}

int main(void) {
    const mrfhw_error error = solve();
    message = mrfhw_error_text(error);
    return (int)error;
}
