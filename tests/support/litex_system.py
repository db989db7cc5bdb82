"""A LiteX system with a processor and a generated machine, for LiteX's own simulator; run as a program, apart from pytest.

    python litex_system.py --processor NAME --bus BUS MACHINE OUTPUT FIRMWARE ...

NAME: of one of LiteX's processors. BUS: wishbone or axi. MACHINE: what `mrfhw generate --top axi --axi-data-bits 32` wrote. OUTPUT:
a new directory for the simulator's sources; `bash build_sim.sh` there compiles `obj_dir/Vsim`, which runs what is in sim_rom.init.
FIRMWARE: what `mrfhw export` wrote for the machine, for one problem each; OUTPUT then has rom0.init, rom1.init, ...

The program is the export's example.c as it is. LiteX's start-up code calls a main of ours, which calls the example's and sends what
it left in memory over the serial port. LiteX's Builder is not used, as it would compile a C library and the BIOS.
"""

from __future__ import annotations

import argparse
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "examples"))

from litex.build.generic_platform import Pins, Subsignal
from litex.build.sim import SimPlatform
from litex.build.sim.config import SimConfig
from litex.build.sim.platform import SimFinish
from litex.soc.integration import export, soc_core
from litex.soc.integration.common import get_mem_data
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import axi, wishbone
from litex_mrfhw import MRFHW, Mrfhw
from migen.genlib.io import CRG

RING = 0x9000_0000  # an uncached region of the processor, which the machine writes too
RING_BYTES = 0x4000
ROM_BYTES, RAM_BYTES = 0x10000, 0x8000
CLOCK_HZ = 1_000_000

PINS = [("sys_clk", 0, Pins(1)), ("sys_rst", 0, Pins(1)),
        ("serial", 0, *(Subsignal(f"{end}_{name}", Pins(width)) for end in ("source", "sink")
                        for name, width in (("valid", 1), ("ready", 1), ("data", 8))))]

# Calls the example and sends the answer: lines of a name and hexadecimal numbers.
REPORT = r"""
#include "mrfhw_driver.h"
#include "mrfhw_image.h"
#include "csr.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

int main(void);
void isr(void);
int example_main(void);
extern mrfhw_count counts[MRFHW_FIELD_SITES * MRFHW_FIELD_LABELS];
extern uint8_t last[MRFHW_FIELD_SITES];
extern const char *volatile message;

static void put(const char *text) {
    for (; *text != 0; text++) {
        while (REGISTER(CSR_UART_TXFULL_ADDR) != 0) {}
        REGISTER(CSR_UART_RXTX_ADDR) = (uint8_t)*text;
    }
}

static void number(uint32_t value) {
    char text[10];
    char *first = text + 9;
    *first = 0;
    do *--first = "0123456789abcdef"[value & 15u];
    while ((value >>= 4) != 0);
    *--first = ' ';
    put(first);
}

static void wide(const char *name, uint64_t value) {
    put(name);
    number((uint32_t)(value >> 32));
    number((uint32_t)value);
    put("\n");
}

static void finish(void) {
    put("end\n");
    while (REGISTER(CSR_UART_TXEMPTY_ADDR) == 0) {}
    REGISTER(CSR_SIM_FINISH_FINISH_ADDR) = 1;
    for (;;) {}
}

/* No interrupt is enabled, so this is an exception. */
void isr(void) {
    put("\nexception\n");
    finish();
}

static bool read_word(void *context, uint32_t address, uint32_t *data) {
    (void)context;
    *data = ((volatile uint32_t *)(uintptr_t)MACHINE_BASE)[address];
    return true;
}

int main(void) {
    static mrfhw_machine machine;
    static const mrfhw_bus bus = {NULL, read_word, NULL, NULL, NULL};
    mrfhw_counters found;
    uint32_t i;
    const uint32_t error = (uint32_t)example_main();

    put("error");
    number(error);
    put("\n# ");
    put(message);
    put("\nlast");
    for (i = 0; i < MRFHW_FIELD_SITES; i++) number(last[i]);
    put("\ncounts");
    for (i = 0; i < MRFHW_FIELD_SITES * MRFHW_FIELD_LABELS; i++) number(counts[i]);
    put("\n");
    if (mrfhw_open(&machine, &bus) == MRFHW_OK && mrfhw_count_registers(&machine, &found) == MRFHW_OK) {
        wide("cycles", found.cycles);
        wide("gap_cycles", found.gap_cycles);
        wide("stall_cycles", found.stall_cycles);
        wide("messages", found.messages);
        wide("lines", found.lines);
    }
    finish();
    return 0;
}
"""


class System(soc_core.SoCCore):
    """A processor, with its caches if it has any, ROM, RAM, a serial port, the machine, and memory for its log."""

    def __init__(self, platform: SimPlatform, directory: Path, processor: str, standard: str):
        soc_core.SoCCore.__init__(self, platform, clk_freq=CLOCK_HZ, cpu_type=processor, bus_standard=standard, uart_name="sim",
                                  integrated_rom_size=ROM_BYTES, integrated_sram_size=RAM_BYTES)
        self.crg = CRG(platform.request("sys_clk"))
        self.sim_finish = SimFinish()
        self.mrfhw = Mrfhw(platform, directory)
        self.bus.add_slave("mrfhw", self.mrfhw.registers, SoCRegion(origin=MRFHW, size=self.mrfhw.size, cached=False))
        self.bus.add_master("mrfhw", self.mrfhw.memory)
        self.comb += self.mrfhw.stream.ready.eq(0)
        # As add_ram has it, but for the region: that one's would be cached.
        self.ring = (wishbone.SRAM(RING_BYTES, bus=wishbone.Interface(data_width=32, address_width=32), name="ring")
                     if standard == "wishbone" else
                     axi.AXILiteSRAM(RING_BYTES, bus=axi.AXILiteInterface(data_width=32, address_width=32), name="ring"))
        self.bus.add_slave("ring", self.ring.bus, SoCRegion(origin=RING, size=RING_BYTES, cached=False))


def write_addresses(soc: Any, out: Path) -> None:
    """What LiteX generates for programs of this system."""
    (out / "generated").mkdir()
    (out / "generated" / "output_format.ld").write_text(export.get_linker_output_format(soc.cpu))
    (out / "generated" / "regions.ld").write_text(export.get_linker_regions(soc.mem_regions))
    (out / "csr.h").write_text(export.get_csr_header(soc.csr_regions, soc.constants, soc.mem_regions["csr"].origin,
                                                     with_access_functions=False))


def rom_words(soc: Any, sources: Path, out: Path) -> list[int]:
    """The exported sources with LiteX's start-up code and linker script."""
    (out / "report.c").write_text(REPORT)
    tool = "riscv64-unknown-elf-"
    compiler = [f"{tool}gcc", *soc.cpu.gcc_flags.split(), "-std=c99", "-Os", "-Wall", "-Wextra", "-Werror", "-ffreestanding",
                "-ffunction-sections", "-fdata-sections", f"-I{sources}", f"-I{out}", f"-DMACHINE_BASE={MRFHW:#x}u",
                f"-DRING_BASE={RING:#x}u"]
    parts = {"crt0.S": Path(inspect.getfile(type(soc.cpu))).with_name("crt0.S"), "report.c": out / "report.c",
             "mrfhw_driver.c": sources / "mrfhw_driver.c", "example.c": sources / "example.c"}
    objects = []
    for name, path in parts.items():
        objects.append(f"{Path(name).stem}.o")
        renamed = ["-Dmain=example_main"] if name == "example.c" else []
        subprocess.run([*compiler, *renamed, "-c", str(path), "-o", objects[-1]], cwd=out, check=True)
    script = Path(soc_core.__file__).parents[1] / "software" / "bios" / "linker.ld"
    # GCC has its library for rv32i by that name, and not for the version 2.0 of it that LiteX asks for.
    linker = [word.replace("rv32i2p0", "rv32i") for word in compiler]
    subprocess.run([*linker, "-nostdlib", "-Wl,--gc-sections", f"-L{out}", f"-Wl,-T,{script}", *objects, "-lgcc", "-o",
                    "firmware.elf"], cwd=out, check=True)
    subprocess.run([f"{tool}objcopy", "-O", "binary", "firmware.elf", "firmware.bin"], cwd=out, check=True)
    words: list[int] = get_mem_data(str(out / "firmware.bin"), endianness="little")
    return words


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--processor", required=True)
    parser.add_argument("--bus", choices=("wishbone", "axi"), required=True)
    parser.add_argument("machine", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("firmware", type=Path, nargs="+")
    arguments = parser.parse_args()
    out = arguments.output.resolve()
    out.mkdir()
    soc = System(SimPlatform("SIM", PINS), arguments.machine, arguments.processor, arguments.bus)
    soc.finalize()
    write_addresses(soc, out)
    for number, sources in enumerate(arguments.firmware):
        words = rom_words(soc, sources.resolve(), out)
        (out / f"rom{number}.init").write_text("".join(f"{word:x}\n" for word in words))
        soc.init_rom("rom", words, auto_size=False)
    simulator = SimConfig(default_clk="sys_clk", default_clk_freq=CLOCK_HZ)
    simulator.add_module("serial2console", "serial")
    soc.build(build_dir=str(out), sim_config=simulator, run=False, opt_level="O1")


if __name__ == "__main__":
    main()
