"""The FPGAs that machines are counted for: what a logic cell is there, and how much a device has."""

from __future__ import annotations

from dataclasses import dataclass

from mrfhw.cost.devices import DEVICES

__all__ = ["FAMILIES", "Family"]


@dataclass(frozen=True)
class Family:
    """A family, and one device of it.

    logic, ram, dsp: what a unit of each resource is (`studies.cells.occupied`). has: units of the device by resource.
    source: where that is published.
    """

    title: str
    logic: str
    ram: str
    dsp: str
    device: str
    has: dict[str, int]
    source: str


_LATTICE, _INTEL = DEVICES["LFE5U-85F"], DEVICES["5CSEBA6"]

FAMILIES: dict[str, Family] = {
    "ecp5": Family(
        "ECP5", "LUT4s, two for a carry", "18 kbit blocks", "18x18 multipliers", _LATTICE.name,
        {"logic": _LATTICE.lut, "ff": _LATTICE.ff, "ram": _LATTICE.ram, "dsp": _LATTICE.dsp},
        "Lattice FPGA-DS-02012, ECP5 and ECP5-5G Family, and the counts of nextpnr"),
    "cyclone5": Family(
        "Cyclone V", "ALMs, estimated", "M10K blocks", "18x18 multipliers", _INTEL.name,
        {"logic": _INTEL.lut, "ff": _INTEL.ff, "ram": _INTEL.ram, "dsp": _INTEL.dsp},
        "Intel CV-51001, Cyclone V Device Overview, and the counts of Quartus' fitter"),
    "ultrascale": Family(
        "UltraScale+", "LUT6s", "halves of 36 kbit blocks", "DSP48E2s", "XCVU9P",
        {"logic": 1_182_240, "ff": 2_364_480, "ram": 2 * 2_160, "dsp": 6_840},
        "AMD DS890, UltraScale Architecture and Product Data Sheet: Overview"),
}
