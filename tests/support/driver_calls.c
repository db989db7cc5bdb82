/* Makes calls of the driver that a test made up, with a made-up machine behind the bus, and says what came of them.
 *
 * Input and output are 32-bit words of this processor. A script: the numbers of `enum`, then the image, pairs of address and word
 * that the machine reads as, the log's bytes, the ring's base, events, calls. An event: the number of an access or of a call for
 * log, its kind, a value. A call: which, and its argument. The answer: `CALLS` times (error, done, digest of all accesses, what is
 * wrong with the driver), the problem, then counts and labels. With NO_LIBRARY it needs no C library, for 32 bits on x86.
 */
#include "mrfhw_driver.h"

enum { WORDS, IMAGE, COUNTS, LAST, PIECE, TABLE, LOG, EVENTS, CALLS, RING, HEAD };
enum { FAILS, XORS, READS, LOG_RETURNS };                          /* kinds of events */
enum { OPEN, SETTLE, IMAGE_CALL, LOAD, START, POLL, FINISH, RUN, COUNT_REGISTERS, RING_OPEN, RING_LOG }; /* calls */
enum { GUARD = 64, GUARD_BYTE = 0xa5, BEFORE_BYTE = 0x77, LENT = 8 };
enum { WRONG_GUARD = 1, WRONG_ADDRESS = 2, WRONG_ERROR = 4 };

#ifdef NO_LIBRARY
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
void *memcpy(void *to, const void *from, size_t size) {
    size_t i;
    for (i = 0; i < size; i++) ((volatile uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}
void *memset(void *to, int byte, size_t size) {
    size_t i;
    for (i = 0; i < size; i++) ((volatile uint8_t *)to)[i] = (uint8_t)byte;
    return to;
}
static long call_system(long number, long a, const void *b, size_t c) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
    return result;
}
static long take(void *to, size_t size) { return call_system(3, 0, to, size); }
static long give(const void *from, size_t size) { return call_system(4, 1, from, size); }
#else
#include <string.h>
#include <unistd.h>
static long take(void *to, size_t size) { return (long)read(0, to, size); }
static long give(const void *from, size_t size) { return (long)write(1, from, size); }
#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define FORBID(at, size) __asan_poison_memory_region(at, size)
#define ALLOW(at, size) __asan_unpoison_memory_region(at, size)
#else
#define FORBID(at, size) ((void)0)
#define ALLOW(at, size) ((void)0)
#endif

/* -- memory with guards before and behind */

static struct { uint8_t *at; size_t size; } lent[LENT];
static uint32_t lent_count;
static union { uint64_t aligned; uint8_t bytes[1 << 22]; } arena;
static size_t used;

static void *lend(size_t size) {
    const size_t whole = 2 * GUARD + (size + 15) / 16 * 16;
    uint8_t *at = arena.bytes + used + GUARD;
    if (whole > sizeof arena.bytes - used || lent_count == LENT) return NULL;
    memset(at - GUARD, GUARD_BYTE, whole);
    memset(at, BEFORE_BYTE, size);
    FORBID(at - GUARD, GUARD);
    FORBID(at + size, whole - GUARD - size);
    used += whole;
    lent[lent_count].at = at;
    lent[lent_count++].size = size;
    return at;
}

static bool guards_are_whole(void) {
    uint32_t n;
    size_t i;
    bool whole = true;
    for (n = 0; n < lent_count; n++) {
        const size_t behind = GUARD + (16 - lent[n].size % 16) % 16;
        uint8_t *after = lent[n].at + lent[n].size;
        ALLOW(lent[n].at - GUARD, GUARD);
        ALLOW(after, behind);
        for (i = 0; i < GUARD; i++) whole = whole && (lent[n].at - GUARD)[i] == GUARD_BYTE;
        for (i = 0; i < behind; i++) whole = whole && after[i] == GUARD_BYTE;
        FORBID(lent[n].at - GUARD, GUARD);
        FORBID(after, behind);
    }
    return whole;
}

/* -- the machine of the script */

static uint32_t script[1 << 20];
static const uint32_t *table, *events;
static const uint8_t *log_bytes;
static uint32_t accesses, log_calls, log_taken, cursor, digest, wrong;

static void note(uint32_t word) { digest = (digest ^ word) * 16777619u; }

static const uint32_t *event(bool of_log, uint32_t number) {
    uint32_t i;
    for (i = 0; i < script[EVENTS]; i++)
        if (events[3 * i] == number && (events[3 * i + 1] == LOG_RETURNS) == of_log) return &events[3 * i];
    return NULL;
}

static bool access_is_right(uint32_t address, const uint32_t **found) {
    if ((uint64_t)address >> MRFHW_ADDRESS_WIDTH != 0) wrong |= WRONG_ADDRESS;
    note(address);
    *found = event(false, accesses++);
    return *found == NULL || (*found)[1] != FAILS;
}

static bool write_word(void *context, uint32_t address, uint32_t data) {
    const uint32_t *found;
    (void)context;
    note(data);
    return access_is_right(address, &found);
}

static bool read_word(void *context, uint32_t address, uint32_t *data) {
    const uint32_t *found;
    uint32_t i, word = 0;
    (void)context;
    if (!access_is_right(address, &found)) return false;
    for (i = 0; i < script[TABLE]; i++, cursor++) {
        if (cursor >= script[TABLE]) cursor = 0;
        if (table[2 * cursor] == address) {
            word = table[2 * cursor + 1];
            break;
        }
    }
    *data = found == NULL ? word : found[1] == XORS ? word ^ found[2] : found[2];
    return true;
}

static int32_t read_log(void *context, uint8_t *bytes, uint32_t size) {
    const uint32_t *found = event(true, log_calls++);
    uint32_t i, count = script[LOG] - log_taken;
    (void)context;
    if (found != NULL) return (int32_t)found[2];
    count = count < size ? count : size;
    count = count < script[PIECE] ? count : script[PIECE];
    for (i = 0; i < count; i++) bytes[i] = log_bytes[log_taken++];
    return (int32_t)count;
}

static mrfhw_bus bus = {write_word, read_word, read_log, NULL, NULL};

/* -- the calls */

static uint32_t answer[1 << 18], answered;
static void say(uint32_t word) { answer[answered++] = word; }

static bool flush(void) {
    const uint8_t *at = (const uint8_t *)answer;
    size_t left = 4 * (size_t)answered;
    while (left != 0) {
        const long given = give(at, left);
        if (given <= 0) return false;
        at += given;
        left -= (size_t)given;
    }
    answered = 0;
    return true;
}

static bool take_all(void *to, size_t size) {
    uint8_t *at = (uint8_t *)to;
    while (size != 0) {
        const long taken = take(at, size);
        if (taken <= 0) return false;
        at += taken;
        size -= (size_t)taken;
    }
    return true;
}

static mrfhw_machine *machine;
static mrfhw_counters *counters;
static mrfhw_problem *problem;
static mrfhw_count *counts;
static uint32_t *image;
static uint8_t *last;
#ifdef MRFHW_LOG_SIZE
static mrfhw_ring *ring;
static uint8_t *memory;
static uint64_t base;
#endif

static bool lend_all(void) {
    machine = (mrfhw_machine *)lend(sizeof *machine);
    counters = (mrfhw_counters *)lend(sizeof *counters);
    problem = (mrfhw_problem *)lend(sizeof *problem);
    counts = (mrfhw_count *)lend(script[COUNTS] * sizeof *counts);
    last = (uint8_t *)lend(script[LAST]);
    image = (uint32_t *)lend(script[IMAGE] * sizeof *image);
#ifdef MRFHW_LOG_SIZE
    ring = (mrfhw_ring *)lend(sizeof *ring);
    memory = (uint8_t *)lend(script[RING]);
    if (ring == NULL || memory == NULL) return false;
#endif
    return machine != NULL && counters != NULL && problem != NULL && counts != NULL && last != NULL && image != NULL;
}

static void take_back(void) {
    uint32_t n;
    for (n = 0; n < lent_count; n++) ALLOW(lent[n].at - GUARD, lent[n].size + 2 * GUARD + 16);
    lent_count = 0;
    used = 0;
}

static mrfhw_error make_call(uint32_t which, uint32_t argument, bool *done) {
    switch (which) {
    case OPEN: return mrfhw_open(machine, &bus);
    case SETTLE: return mrfhw_settle(machine, argument);
    case IMAGE_CALL: return mrfhw_image(image, script[IMAGE], problem);
    case LOAD: return mrfhw_load(machine, image, script[IMAGE], counts, script[COUNTS], last, script[LAST]);
    case START: return mrfhw_start(machine);
    case POLL: return mrfhw_poll(machine, done);
    case FINISH: return mrfhw_finish(machine);
    case RUN: return mrfhw_run(machine, argument);
    case COUNT_REGISTERS: return mrfhw_count_registers(machine, counters);
#ifdef MRFHW_LOG_SIZE
    case RING_OPEN:
        bus.log = mrfhw_ring_log;
        bus.log_context = ring;
        return mrfhw_ring_open(ring, &bus, memory, base, script[RING], argument);
    case RING_LOG: /* also after an error of mrfhw_ring_open */
        if (bus.log == mrfhw_ring_log) {
            const uint32_t room = argument < script[LAST] ? argument : script[LAST];
            const int32_t came = mrfhw_ring_log(ring, last, room);
            *done = came > 0;
            return came < 0 ? (mrfhw_error)-came : (uint32_t)came <= room ? MRFHW_OK : MRFHW_ERROR_END;
        }
        return MRFHW_OK;
#endif
    default: return MRFHW_OK;
    }
}

static bool run_script(void) {
    const uint32_t *at = script + HEAD, *calls;
    uint32_t i;

    if (!lend_all()) return false;
    for (i = 0; i < script[IMAGE]; i++) image[i] = *at++;
    table = at;
    at += 2 * script[TABLE];
    log_bytes = (const uint8_t *)at;
    at += (script[LOG] + 3) / 4;
#ifdef MRFHW_LOG_SIZE
    for (i = 0; i < script[LOG] && i < script[RING]; i++) memory[i] = log_bytes[i];
    base = (uint64_t)at[1] << 32 | at[0];
#endif
    events = at + 2;
    calls = events + 3 * script[EVENTS];
    accesses = log_calls = log_taken = cursor = wrong = 0;
    digest = 2166136261u;
    bus.log = read_log;
    bus.log_context = NULL;
    memset(problem, 0, sizeof *problem);

    for (i = 0; i < script[CALLS]; i++) {
        bool done = false;
        const mrfhw_error error = make_call(calls[2 * i], calls[2 * i + 1], &done);
        if (!guards_are_whole()) wrong |= WRONG_GUARD;
        if ((uint32_t)error >= MRFHW_ERROR_END) wrong |= WRONG_ERROR;
        say((uint32_t)error);
        say(done);
        say(digest);
        say(wrong);
    }
    for (i = 0; i < 8; i++) say(((const uint32_t *)problem)[i]);
    for (i = 0; i < script[COUNTS]; i++) say(counts[i]);
    for (i = 0; i < script[LAST]; i++) say(last[i]);
    take_back();
    return flush();
}

static int run_scripts(void) {
    while (take_all(script, 4)) {
        if (script[WORDS] < HEAD || script[WORDS] > sizeof script / 4 || !take_all(script + 1, 4 * (size_t)(script[WORDS] - 1)))
            return 2;
        if (!run_script()) return 3;
    }
    return 0;
}

#ifdef NO_LIBRARY
void _start(void);
void _start(void) {
    call_system(1, run_scripts(), NULL, 0);
    for (;;) {
    }
}
#else
int main(void) { return run_scripts(); }
#endif
