// The compiled board with Ethernet: its clocks, and packets at its RGMII wires.
//
// Nothing of the board is touched but its pins: clk, rst, rgmii_*, and machine_clk and machine_rst where it has them.

#include <cstdint>
#include <deque>
#include <vector>

#include "Vmrfhw_top.h"
#include "clocks.h"
#include "verilated.h"

namespace {

constexpr int GAP = 12; // bytes between packets
constexpr uint8_t PREAMBLE[] = {0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5};

using Packet = std::vector<uint8_t>;

struct Board {
    VerilatedContext context;
    Vmrfhw_top top{&context};
    uint64_t cycles = 0;
    Beside machine{MACHINE_CYCLES, LINK_CYCLES}, wires;
    bool two_clocks = false;
    std::deque<Packet> to_board, from_board;
    size_t at = 0;    // of the byte of to_board's first packet that is on the wires
    int gap = GAP;    // bytes until the next packet may begin
    int driven = -1;  // the byte on the wires to the board, -1 for none
    Packet coming;    // the packet on the wires from the board
    int half = 0;     // its byte's lower half
    bool in_packet = false;

    Board(uint32_t link_hz, uint32_t wires_hz) : wires{int(wires_hz / 1000), int(link_hz / 1000)} {
        top.clk = 0;
        top.rst = 1;
        top.rgmii_rx_clock = top.rgmii_rx_ctl = top.rgmii_rx_data = 0;
        two_clocks = drive_machine(top, 0, 1, 0);
        for (int i = 0; i < 4; i++) clock();
        top.rst = 0;
        drive_machine(top, machine.high, 0, 0);
    }

    // Its scopes leave the context of this thread, which else is that of the design that was made or evaluated last.
    ~Board() { Verilated::threadContextp(&context); }

    int next_byte() {
        if (to_board.empty() || (at == 0 && gap > 0)) {
            gap -= gap > 0;
            return -1;
        }
        const Packet &packet = to_board.front();
        int byte = at < sizeof PREAMBLE ? PREAMBLE[at] : packet[at - sizeof PREAMBLE];
        if (++at == packet.size() + sizeof PREAMBLE) to_board.pop_front(), at = 0, gap = GAP;
        return byte;
    }

    void wire_edge(bool high) {
        if (high) driven = next_byte();
        top.rgmii_rx_ctl = driven >= 0;
        top.rgmii_rx_data = driven < 0 ? 0 : high ? driven & 15 : driven >> 4;
        top.eval(); // the data lie between the edges
        top.rgmii_rx_clock = high;
        top.eval();
        if (high) {
            in_packet = top.rgmii_tx_ctl;
            half = top.rgmii_tx_data;
        } else if (in_packet) {
            coming.push_back(half | top.rgmii_tx_data << 4);
        } else if (!coming.empty()) {
            from_board.push_back(std::move(coming));
            coming.clear();
        }
    }

    void clock() {
        for (int level = 0; level < 2; level++) {
            top.clk = level;
            top.eval();
            wires.half([&](bool high) { wire_edge(high); });
            if (two_clocks) {
                machine.half([&](bool high) {
                    drive_machine(top, high, top.rst, 0);
                    top.eval();
                });
            }
        }
        cycles++;
    }
};

} // namespace

extern "C" {

void *ethernet_new(uint32_t link_hz, uint32_t wires_hz) { return new Board(link_hz, wires_hz); }

void ethernet_delete(void *board) { delete static_cast<Board *>(board); }

// A packet for the board, from its first address to its check.
void ethernet_send(void *board, const uint8_t *bytes, uint64_t count) {
    static_cast<Board *>(board)->to_board.emplace_back(bytes, bytes + count);
}

// Runs `cycles` at most, until a packet has come; returns how many ran.
uint64_t ethernet_run(void *board, uint64_t cycles) {
    auto &b = *static_cast<Board *>(board);
    uint64_t done = 0;
    for (; done < cycles && b.from_board.empty(); done++) b.clock();
    return done;
}

// The first packet that the board has sent, from its preamble to its check; 0 for none. Those longer than `limit` are cut.
uint64_t ethernet_take(void *board, uint8_t *out, uint64_t limit) {
    auto &b = *static_cast<Board *>(board);
    if (b.from_board.empty()) return 0;
    const Packet &packet = b.from_board.front();
    uint64_t count = packet.size() < limit ? packet.size() : limit;
    std::copy(packet.begin(), packet.begin() + count, out);
    b.from_board.pop_front();
    return count;
}

uint64_t ethernet_cycles(void *board) { return static_cast<Board *>(board)->cycles; }
}
