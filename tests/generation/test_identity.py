"""What the digest registers hold: the circuit's digest, in every top, known to a host that does not generate it anew."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import subprocess
import sys

import pytest

from mrfhw.gateware.control.register_file import PLACEHOLDER
from mrfhw.gateware.mesh.accelerator import Accelerator
from mrfhw.generation import generated, identity
from mrfhw.generation.files import Top
from mrfhw.generation.identity import circuit_digest
from mrfhw.generation.verilog import board_text, verilog_text
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import DIGITS

DIGEST_REGISTERS_HOLD = pytest.mark.claim("Identity",
    "the digest registers hold the digest of the circuit in every top; a changed circuit needs another interface version")

SMALLEST = Config.preset("smallest")


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A process that has generated nothing, with an empty cache."""
    monkeypatch.setenv("MRFHW_CACHE", str(tmp_path))
    monkeypatch.setattr(identity, "_KNOWN", {})
    return tmp_path


def words(digest: str) -> list[str]:
    return [f"32'd{int(digest[i:i + 8], 16)};" for i in range(0, DIGITS, 8)]


@DIGEST_REGISTERS_HOLD
def test_the_digest_is_that_of_the_text_without_it():
    text = verilog_text(SMALLEST)
    digest = circuit_digest(SMALLEST)
    assert f"// circuit {digest}\n" in text
    body = text.split("`default_nettype none\n\n", 1)[1].rsplit("\n`default_nettype wire\n", 1)[0]
    for place, found in zip(words(PLACEHOLDER), words(digest), strict=True):
        assert text.count(found) == 1
        body = body.replace(found, place)
    assert hashlib.sha256(body.encode()).hexdigest() == digest


@DIGEST_REGISTERS_HOLD
@pytest.mark.parametrize("text", [lambda: board_text(SMALLEST, 16), lambda: Top("axi", 32).verilog(SMALLEST)], ids=["board", "axi"])
def test_what_stands_around_a_machine_has_its_digest(text):
    found = text()
    assert all(found.count(word) == 1 for word in words(circuit_digest(SMALLEST)))
    assert not any(word in found for word in words(PLACEHOLDER))


@DIGEST_REGISTERS_HOLD
def test_another_circuit_of_the_same_parameters_has_another_digest(fresh, monkeypatch):
    before, elaborate = circuit_digest(SMALLEST), Accelerator.elaborate

    def changed(self, platform):
        m = elaborate(self, platform)
        m.d.comb += self.bus.err.eq(0)
        return m

    monkeypatch.setattr(Accelerator, "elaborate", changed)
    assert identity.circuit(SMALLEST)[1] != before
    assert circuit_digest(dataclasses.replace(SMALLEST)) != before


@pytest.mark.slow
def test_a_digest_is_kept_for_later_processes(fresh):
    digest = circuit_digest(SMALLEST)
    ask = ("import sys; from mrfhw.generation.identity import circuit_digest; from mrfhw.machine.config import Config; "
           "print(circuit_digest(Config.preset('smallest')), 'amaranth' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.split() == [digest, "False"]


@pytest.mark.tools
@pytest.mark.parametrize(("module", "make"), [
    ("mrfhw.generation.identity", "from mrfhw.generation.identity import circuit; circuit(Config.preset('smallest'))"),
    ("mrfhw.simulation.compiled", "from mrfhw.simulation import compiled; compiled.BoardWithMemory; "
                                  "compiled.verilog_text(Config.preset('smallest'))")])
def test_a_circuit_is_made_from_its_sources(fresh, module, make):
    """Whatever is loaded when a circuit is made is among them, so that an edit of it makes the circuit anew; no other room is."""
    ask = (f"import sys; from mrfhw.machine.config import Config; {make}; "
           "print(*(name for name in sys.modules if name.split('.')[0] == 'mrfhw'))")
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, env=os.environ)
    root = generated.ROOT.parent
    sources = {".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
               for path in generated.source_files(module)}
    assert {*done.stdout.split()} <= sources
    rooms = {name.split(".")[1] for name in sources if "." in name}
    assert rooms <= {"field", "gateware", "generation", "machine", "simulation", "system"}


def test_a_cache_that_cannot_be_written_costs_time_alone(fresh, monkeypatch):
    monkeypatch.setenv("MRFHW_CACHE", "/proc/none")
    assert re.fullmatch("[0-9a-f]{64}", circuit_digest(SMALLEST))


def test_machines_have_names_of_their_own():
    presets = [Derived.preset(name) for name in PRESETS]
    assert len({machine.name for machine in presets}) == len(presets)
    default = Derived()
    assert default.name == "mrfhw_16x2_race"
    other = Derived(counter_bits=4)
    assert other.name == f"mrfhw_16x2_race_{other.digest[:8]}"
    assert len({Top("axi", *widths).suffix for widths in ((), (32,), (64, 40))}) == 3
