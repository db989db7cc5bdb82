"""AXI4-Lite to Wishbone under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.soc.axi_registers import AxiLiteToWishbone
from sim.support.runner import run_bench
from support.refusals import assert_refused

pytestmark = pytest.mark.claim("AxiLiteToWishbone",
    "each access once and in order with its own answer, errors too; reads and writes take turns and never wait for each other's "
    "responses")


@pytest.mark.tools
@pytest.mark.parametrize(("address_bits", "outstanding"), [(8, 5), (32, 11), (16, 1)])
def test_axi_lite_to_wishbone(address_bits: int, outstanding: int) -> None:
    run_bench(AxiLiteToWishbone(address_bits, outstanding), "axi_lite_to_wishbone", "sim.benches.bench_axi_registers",
              {"address_bits": address_bits, "outstanding": outstanding})


@pytest.mark.parametrize("bits", [2, 65])
def test_wrong_width(bits: int) -> None:
    assert_refused(lambda: AxiLiteToWishbone(bits, 4), f"address_bits is {bits}; AXI4-Lite byte addresses of words have 3 to 64 "
                   "bits: give one of them")


@pytest.mark.parametrize("outstanding", [0, True, 2.0])
def test_wrong_outstanding(outstanding: object) -> None:
    assert_refused(lambda: AxiLiteToWishbone(8, outstanding),  # type: ignore[arg-type]
                   f"outstanding is {outstanding!r}; accesses under way are 1 or more: give a whole number")
