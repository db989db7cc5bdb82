// The compiled board: its clock, and a UART at its two pins. Bytes go to and come from the caller or a file descriptor.
//
// Nothing of the board is touched but clk, rst, rx and tx, and machine_clk and machine_rst where it has them.

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "Vmrfhw_top.h"
#include "clocks.h"
#include "verilated.h"

namespace {

struct Board {
    VerilatedContext context;
    Vmrfhw_top top{&context};
    uint64_t cycles = 0;
    uint32_t divisor;
    Beside machine{2 * MACHINE_CYCLES, LINK_CYCLES};
    bool two_clocks = false;
    std::deque<uint8_t> to_board, from_board;
    // The host's transmitter: bits left of a byte, lowest next, and cycles left of a bit.
    uint32_t bits = 0, left = 0, timer = 0;
    // The host's receiver.
    uint32_t got = 0, got_bits = 0, wait = 0;
    bool receiving = false;

    explicit Board(uint32_t d) : divisor(d) {
        top.clk = 0;
        top.rst = 1;
        top.rx = 1;
        two_clocks = drive_machine(top, 0, 1, 0);
        for (int i = 0; i < 4; i++) clock();
        top.rst = 0;
    }

    void clock() {
        top.clk = 0;
        top.eval();
        // The machine's edges that come before the link's next one.
        if (two_clocks) {
            machine.half([&](bool high) {
                drive_machine(top, high, top.rst, 0);
                top.eval();
            });
        }
        top.clk = 1;
        top.eval();
        cycles++;
    }

    // Its scopes leave the context of this thread, which else is that of the design that was made or evaluated last.
    ~Board() { Verilated::threadContextp(&context); }

    void tick() {
        if (timer) {
            timer--;
        } else if (left) {
            top.rx = bits & 1;
            bits >>= 1, left--, timer = divisor - 1;
        } else if (!to_board.empty()) {
            bits = to_board.front() << 1 | 0x200, left = 10;
            to_board.pop_front();
            top.rx = bits & 1;
            bits >>= 1, left--, timer = divisor - 1;
        }
        clock();
        if (!receiving) {
            if (!top.tx) receiving = true, wait = divisor + divisor / 2 - 1, got = got_bits = 0;
        } else if (wait) {
            wait--;
        } else if (got_bits < 8) {
            got |= uint32_t(top.tx) << got_bits++, wait = divisor - 1;
        } else {
            receiving = false;
            from_board.push_back(got);
        }
    }
};

constexpr size_t QUEUE = 4096; // bytes that wait on either side of the pins

// Moves bytes between the queues and `fd`; false where the other end is gone. A pseudo-terminal that nobody has open is not.
bool exchange(Board &b, int fd, bool &moved) {
    uint8_t bytes[QUEUE];
    if (b.to_board.size() < QUEUE) {
        ssize_t n = read(fd, bytes, QUEUE - b.to_board.size());
        if (n == 0) return false;
        if (n < 0 && errno != EAGAIN && errno != EINTR && errno != EIO) return false;
        if (n > 0) b.to_board.insert(b.to_board.end(), bytes, bytes + n), moved = true;
    }
    if (!b.from_board.empty()) {
        size_t count = b.from_board.size() < QUEUE ? b.from_board.size() : QUEUE;
        std::copy(b.from_board.begin(), b.from_board.begin() + count, bytes);
        ssize_t n = write(fd, bytes, count);
        if (n < 0 && errno != EAGAIN && errno != EINTR && errno != EIO) return false;
        if (n > 0) b.from_board.erase(b.from_board.begin(), b.from_board.begin() + n), moved = true;
    }
    return true;
}

} // namespace

extern "C" {

void *board_new(uint32_t divisor) { return new Board(divisor); }

void board_delete(void *board) { delete static_cast<Board *>(board); }

void board_send(void *board, const uint8_t *bytes, uint64_t count) {
    auto &b = *static_cast<Board *>(board);
    b.to_board.insert(b.to_board.end(), bytes, bytes + count);
}

// Runs `cycles` at most, and no further than `beyond` cycles after the first byte that comes; returns how many ran.
uint64_t board_run(void *board, uint64_t cycles, uint64_t beyond) {
    auto &b = *static_cast<Board *>(board);
    uint64_t done = 0;
    for (uint64_t after = 0; done < cycles && after < beyond; done++) {
        b.tick();
        after += !b.from_board.empty();
    }
    return done;
}

// At most `limit` bytes that the board has sent.
uint64_t board_take(void *board, uint8_t *out, uint64_t limit) {
    auto &b = *static_cast<Board *>(board);
    uint64_t count = b.from_board.size() < limit ? b.from_board.size() : limit;
    std::copy(b.from_board.begin(), b.from_board.begin() + count, out);
    b.from_board.erase(b.from_board.begin(), b.from_board.begin() + count);
    return count;
}

// Serves a non-blocking `fd` for a while, after at most `pause` milliseconds in which nothing comes: 1 where bytes came or went,
// 0 where none did, -1 where the other end is gone.
int board_serve(void *board, int fd, int pause) {
    auto &b = *static_cast<Board *>(board);
    if (pause) {
        pollfd p{fd, POLLIN, 0};
        poll(&p, 1, pause);
    }
    bool any = false;
    for (int turn = 0; turn < (pause ? 1 : 20); turn++) {
        bool moved = false;
        if (fd >= 0 && !exchange(b, fd, moved)) return -1;
        any |= moved || !b.to_board.empty();
        for (int i = 0; i < 500; i++) b.tick();
    }
    return any;
}

uint64_t board_cycles(void *board) { return static_cast<Board *>(board)->cycles; }
}
