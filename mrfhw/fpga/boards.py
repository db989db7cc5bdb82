"""The boards that a machine is built for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from mrfhw.fpga.board import Board
from mrfhw.fpga.errors import BuildError
from mrfhw.generation.ethernet_core import Ethernet
from mrfhw.machine.link_protocol import ETHERNET_LOG_BYTES, USB_LOG_BYTES, WINDOW, ethernet_words
from mrfhw.system.input_files import read_plain

__all__ = ["BOARDS", "Board", "board_named"]

# Yosys' ice40_dsp, which moves registers into multipliers, loses products (0.70; tests/sim/test_netlist.py finds it): the products
# are mapped without it, with the widths that `synth_ice40 -dsp` has.
_ICE40_OPTIONS = {"synth_opts": "-device u -abc9", "script_after_read": r"""synth_ice40 -device u -top top -run begin:coarse
opt -nodffe -nosdff
wreduce t:$mul
techmap -map +/mul2dsp.v -map +/ice40/dsp_map.v -D DSP_A_MAXWIDTH=16 -D DSP_B_MAXWIDTH=16 -D DSP_A_MINWIDTH=2 -D DSP_B_MINWIDTH=2 \
 -D DSP_Y_MINWIDTH=11 -D DSP_NAME=$__MUL16X16
setattr -unset mul2dsp a:mul2dsp
chtype -set $mul t:$__soft_mul"""}

# Yosys (0.70) makes a rotation of 16 words four times too large with the multiplexers of ECP5's slices. It ends in an assertion
# where names of a design meet those of its mapper, as those of wires may: registers alone keep theirs. Registers that are to be
# kept are told so themselves, not only the wires behind them. With nextpnr's default placer the router comes to no end with more
# than two tiles of several lanes; the wires of its electrostatic one are two thirds as long. The router then tears up again what
# is too slow.
_ECP5_OPTIONS = {"nextpnr_opts": "--placer static --router router2 --tmg-ripup", "ecppack_opts": "--compress",
                 "synth_opts": "-nomux", "script_after_read": """hierarchy -top top
proc
flatten
setattr -set keep 1 a:keep %ci1 t:$*dff* %i
rename -hide w:* t:$*dff* %x:+[Q] w:* %i %d"""}

# Without wide lookup tables, which Yosys maps at the price of logic written twice: more LUTs, and a number that changes with a
# netlist's names.
_GOWIN_OPTIONS = "-nolutram -nowidelut"

_ULX3S = Board(
    name="ulx3s-85f", title="ULX3S with an ECP5-85F", family="ecp5", device="LFE5U-85F",
    platform=("amaranth_boards.ulx3s", "ULX3S_85F_Platform"), oscillator_hz=25_000_000, clock_hz=45_000_000,
    link_hz=48_000_000, preset="ulx3s-85f", sdram=True, outstanding=WINDOW, seed=2,  # the seed of the kept build
    mapping="flow3", options=_ECP5_OPTIONS)

_LIST = (
    _ULX3S,
    Board(name="ecpix5-85f", title="ECPIX-5 with an ECP5-85F", family="ecp5", device="LFE5UM5G-85F",
          platform=("amaranth_boards.ecpix5", "ECPIX585Platform"), oscillator_hz=100_000_000, clock_hz=100_000_000,
          link_hz=50_000_000, preset="census", words=ethernet_words(WINDOW)[0],
          response_words=ethernet_words(WINDOW)[1], outstanding=WINDOW, log_bytes=ETHERNET_LOG_BYTES,
          ethernet=Ethernet(rx_delay=0.0, tx_delay=2e-9),  # its PHY delays what it sends, and not what it takes
          options=_ECP5_OPTIONS),
    Board(name="icebreaker", title="iCEBreaker with an iCE40 UP5K", family="ice40", device="iCE40UP5K",
          platform=("amaranth_boards.icebreaker", "ICEBreakerPlatform"), oscillator_hz=12_000_000, clock_hz=24_000_000,
          baud=3_000_000, words=64, log_bytes=512, short_elements=False,
          preset="icebreaker", mapping="flow2", options=_ICE40_OPTIONS),
    Board(name="tang-nano-9k", title="Tang Nano 9K with a GW1NR-9C", family="gowin", device="GW1NR-9C",
          platform=("amaranth_boards.tang_nano_9k", "TangNano9kPlatform"), oscillator_hz=27_000_000, clock_hz=54_000_000,
          baud=3_000_000, words=512, log_bytes=2048,  # as many as take no more blocks than 64 and 512
          preset="tang-nano-9k",
          options={"synth_opts": f"-family gw1n {_GOWIN_OPTIONS}"}),
    Board(name="tang-nano-20k", title="Tang Nano 20K with a GW2AR-18C", family="gowin", device="GW2AR-18C",
          platform=("mrfhw.fpga.tang_nano_20k", "TangNano20kPlatform"), oscillator_hz=27_000_000, clock_hz=54_000_000,
          baud=3_000_000, words=512, log_bytes=2048,
          preset="tang-nano-20k",
          options={"synth_opts": f"-family gw2a {_GOWIN_OPTIONS}"}),
    replace(_ULX3S, name="ulx3s-85f-usb", title="ULX3S with an ECP5-85F, at its second USB socket", usb=True,
            log_bytes=USB_LOG_BYTES),
    Board(name="de10-nano", title="Terasic DE10-Nano with a Cyclone V", family="cyclone5", device="5CSEBA6U23I7",
          platform=("mrfhw.fpga.vendor_boards", "De10Nano"), oscillator_hz=50_000_000, clock_hz=48_000_000, open_flow=False),
    Board(name="arria10-gx", title="Arria 10 GX FPGA Development Kit", family="arria10", device="10AX115S2F45I1SG",
          platform=("mrfhw.fpga.arria10_gx", "Arria10GxPlatform"), oscillator_hz=50_000_000, clock_hz=50_000_000, baud=2_000_000,
          open_flow=False),
    Board(name="arty-a7-35", title="Arty A7 with an Artix-7 35T", family="xilinx", device="xc7a35ticsg324-1L",
          platform=("mrfhw.fpga.vendor_boards", "ArtyA7With35"), oscillator_hz=100_000_000, clock_hz=60_000_000,
          preset="arty-a7-35", open_flow=False),
    Board(name="arty-a7-100", title="Arty A7 with an Artix-7 100T", family="xilinx", device="xc7a100tcsg324-1",
          platform=("mrfhw.fpga.vendor_boards", "ArtyA7With100"), oscillator_hz=100_000_000, clock_hz=60_000_000,
          preset="arty-a7-100", open_flow=False),
    Board(name="arty-z7-20", title="Arty Z7 with a Zynq-7020", family="xilinx", device="xc7z020clg400-1",
          platform=("mrfhw.fpga.vendor_boards", "ArtyZ7With20"), oscillator_hz=125_000_000, clock_hz=60_000_000,
          preset="arty-a7-100", open_flow=False),
)

BOARDS: dict[str, Board] = {board.name: board for board in _LIST}


def board_named(name: str) -> Board:
    """The board of that name, or that a Python file has as BOARD (docs/boards.md). Raises BuildError."""
    if name.endswith(".py"):
        return _board_in(Path(name))
    if name not in BOARDS:
        raise BuildError(f"board is {name!r}; the boards are {', '.join(BOARDS)}: choose one, or give a Python file with "
                         "another")
    return BOARDS[name]


def _board_in(path: Path) -> Board:
    """The file is run: who gives it trusts it as any program."""
    text = read_plain(path, "give a Python file with a BOARD", 1 << 20, BuildError)
    namespace: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    try:
        exec(compile(text, str(path), "exec"), namespace)
    except (Exception, SystemExit) as error:
        raise BuildError(f"{path} does not run ({type(error).__name__}: {str(error)[:120]}): see "
                         "docs/boards.md") from None
    board = namespace.get("BOARD")
    if not isinstance(board, Board):
        raise BuildError(f"{path} has no BOARD that is a mrfhw.fpga.boards.Board: define one, as docs/boards.md does")
    from mrfhw.fpga.own_board import checked  # it knows every vendor's platform, which the others do without

    return checked(board, path)
