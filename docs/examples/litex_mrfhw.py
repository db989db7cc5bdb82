"""LiteX: the generated machine as a module on a system's bus, and a small system around it.

    mrfhw generate --preset smallest --top axi --axi-data-bits 32 -o mrfhw_axi
    python litex_mrfhw.py mrfhw_axi

The system has no processor: a host reaches its bus over a serial port (litex_server --uart). Registers are at MRFHW, the log's
ring is in the memory at RING. Another target's own SoC takes `Mrfhw` the same way; with a processor that has a DMA bus, or a
memory behind a cache, the master belongs on `soc.dma_bus`.
"""

import argparse
import json
from pathlib import Path

from litex.build.generic_platform import IOStandard, Pins, Subsignal
from litex.build.lattice import LatticePlatform
from litex.gen import LiteXModule
from litex.soc.integration.builder import Builder
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect import axi
from migen import ClockSignal, Instance, ResetSignal
from migen.genlib.io import CRG

MRFHW = 0x8000_0000  # registers: an uncached region in every LiteX processor
RING = 0x4000_0000  # memory for the log
RING_BYTES = 0x4000
CLOCK_HZ = 25_000_000

# A ULX3S with the 85F, of which this system uses the clock and the serial port.
PINS = [("clk25", 0, Pins("G2"), IOStandard("LVCMOS33")),
        ("serial", 0, Subsignal("tx", Pins("L4")), Subsignal("rx", Pins("M1")), IOStandard("LVCMOS33"))]


class Mrfhw(LiteXModule):
    """What `mrfhw generate --top axi` wrote to a directory.

    registers: AXI-Lite slave of `size` bytes. memory: AXI master. stream: AXI-Stream master, for log_target 1.
    """

    def __init__(self, platform, directory):
        directory = Path(directory)
        manifest = json.loads((directory / "manifest.json").read_text())
        ports = {port["name"]: port for port in manifest["ports"]}
        if "s_axi_awaddr" not in ports:
            raise ValueError(f"{directory} has the top {manifest['top']}, which has no AXI ports: generate it with --top axi")
        self.size = 1 << ports["s_axi_awaddr"]["width"]
        # The bus gives whole addresses; the machine takes their low bits, so it lies at a multiple of its size.
        self.registers = axi.AXILiteInterface(data_width=32, address_width=32)
        self.memory = axi.AXIInterface(data_width=ports["m_axi_wdata"]["width"], address_width=ports["m_axi_awaddr"]["width"],
                                       id_width=ports["m_axi_awid"]["width"], bursting=True)
        self.stream = axi.AXIStreamInterface(data_width=ports["m_axis_tdata"]["width"])
        connections = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        for name, port in ports.items():
            if name not in ("clk", "rst"):
                connections[f"{port['direction'][0]}_{name}"] = self._signal(name)[:port["width"]]
        self.specials += Instance(manifest["top"], **connections)
        platform.add_source(str(directory.resolve() / f"{manifest['top']}.v"))

    def _signal(self, name):
        """LiteX's signal of a port: m_axi_awaddr is memory.aw.addr."""
        prefix, member = name.rsplit("_", 1)
        if prefix == "m_axis":
            return getattr(self.stream, member.removeprefix("t"))
        interface = self.registers if prefix == "s_axi" else self.memory
        channel = next(c for c in ("aw", "ar", "w", "b", "r") if member.startswith(c))
        return getattr(getattr(interface, channel), member.removeprefix(channel))


class System(SoCCore):
    """The machine, memory for its log, and a bridge from a serial port to the bus."""

    def __init__(self, platform, directory, bus_standard):
        SoCCore.__init__(self, platform, clk_freq=CLOCK_HZ, cpu_type=None, uart_name="uartbone", uart_baudrate=1_000_000,
                         bus_standard=bus_standard, ident="mrfhw on LiteX", integrated_sram_size=0)
        self.crg = CRG(platform.request("clk25"))
        self.add_ram("ring", origin=RING, size=RING_BYTES)
        self.mrfhw = Mrfhw(platform, directory)
        self.bus.add_slave("mrfhw", self.mrfhw.registers, SoCRegion(origin=MRFHW, size=self.mrfhw.size, cached=False))
        self.bus.add_master("mrfhw", self.mrfhw.memory)
        # Nothing takes the stream here: log_target stays 0.
        self.comb += self.mrfhw.stream.ready.eq(0)


def main():
    parser = argparse.ArgumentParser(description="Write the Verilog of a small LiteX system with a generated machine.")
    parser.add_argument("directory", help="what mrfhw generate --top axi --axi-data-bits 32 wrote")
    parser.add_argument("--bus-standard", default="wishbone", choices=("axi", "axi-lite", "wishbone"))
    parser.add_argument("--output", default="build")
    arguments = parser.parse_args()
    platform = LatticePlatform("LFE5U-85F-6BG381C", PINS, toolchain="trellis")
    platform.default_clk_name, platform.default_clk_period = "clk25", 1e9 / CLOCK_HZ
    soc = System(platform, arguments.directory, arguments.bus_standard)
    Builder(soc, output_dir=arguments.output, compile_software=False, compile_gateware=False).build(run=False)


if __name__ == "__main__":
    main()
