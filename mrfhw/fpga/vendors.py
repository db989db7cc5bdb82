"""What a vendor's project has besides Amaranth's: no clock and no pin without a constraint."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import IOPort

__all__ = ["QuartusProject", "VivadoProject"]


class _Project:
    """Mixed in before a platform of Amaranth's, for a design with one clock.

    A PLL's output has no constraint of its own: the vendor's tool derives it from the input's. Every other pin than the
    oscillator's is asynchronous: no path to or from it is timed.
    """

    def add_clock_constraint(self, clock: Any, frequency: float) -> None:
        if isinstance(clock, IOPort):
            super().add_clock_constraint(clock, frequency)  # type: ignore[misc]

    def _untimed(self) -> str:
        """set_false_path, which Synopsys' language has in both vendors' constraints, for the asynchronous pins."""
        clocks = {port.name for port, _ in self.iter_port_clock_constraints()}  # type: ignore[attr-defined]
        lines = []
        for group in self._requested.values():  # type: ignore[attr-defined]
            for port in vars(group).values() if not hasattr(group, "direction") else [group]:
                if port.io.name not in clocks:
                    lines.append(f"set_false_path {'-from' if port.direction.value == 'i' else '-to'} "
                                 f"[get_ports {{{port.io.name}}}]")
        return "\n".join(lines)


class QuartusProject(_Project):
    """A project of Quartus Prime: `NAME.qpf` to open, the family, and the PLL's clock and every clock's uncertainty derived."""

    family: str

    def toolchain_prepare(self, fragment: Any, name: str, **kwargs: Any) -> Any:
        self.add_file(f"{name}.qpf", f'PROJECT_REVISION = "{name}"\n')  # type: ignore[attr-defined]
        constraints = ["derive_pll_clocks", "derive_clock_uncertainty", self._untimed(), ""]
        return super().toolchain_prepare(  # type: ignore[misc]
            fragment, name, add_constraints="\n".join(constraints),
            add_settings=f'set_global_assignment -name FAMILY "{self.family}"\n'
                         f"set_global_assignment -name SDC_FILE {name}.sdc\n", **kwargs)


class VivadoProject(_Project):
    """A project of Vivado; the constraints of asynchronous pins are in `asynchronous.xdc`."""

    def toolchain_prepare(self, fragment: Any, name: str, **kwargs: Any) -> Any:
        self.add_file("asynchronous.xdc", self._untimed() + "\n")  # type: ignore[attr-defined]
        return super().toolchain_prepare(fragment, name, **kwargs)  # type: ignore[misc]
