/* See mrfhw_driver.h. SPDX-License-Identifier: BSD-2-Clause */
#include "mrfhw_driver.h"

#define TRY(call) \
    do { \
        mrfhw_error found_ = (call); \
        if (found_ != MRFHW_OK) return found_; \
    } while (0)

#define MASK(width) (UINT32_MAX >> (32 - (width))) /* 1 to 32 bits */

/* Numbers of image, log and machine are of 32 bits. Where two are added or multiplied the result is of 64, also where a size_t has
 * 32; only what has been compared with a buffer's size becomes an index. */

const char *mrfhw_error_text(mrfhw_error error) {
#define TEXT(name, text) text,
    static const char *const texts[] = {MRFHW_ERRORS(TEXT)};
    return (uint32_t)error < MRFHW_ERROR_END ? texts[error] : "no error of mrfhw";
}

/* -- the bus */

static mrfhw_error get(mrfhw_machine *m, uint32_t address, uint32_t *data) {
    if (m->bus->read(m->bus->context, address, data)) return MRFHW_OK;
    m->fault = address;
    return MRFHW_ERROR_BUS;
}

static mrfhw_error put(mrfhw_machine *m, uint32_t address, uint32_t data) {
    if (m->bus->write(m->bus->context, address, data)) return MRFHW_OK;
    m->fault = address;
    return MRFHW_ERROR_BUS;
}

static mrfhw_error check_status(uint32_t status) {
    const uint32_t busy = 1u << MRFHW_STATUS_BUSY_BIT, running = 1u << MRFHW_STATUS_RUNNING_BIT;
    return status == 0 || status == busy || status == (busy | running) ? MRFHW_OK : MRFHW_ERROR_STATUS;
}

static mrfhw_error get_status(mrfhw_machine *m, uint32_t *status) {
    TRY(get(m, MRFHW_STATUS, status));
    return check_status(*status);
}

mrfhw_error mrfhw_open(mrfhw_machine *m, const mrfhw_bus *bus) {
    static const uint32_t addresses[] = {MRFHW_DIGEST_0, MRFHW_DIGEST_1, MRFHW_DIGEST_2, MRFHW_DIGEST_3};
    static const uint32_t digest[] = {MRFHW_DIGEST_0_VALUE, MRFHW_DIGEST_1_VALUE, MRFHW_DIGEST_2_VALUE, MRFHW_DIGEST_3_VALUE};
    uint32_t word, i;

    m->bus = bus;
    m->entries = NULL;
    m->fault = m->sweep = 0;
    m->ended = false;
    TRY(get(m, MRFHW_IDENTITY, &word));
    if (word != MRFHW_IDENTITY_VALUE) return MRFHW_ERROR_IDENTITY;
    TRY(get(m, MRFHW_VERSION, &word));
    if (word != MRFHW_VERSION_VALUE) return MRFHW_ERROR_VERSION;
    for (i = 0; i < 4; i++) {
        TRY(get(m, addresses[i], &word));
        if (word != digest[i]) return MRFHW_ERROR_DIGEST;
    }
    return MRFHW_OK;
}

static bool log_is_empty(mrfhw_machine *m, mrfhw_error *error) {
#ifdef MRFHW_LOG_STATUS
    uint32_t status = 0;
    *error = get(m, MRFHW_LOG_STATUS, &status);
    return *error == MRFHW_OK && (status >> MRFHW_LOG_STATUS_EMPTY_BIT & 1);
#else
    (void)m;
    *error = MRFHW_OK;
    return true;
#endif
}

/* Bytes of the log that have come, at most `room`. */
static mrfhw_error get_log(mrfhw_machine *m, uint8_t *bytes, uint32_t room, uint32_t *came) {
    const int32_t found = m->bus->log(m->bus->log_context, bytes, room);
    if (found < 0) return found > -(int32_t)MRFHW_ERROR_END ? (mrfhw_error)-found : MRFHW_ERROR_LOG_SOURCE;
    *came = (uint32_t)found;
    return *came <= room ? MRFHW_OK : MRFHW_ERROR_LOG_SOURCE;
}

mrfhw_error mrfhw_settle(mrfhw_machine *m, uint32_t patience) {
    mrfhw_error error;
    uint32_t status, came, waited = 0;
    bool empty;

    m->entries = NULL;
    TRY(get_status(m, &status));
    if (status != 0) TRY(put(m, MRFHW_CONTROL, 1u << MRFHW_CONTROL_STOP_BIT));
    for (;;) {
        /* The registers are read first: if no log comes after that, none is left. */
        TRY(get_status(m, &status));
        empty = log_is_empty(m, &error);
        if (error != MRFHW_OK) return error;
        TRY(get_log(m, m->line, MRFHW_LINE_BYTES, &came));
        if (came == 0 && status == 0 && empty) return MRFHW_OK;
        waited = came == 0 || status == 0 ? waited + 1 : 0; /* an idle machine's log has an end */
        if (patience != 0 && waited >= patience) return MRFHW_ERROR_STUCK;
    }
}

/* -- the image */

/* CRC-32 as of Ethernet, zlib and PNG, over words with their lowest byte first. */
static uint32_t crc32(const uint32_t *words, size_t count) {
    uint32_t crc = 0xffffffffu;
    size_t i;
    int bit;

    for (i = 0; i < count; i++)
        for (crc ^= words[i], bit = 0; bit < 32; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    return ~crc;
}

/* The largest number that is counted of a site: the sweeps, or the sum of as many of the last label. */
static uint64_t largest(const mrfhw_problem *p) {
    return (uint64_t)p->counted * (p->estimate == MRFHW_ESTIMATE_MEAN ? p->labels - 1 : 1);
}

/* Take the numbers of an image's head; its words must be as many as follow from them. */
static mrfhw_error take_head(const uint32_t *image, size_t words, mrfhw_problem *p) {
    uint64_t sites;

    p->rows = image[MRFHW_IMAGE_ROWS];
    p->cols = image[MRFHW_IMAGE_COLS];
    p->labels = image[MRFHW_IMAGE_LABELS];
    p->sweeps = image[MRFHW_IMAGE_SWEEPS];
    p->burn_in = image[MRFHW_IMAGE_BURN_IN];
    p->estimate = image[MRFHW_IMAGE_ESTIMATE];
    sites = (uint64_t)p->rows * p->cols;
    if (sites == 0 || sites > UINT32_MAX || p->labels < MRFHW_IMAGE_LABELS_MIN || p->sweeps == 0 ||
        p->sweeps > MRFHW_IMAGE_SWEEPS_MAX || p->estimate > MRFHW_ESTIMATE_LAST || p->burn_in > p->sweeps ||
        (p->burn_in == p->sweeps) != (p->estimate == MRFHW_ESTIMATE_LAST) ||
        MRFHW_IMAGE_HEAD_WORDS + MRFHW_IMAGE_PAIR_WORDS * (image[MRFHW_IMAGE_WRITES] + sites) + 1 != words)
        return MRFHW_ERROR_IMAGE;
    p->sites = (uint32_t)sites;
    p->counted = p->sweeps - p->burn_in;
    return MRFHW_OK;
}

/* Whether a machine of this circuit can have the problem, and has the addresses of all pairs. */
static bool fits_machine(const uint32_t *image, size_t words, const mrfhw_problem *p) {
    size_t at;

#define WIDTH(from, bit, width) + (width)
    if (p->sites > (uint64_t)1 << MRFHW_RASTER_WIDTH || p->labels > (uint64_t)1 << MRFHW_LABEL_WIDTH ||
        (p->estimate == MRFHW_ESTIMATE_MEAN && largest(p) >> (0 MRFHW_LMEM_SUM(WIDTH)) != 0))
        return false;
#undef WIDTH
    /* The highest bit of an address is that of the tiles. Behind the address of a site's entry is that of its second word. */
    for (at = MRFHW_IMAGE_HEAD_WORDS; at < words - 1; at += MRFHW_IMAGE_PAIR_WORDS)
        if (((uint64_t)image[at + MRFHW_IMAGE_PAIR_ADDRESS] + MRFHW_LMEM_OTHER) >> 1 >= MRFHW_TILES_ADDRESS) return false;
    return true;
}

mrfhw_error mrfhw_image(const uint32_t *image, size_t words, mrfhw_problem *p) {
    static const uint32_t digest[] = {MRFHW_DIGEST_0_VALUE, MRFHW_DIGEST_1_VALUE, MRFHW_DIGEST_2_VALUE, MRFHW_DIGEST_3_VALUE};
    uint32_t i;

    if (words <= MRFHW_IMAGE_HEAD_WORDS || image[MRFHW_IMAGE_MAGIC] != MRFHW_IMAGE_MAGIC_VALUE ||
        image[MRFHW_IMAGE_FORMAT] != MRFHW_IMAGE_FORMAT_VALUE || image[MRFHW_IMAGE_WORDS] != words ||
        crc32(image, words - 1) != image[words - 1])
        return MRFHW_ERROR_IMAGE;
    TRY(take_head(image, words, p));
    for (i = 0; i < 4; i++)
        if (image[MRFHW_IMAGE_DIGEST + i] != digest[i]) return MRFHW_ERROR_IMAGE_MACHINE;
    return fits_machine(image, words, p) ? MRFHW_OK : MRFHW_ERROR_IMAGE;
}

mrfhw_error mrfhw_load(mrfhw_machine *m, const uint32_t *image, size_t words, mrfhw_count *counts, size_t counts_size,
                       uint8_t *last, size_t last_size) {
    const uint32_t *pair, *entries;
    mrfhw_problem *p = &m->problem;
    uint64_t kept; /* elements of counts that the problem has */
    uint32_t status;
    size_t i;

    m->entries = NULL;
    TRY(mrfhw_image(image, words, p));
    kept = p->estimate == MRFHW_ESTIMATE_LAST ? 0 : p->estimate == MRFHW_ESTIMATE_MEAN ? p->sites : (uint64_t)p->sites * p->labels;
    if (kept > counts_size || p->sites > last_size) return MRFHW_ERROR_BUFFER;
    if (largest(p) > MRFHW_COUNT_MAX) return MRFHW_ERROR_COUNT_BITS;
    TRY(get_status(m, &status));
    if (status != 0) return MRFHW_ERROR_BUSY;

    m->drawn = 0;
    entries = image + MRFHW_IMAGE_HEAD_WORDS + MRFHW_IMAGE_PAIR_WORDS * (size_t)image[MRFHW_IMAGE_WRITES];
    for (pair = image + MRFHW_IMAGE_HEAD_WORDS; pair < image + words - 1; pair += MRFHW_IMAGE_PAIR_WORDS) {
        TRY(put(m, pair[MRFHW_IMAGE_PAIR_ADDRESS], pair[MRFHW_IMAGE_PAIR_DATA]));
        if (pair >= entries) m->drawn += !(pair[MRFHW_IMAGE_PAIR_DATA] >> MRFHW_LMEM_CLAMPED_BIT & 1);
    }
    for (i = 0; i < kept; i++) counts[i] = 0;
    m->counts = counts;
    m->last = last;
    m->sweep = m->filled = 0;
    m->messages = m->lines = 0;
    m->ended = false;
    m->entries = entries;
    return MRFHW_OK;
}

/* -- the run and its log */

/* `width` bits of a line, at most 32, from bit `at` on. */
static uint32_t bits(const uint8_t *line, uint32_t at, uint32_t width) {
    uint32_t found, got;

    line += at / 8;
    at %= 8;
    found = (uint32_t)*line >> at;
    for (got = 8 - at; got < width; got += 8) found |= (uint32_t)*++line << got;
    return found & MASK(width);
}

/* Add to a site's histogram; false where it would have more than was counted. */
static bool add(mrfhw_machine *m, uint32_t site, uint32_t label, uint32_t count) {
    mrfhw_count *at = &m->counts[(size_t)site * m->problem.labels + label];
    if (count > m->problem.counted || *at > m->problem.counted - count) return false;
    *at = (mrfhw_count)(*at + count);
    return true;
}

static mrfhw_error fold_line(mrfhw_machine *m) {
    const mrfhw_problem *p = &m->problem;
    uint32_t i, at, site, label, count;

    for (i = at = 0; i < MRFHW_LINE_MESSAGES; i++, at += MRFHW_MESSAGE_WIDTH) {
        count = bits(m->line, at + MRFHW_MESSAGE_COUNT_BIT, MRFHW_COUNTER_WIDTH);
        if (count == 0) continue; /* the rest of a run's last line */
        if (p->estimate != MRFHW_ESTIMATE_MODE) return MRFHW_ERROR_LOG;
        label = bits(m->line, at + MRFHW_MESSAGE_LABEL_BIT, MRFHW_LABEL_WIDTH);
        site = bits(m->line, at + MRFHW_MESSAGE_ADDRESS_BIT, MRFHW_RASTER_WIDTH);
        if (site >= p->sites || label >= p->labels || !add(m, site, label, count)) return MRFHW_ERROR_LOG;
        m->messages++;
    }
    m->lines++;
    return MRFHW_OK;
}

/* Fold all log that has come. */
static mrfhw_error take_log(mrfhw_machine *m) {
    /* messages: one for each label that is drawn and counted, none of sums */
    const uint64_t most = m->problem.estimate == MRFHW_ESTIMATE_MEAN ? 0 : (uint64_t)m->drawn * m->problem.counted;

    for (;;) {
        uint32_t came;
        TRY(get_log(m, m->line + m->filled, MRFHW_LINE_BYTES - m->filled, &came));
        if (came == 0) return MRFHW_OK;
        /* All lines are full but a last one of each packer, which is sent even if it is empty. */
        if (m->lines >= MRFHW_LINE_PACKERS && (m->lines - (MRFHW_LINE_PACKERS - 1)) * MRFHW_LINE_MESSAGES > most)
            return MRFHW_ERROR_LOG_LONG;
        m->filled += came;
        if (m->filled == MRFHW_LINE_BYTES) {
            m->filled = 0;
            TRY(fold_line(m));
        }
    }
}

mrfhw_error mrfhw_start(mrfhw_machine *m) {
    if (m->entries == NULL || m->sweep != 0 || m->lines != 0) return MRFHW_ERROR_STATE;
    return put(m, MRFHW_CONTROL, 1u << MRFHW_CONTROL_START_BIT);
}

/* The run has ended and as many lines are here as the machine counts: check both. */
static mrfhw_error check_end(mrfhw_machine *m, uint32_t lines) {
    const uint64_t room = m->lines * MRFHW_LINE_MESSAGES; /* only a packer's last line has any left */
    mrfhw_counters counters;

    if (m->sweep != m->problem.sweeps) return MRFHW_ERROR_SWEEP;
    if ((uint32_t)m->lines != lines || m->filled != 0) return MRFHW_ERROR_LOG_LONG;
    TRY(mrfhw_count_registers(m, &counters));
    if (m->messages != counters.messages || room < m->messages + MRFHW_LINE_PACKERS ||
        room - m->messages > MRFHW_LINE_PACKERS * MRFHW_LINE_MESSAGES)
        return MRFHW_ERROR_LOG;
    m->ended = true;
    return MRFHW_OK;
}

mrfhw_error mrfhw_poll(mrfhw_machine *m, bool *done) {
    uint32_t status, sweep, lines, behind;

    *done = false;
    if (m->entries == NULL) return MRFHW_ERROR_STATE;
    /* The registers are read first: if the log is long enough after that, it is complete. */
    TRY(get_status(m, &status));
    TRY(get(m, MRFHW_SWEEP, &sweep));
    TRY(get(m, MRFHW_LINES, &lines));
    if (sweep < m->sweep || sweep > m->problem.sweeps) return MRFHW_ERROR_SWEEP;
    m->sweep = sweep;
    TRY(take_log(m));
    behind = lines - (uint32_t)m->lines; /* the register counts modulo 2^32; more than half of that: the log is longer */
    if (status != 0 || (behind != 0 && behind <= INT32_MAX)) return MRFHW_OK;
    TRY(check_end(m, lines));
    *done = true;
    return MRFHW_OK;
}

mrfhw_error mrfhw_run(mrfhw_machine *m, uint32_t patience) {
    uint32_t waited = 0;
    bool done = false;

    TRY(mrfhw_start(m));
    while (!done) {
        const uint32_t sweep = m->sweep, filled = m->filled;
        const uint64_t lines = m->lines;
        TRY(mrfhw_poll(m, &done));
        waited = m->sweep == sweep && m->lines == lines && m->filled == filled ? waited + 1 : 0;
        if (!done && patience != 0 && waited >= patience) return MRFHW_ERROR_STUCK;
    }
    return mrfhw_finish(m);
}

/* -- the answer */

/* The sum of a site's labels, in place of the counts and the second label of its LMem entry. */
static mrfhw_error take_sum(mrfhw_machine *m, uint32_t site, uint32_t word, uint32_t other, bool clamped) {
    const uint32_t words[] = {word, other};
    uint64_t sum = 0;
    uint32_t at = 0;

#define PART(from, bit, width) sum |= (uint64_t)(words[from] >> (bit) & MASK(width)) << at, at += (width);
    MRFHW_LMEM_SUM(PART)
#undef PART
    if (sum > (clamped ? 0 : largest(&m->problem))) return MRFHW_ERROR_COUNTS;
    m->counts[site] = (mrfhw_count)sum;
    return MRFHW_OK;
}

/* Fold one of the two labels of a site's LMem entry. */
static mrfhw_error fold_word(mrfhw_machine *m, uint32_t site, uint32_t word) {
    const uint32_t label = word >> MRFHW_LMEM_LABEL_BIT & MASK(MRFHW_LABEL_WIDTH);
    const uint32_t count = word >> MRFHW_LMEM_COUNT_BIT & MASK(MRFHW_COUNTER_WIDTH);

    if (count == 0) return MRFHW_OK; /* the label of an empty pair means nothing */
    if (label >= m->problem.labels) return MRFHW_ERROR_LMEM;
    if (m->problem.estimate != MRFHW_ESTIMATE_MODE) return MRFHW_ERROR_COUNTS;
    return add(m, site, label, count) ? MRFHW_OK : MRFHW_ERROR_COUNTS;
}

static mrfhw_error finish_site(mrfhw_machine *m, uint32_t site, uint32_t address, uint32_t loaded) {
    const bool clamped = loaded >> MRFHW_LMEM_CLAMPED_BIT & 1;
    uint32_t word, other, label, i;
    uint64_t total = 0;

    TRY(get(m, address, &word));
    label = word >> MRFHW_LMEM_LABEL_BIT & MASK(MRFHW_LABEL_WIDTH);
    if (label >= m->problem.labels) return MRFHW_ERROR_LMEM;
    if (clamped && label != (loaded >> MRFHW_LMEM_LABEL_BIT & MASK(MRFHW_LABEL_WIDTH))) return MRFHW_ERROR_LMEM;
    m->last[site] = (uint8_t)label;
    if (m->problem.estimate == MRFHW_ESTIMATE_LAST) return fold_word(m, site, word); /* the other word holds nothing */
    TRY(get(m, address + MRFHW_LMEM_OTHER, &other));
    if (m->problem.estimate == MRFHW_ESTIMATE_MEAN) return take_sum(m, site, word, other, clamped);
    TRY(fold_word(m, site, word));
    TRY(fold_word(m, site, other));
    for (i = 0; i < m->problem.labels; i++) total += m->counts[(size_t)site * m->problem.labels + i];
    return total == (clamped ? 0 : m->problem.counted) ? MRFHW_OK : MRFHW_ERROR_COUNTS;
}

mrfhw_error mrfhw_finish(mrfhw_machine *m) {
    const uint32_t *pair = m->entries;
    uint32_t site;

    if (pair == NULL || !m->ended) return MRFHW_ERROR_STATE;
    m->entries = NULL; /* what LMem holds is added once */
    for (site = 0; site < m->problem.sites; site++, pair += MRFHW_IMAGE_PAIR_WORDS)
        TRY(finish_site(m, site, pair[MRFHW_IMAGE_PAIR_ADDRESS], pair[MRFHW_IMAGE_PAIR_DATA]));
    return MRFHW_OK;
}

static mrfhw_error get_long(mrfhw_machine *m, uint32_t low, uint32_t high, uint64_t *value) {
    uint32_t a, b;
    TRY(get(m, low, &a));
    TRY(get(m, high, &b));
    *value = (uint64_t)b << 32 | a;
    return MRFHW_OK;
}

mrfhw_error mrfhw_count_registers(mrfhw_machine *m, mrfhw_counters *c) {
    TRY(get_long(m, MRFHW_CYCLES_LOW, MRFHW_CYCLES_HIGH, &c->cycles));
    TRY(get_long(m, MRFHW_LABEL_CYCLES_LOW, MRFHW_LABEL_CYCLES_HIGH, &c->label_cycles));
    TRY(get_long(m, MRFHW_GAP_CYCLES_LOW, MRFHW_GAP_CYCLES_HIGH, &c->gap_cycles));
    TRY(get_long(m, MRFHW_STALL_CYCLES_LOW, MRFHW_STALL_CYCLES_HIGH, &c->stall_cycles));
    TRY(get_long(m, MRFHW_MESSAGES_LOW, MRFHW_MESSAGES_HIGH, &c->messages));
    return get(m, MRFHW_LINES, &c->lines);
}

/* -- the ring of a machine with AXI ports */

#ifdef MRFHW_LOG_SIZE
static bool ring_get(const mrfhw_ring *r, uint32_t address, uint32_t *data) { return r->bus->read(r->bus->context, address, data); }

static bool ring_put(const mrfhw_ring *r, uint32_t address, uint32_t data) { return r->bus->write(r->bus->context, address, data); }

/* Set base and size; the log must be empty. */
static mrfhw_error set_ring(mrfhw_ring *r, uint64_t base) {
    uint32_t block, low, high;
    uint64_t limit;

    /* All ones are written to the base's registers; they read back as the last block that the memory port can address. */
    if (!ring_put(r, MRFHW_LOG_SIZE, 0) || !ring_put(r, MRFHW_LOG_BASE_LOW, UINT32_MAX) ||
        !ring_put(r, MRFHW_LOG_BASE_HIGH, UINT32_MAX) || !ring_get(r, MRFHW_LOG_BLOCK, &block) ||
        !ring_get(r, MRFHW_LOG_BASE_LOW, &low) || !ring_get(r, MRFHW_LOG_BASE_HIGH, &high))
        return MRFHW_ERROR_BUS;
    limit = (uint64_t)high << 32 | low; /* the address of the last block */
    if (block == 0 || (block & (block - 1)) != 0 || r->size < block || (((uint32_t)base | r->size) & (block - 1)) != 0 ||
        base > limit || r->size - block > limit - base)
        return MRFHW_ERROR_RING;
    /* Size is written last, because the machine writes from then on. */
    if (!ring_put(r, MRFHW_LOG_BASE_LOW, (uint32_t)base) || !ring_put(r, MRFHW_LOG_BASE_HIGH, (uint32_t)(base >> 32)) ||
        !ring_put(r, MRFHW_LOG_SIZE, r->size) || !ring_put(r, MRFHW_LOG_TARGET, MRFHW_LOG_TARGET_MEMORY))
        return MRFHW_ERROR_BUS;
    r->position = r->place = 0;
    return MRFHW_OK;
}

static mrfhw_error get_ring(mrfhw_ring *r, uint32_t *status, bool *empty, uint32_t *written) {
    uint32_t log;
    if (!ring_get(r, MRFHW_STATUS, status) || !ring_get(r, MRFHW_LOG_STATUS, &log) || !ring_get(r, MRFHW_LOG_WRITTEN, written))
        return MRFHW_ERROR_BUS;
    *empty = log >> MRFHW_LOG_STATUS_EMPTY_BIT & 1;
    return check_status(*status);
}

mrfhw_error mrfhw_ring_open(mrfhw_ring *r, const mrfhw_bus *bus, const volatile uint8_t *memory, uint64_t base, uint32_t size,
                            uint32_t patience) {
    uint32_t status, written, before = 0, waited = 0;
    bool empty;

    r->bus = bus;
    r->memory = memory;
    r->size = size;
    r->position = r->place = 0;
    TRY(get_ring(r, &status, &empty, &written));
    if (status != 0 && !ring_put(r, MRFHW_CONTROL, 1u << MRFHW_CONTROL_STOP_BIT)) return MRFHW_ERROR_BUS;
    if (empty) TRY(set_ring(r, base)); /* a run may be waiting for a ring */
    for (;;) {
        TRY(get_ring(r, &status, &empty, &written));
        if (!ring_put(r, MRFHW_LOG_FREED, written)) return MRFHW_ERROR_BUS;
        if (status == 0 && empty) return set_ring(r, base);
        waited = written == before ? waited + 1 : 0;
        before = written;
        if (patience != 0 && waited >= patience) return MRFHW_ERROR_STUCK;
    }
}

int32_t mrfhw_ring_log(void *ring, uint8_t *bytes, uint32_t size) {
    mrfhw_ring *r = (mrfhw_ring *)ring;
    uint32_t status, written, count, i;

    if (!ring_get(r, MRFHW_LOG_STATUS, &status) || !ring_get(r, MRFHW_LOG_WRITTEN, &written)) return -MRFHW_ERROR_BUS;
    if (status >> MRFHW_LOG_STATUS_ERROR_BIT & 1) return -MRFHW_ERROR_MEMORY;
    count = written - r->position;
    if (count > r->size) return -MRFHW_ERROR_RING;
    count = count < size ? count : size;
    count = count < INT32_MAX ? count : INT32_MAX;
    for (i = 0; i < count; i++) {
        bytes[i] = r->memory[r->place];
        r->place = r->place + 1 == r->size ? 0 : r->place + 1;
    }
    r->position += count;
    if (count != 0 && !ring_put(r, MRFHW_LOG_FREED, r->position)) return -MRFHW_ERROR_BUS;
    return (int32_t)count;
}
#endif

#ifdef MRFHW_CLUSTERS
/* -- the log of several clusters */

int32_t mrfhw_cluster_log(void *cluster, uint8_t *bytes, uint32_t size) {
    const mrfhw_cluster *one = cluster;
    mrfhw_split *s = one->split;
    uint32_t i;

    while (s->filled < MRFHW_LINE_BYTES) {
        const int32_t found = s->log(s->log_context, s->line + s->filled, MRFHW_LINE_BYTES - s->filled);
        if (found <= 0) return found;
        if ((uint32_t)found > MRFHW_LINE_BYTES - s->filled) return -(int32_t)MRFHW_ERROR_LOG_SOURCE;
        s->filled += (uint32_t)found;
        if (s->filled == MRFHW_LINE_BYTES && bits(s->line, MRFHW_MESSAGE_COUNT_BIT, MRFHW_COUNTER_WIDTH) == 0 &&
            bits(s->line, MRFHW_MESSAGE_LABEL_BIT, MRFHW_LABEL_WIDTH) == MRFHW_SWITCH_LABEL) {
            s->cluster = bits(s->line, MRFHW_MESSAGE_ADDRESS_BIT, MRFHW_RASTER_WIDTH);
            if (s->cluster >= MRFHW_CLUSTERS) return -(int32_t)MRFHW_ERROR_LOG;
            s->filled = 0; /* it names whose lines follow */
        }
    }
    if (s->cluster != one->cluster) return 0;
    for (i = 0; i < size && s->given < MRFHW_LINE_BYTES; i++) bytes[i] = s->line[s->given++];
    if (s->given == MRFHW_LINE_BYTES) s->filled = s->given = 0;
    return (int32_t)i;
}
#endif
