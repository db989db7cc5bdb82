// The clocks of a compiled board.

#pragma once

namespace {

template <class Top> auto drive_machine(Top &top, int clk, int rst, int) -> decltype(top.machine_clk, bool()) {
    top.machine_clk = clk, top.machine_rst = rst;
    return true;
}
template <class Top> bool drive_machine(Top &, int, int, long) { return false; }

// A clock beside another: `cycles` of it in `others` of the other's, whose edges only meet by chance.
struct Beside {
    int cycles, others, phase = 0;
    bool high = false;

    // Those of its edges that come within half a cycle of the other's.
    template <class Edge> void half(Edge edge) {
        for (phase += cycles; phase >= others; phase -= others) {
            high = !high;
            edge(high);
        }
    }
};

// The machine's, where it is another than the link's.
constexpr int MACHINE_CYCLES = 17, LINK_CYCLES = 11;

} // namespace
