"""Packing of struct ports, against Amaranth's own."""

from __future__ import annotations

import pytest
from amaranth.lib import data

from mrfhw.gateware.control.ops import neighbour
from mrfhw.machine.config import Config
from sim.support.fields import pack, unpack

SITE = data.ArrayLayout(neighbour(Config.preset("smallest")), 4)
WORD = {"word": {"label": 37, "exists": 1}, "vector": {"u": -3, "v": 7}}
OTHER = {"word": {"label": 0, "exists": 0}, "vector": {"u": -8, "v": -1}}


def test_pack_is_amaranths() -> None:
    value = [WORD, OTHER, WORD, WORD]
    assert pack(SITE, value) == SITE.const(value).as_bits()


def test_unpack_inverts() -> None:
    value = [OTHER, WORD, WORD, OTHER]
    assert unpack(SITE, pack(SITE, value)) == value


@pytest.mark.parametrize("value", [-1, 64])
def test_value_that_does_not_fit(value: int) -> None:
    with pytest.raises(ValueError, match="does not fit 6 bits"):
        pack(6, value)


def test_missing_field() -> None:
    with pytest.raises(ValueError, match="does not give the fields u, v"):
        pack(neighbour(Config.preset("smallest"))["vector"].shape, {"u": 1})
