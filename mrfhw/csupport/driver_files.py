"""The C driver of a machine: the templates of this package with the machine's generated header."""

from __future__ import annotations

from pathlib import Path

from mrfhw.csupport.image import c_constants
from mrfhw.generation.register_map import MemoryPort, c_header
from mrfhw.generation.verilog import AXI_TOP, TOP
from mrfhw.machine.config import Config

__all__ = ["EXAMPLE", "TEMPLATES", "driver_files"]

EXAMPLE = "example.c"
TEMPLATES = ("mrfhw_driver.h", "mrfhw_driver.c", EXAMPLE)


def driver_files(config: Config, port: MemoryPort | None = None) -> dict[str, str]:
    """The text of each file by name: driver, example, and the header of registers that `mrfhw generate` writes too.

    port: of a machine with AXI ports, whose log the driver then takes from a ring in memory.
    """
    header = f"{TOP if port is None else AXI_TOP}.h"
    values = {"@HEADER@": header, "@IMAGE@": c_constants()}
    files = {header: c_header(config, port)}
    for name in TEMPLATES:
        text = Path(__file__).with_name(name).read_text()
        for mark, value in values.items():
            text = text.replace(mark, value)
        files[name] = text
    return files
