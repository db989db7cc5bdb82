"""Addresses of boards: whatever is written there is an address or one line."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.host.links import Address, LinkError
from support.refusals import assert_one_line

pytestmark = pytest.mark.claim("link", "whatever is given as a board's address is an address or one line")

WRONG = ("tcp://[", "tcp://]", "tcp://[::1", "tcp://[::1]]:5", "tcp://[x]:1", "tcp://", "tcp://h", "tcp://h:", "tcp://h:0",
         "tcp://h:65536", "tcp://h:-1", "tcp://h:x", "tcp://h:1:2", "tcp://:7", "tcp://u@h:1", "tcp://h:1/path", "tcp://h:1#x", "tcp://h:1?baud=5",
         "tcp://h:1?patience=nan", "tcp://h:1?patience=-1", "tcp://h:1?patience=inf", "tcp://h:1?patience=0", "tcp://h:1?patience=",
         "tcp://h:1?reconnect=nan", "tcp://h:1?reconnect=-1", "tcp://h:1?reconnect=1e999", "tcp://h:1?reconnect=1&reconnect=2",
         "tcp://h:1?speed=1", "tcp://h:1?=", "tcp://h:\u00b2", "tcp://" + 70 * "a" + ":1", "tcp://a..b:1", "tcp://\u2100:1",
         "serial://", "serial:///dev/x?baud=0", "serial:///dev/x?baud=-1", "serial:///dev/x?baud=\u00b2", "serial:///dev/x?baud=1e6",
         "serial:///dev/x?baud=" + 5000 * "9", "serial:///dev/x?quick=1", "serial:///dev/x\0y", "serial:///tmp", "serial:///dev/null",
         "serial:///dev/null?baud=2147483647", "sim://?quick=2", "sim://x", "sim://?reconnect=1", "usb://x", "://", "://?", "tcp://%",
         "tcp://h\n:1?x")


@pytest.mark.tools
@pytest.mark.parametrize("text", WRONG)
def test_any_address_is_one_line(text) -> None:
    assert_one_line(CliRunner().invoke(main, ["diagnose", text]), ".+: .+")


@pytest.mark.parametrize("text", ["tcp://[", "tcp://[::1]]:5", "tcp://h:65536", "tcp://h:-1", "tcp://h:1?patience=5", "p"])
def test_any_place_to_listen_is_one_line(text) -> None:
    result = CliRunner().invoke(main, ["board", "--preset", "smallest", "--listen", text])
    assert_one_line(result, "listen is '.+'; it must be pty, tcp://HOST:PORT or udp://HOST:PORT: give one of them")


@pytest.mark.tools
def test_random_addresses() -> None:
    """Whatever it is, it is an address or a line."""
    rng, good = np.random.default_rng(5), 0
    pieces = ("tcp", "serial", "sim", ":", "/", "//", "://", "[", "]", "?", "&", "=", "#", "@", "%", "h", "1", "65536", "-", "nan",
              ".", "reconnect", "patience", "baud", "quick", "\u00b2", "\u2100", "\0", " ", "\n", "::1", "e9")
    for _ in range(10_000):
        text = "".join(rng.choice(pieces, rng.integers(0, 9)))
        text = rng.choice(("tcp://", "serial://", "sim://", "")) + text
        with contextlib.suppress(LinkError):
            Address.of(text)
            good += 1
    assert good > 100
