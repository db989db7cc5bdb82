// The compiled chip: C functions around the Verilated top, so that the loops over cycles stay in C.
//
// The bus is pipelined Wishbone and the log AXI4-Stream, as on hardware; nothing else of the chip is touched.

#include <cstdint>
#include <cstring>
#include <vector>

#include "Vmrfhw_top.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

namespace {

struct Chip {
    VerilatedContext context;
    Vmrfhw_top top{&context};
    uint64_t cycles = 0;
    uint32_t line_bytes;
    std::vector<uint8_t> log;
    std::vector<uint8_t> lasts; // of each line, whether it is the last one of a run
    bool ended = false;       // the last line of a run has been taken
    uint32_t ready_of_256 = 256;
    uint64_t random = 1;
#if VM_TRACE
    VerilatedVcdC values;
    uint64_t followed_from = 0, followed_to = 0;
#endif

    explicit Chip(uint32_t bytes) : line_bytes(bytes) {
#if VM_TRACE
        context.traceEverOn(true);
        top.trace(&values, 99);
#endif
        top.clk = 0;
        top.rst = 1;
        top.bus_cyc = top.bus_stb = top.bus_we = 0;
        top.lines_tready = 0;
        for (int i = 0; i < 4; i++) tick();
        top.rst = 0;
    }

    // Its scopes leave the context of this thread, which else is that of the design that was made or evaluated last.
    ~Chip() { Verilated::threadContextp(&context); }

    void tick() {
        before_edge();
        edge();
    }

    // What stands on the chip's outputs in this cycle, until its clock edge.
    void before_edge() {
        // xorshift64 chooses the cycles in which the log is taken.
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        top.lines_tready = (random >> 32 & 255) < ready_of_256;
        top.clk = 0;
        top.eval();
        if (top.lines_tvalid && top.lines_tready && !top.rst) {
            const uint8_t *data = reinterpret_cast<const uint8_t *>(&top.lines_tdata);
            log.insert(log.end(), data, data + line_bytes);
            lasts.push_back(top.lines_tlast);
            ended |= top.lines_tlast;
        }
    }

    void edge() {
        top.clk = 1;
        top.eval();
#if VM_TRACE
        if (values.isOpen() && cycles >= followed_from && cycles < followed_to) values.dump(cycles);
#endif
        cycles++;
    }

    // Accesses in order, a request in each cycle that takes one; how many were answered with ack before the first one that was not.
    uint64_t accesses(bool write, const uint32_t *addresses, const uint32_t *words, uint32_t *answers, uint64_t count) {
        uint64_t asked = 0, answered = 0, carried_out = 0;
        bool refused = false;
        top.bus_cyc = 1;
        top.bus_we = write;
        for (int waited = 0; (answered < asked || (asked < count && !refused)) && waited < 1000; waited++) {
            top.bus_stb = asked < count && !refused;
            if (top.bus_stb) {
                top.bus_adr = addresses[asked];
                if (write) top.bus_dat_w = words[asked];
            }
            before_edge();
            asked += top.bus_stb && !top.bus_stall;
            if (top.bus_ack || top.bus_err) {
                refused |= top.bus_err;
                if (!refused && !write) answers[carried_out] = top.bus_dat_r;
                carried_out += !refused;
                answered++, waited = 0;
            }
            edge();
        }
        top.bus_cyc = top.bus_stb = 0;
        return carried_out;
    }
};

} // namespace

extern "C" {

void *chip_new(uint32_t line_bytes) { return new Chip(line_bytes); }

void chip_delete(void *chip) { delete static_cast<Chip *>(chip); }

// Accesses in order; returns the number carried out before the first that failed.
uint64_t chip_write(void *chip, const uint32_t *addresses, const uint32_t *data, uint64_t count) {
    return static_cast<Chip *>(chip)->accesses(true, addresses, data, nullptr, count);
}

uint64_t chip_read(void *chip, const uint32_t *addresses, uint32_t *data, uint64_t count) {
    return static_cast<Chip *>(chip)->accesses(false, addresses, nullptr, data, count);
}

// Runs until the last line of a run has been taken, at most `limit` cycles; returns whether it has.
int chip_run(void *chip, uint64_t limit) {
    auto &c = *static_cast<Chip *>(chip);
    for (uint64_t i = 0; i < limit && !c.ended; i++) c.tick();
    return c.ended;
}

// Forgets the log and that it ended.
void chip_clear_log(void *chip) {
    auto &c = *static_cast<Chip *>(chip);
    c.log.clear();
    c.lasts.clear();
    c.ended = false;
}

uint64_t chip_log_bytes(void *chip) { return static_cast<Chip *>(chip)->log.size(); }

// The lines, and of each whether it is the last one of a run.
void chip_log(void *chip, uint8_t *out, uint8_t *lasts) {
    auto &c = *static_cast<Chip *>(chip);
    std::memcpy(out, c.log.data(), c.log.size());
    std::memcpy(lasts, c.lasts.data(), c.lasts.size());
}

// The log is taken in `of_256` of 256 cycles, at random from `seed`.
void chip_log_ready(void *chip, uint32_t of_256, uint64_t seed) {
    auto &c = *static_cast<Chip *>(chip);
    c.ready_of_256 = of_256;
    c.random = seed * 2 + 1;
}

#if VM_TRACE
// Each net's value after every clock edge of `count` cycles, `after` cycles from now on, as a VCD file whose times are cycles.
void chip_follow(void *chip, const char *path, uint64_t after, uint64_t count) {
    auto &c = *static_cast<Chip *>(chip);
    c.followed_from = c.cycles + after;
    c.followed_to = c.followed_from + count;
    c.values.open(path);
}

void chip_followed(void *chip) { static_cast<Chip *>(chip)->values.close(); }
#endif

uint64_t chip_cycles(void *chip) { return static_cast<Chip *>(chip)->cycles; }
}
