"""The C driver of a machine: the templates of this package with the machine's generated header."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from mrfhw.driver.image import c_constants
from mrfhw.driver.register_map import c_header
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.ports import AXI_TOP, TOP, MemoryPort

__all__ = ["EXAMPLE", "TEMPLATES", "driver_files", "with_prefix"]

EXAMPLE = "example.c"
TEMPLATES = ("mrfhw_driver.h", "mrfhw_driver.c", EXAMPLE)


def with_prefix(files: Mapping[str, str], prefix: str | None) -> dict[str, str]:
    """The files of a machine whose module has the name `prefix`: it begins their names, functions, types and macros, so that the
    drivers of several machines fit into one program. The example keeps its name. None for the usual names."""
    if prefix is None:
        return dict(files)

    def other(text: str) -> str:
        return re.sub(r"\bMRFHW_", f"{prefix.upper()}_", re.sub(r"\bmrfhw_", f"{prefix}_", text))

    return {other(name): other(text) for name, text in files.items()}


def driver_files(config: Config, digest: str, port: MemoryPort | None = None, prefix: str | None = None) -> dict[str, str]:
    """The text of each file by name: driver, example, and the header of registers that `mrfhw generate` writes too.

    digest: of the machine's circuit, 64 hexadecimal digits.
    port: of a machine with AXI ports, whose log the driver then takes from a ring in memory.
    prefix: as of `with_prefix`.
    """
    usual = TOP if port is None else AXI_TOP
    header = f"{prefix or usual}.h"
    values = {"@HEADER@": header, "@IMAGE@": c_constants(), "@PACKERS@": f"{Derived.of(config).packers}"}
    files = {header: c_header(config, digest, port)}
    for name in TEMPLATES:
        text = Path(__file__).with_name(name).read_text()
        for mark, value in values.items():
            text = text.replace(mark, value)
        files[name] = text
    return with_prefix(files, prefix)
