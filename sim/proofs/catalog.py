"""All proofs, at the sizes of the machines of boards and of the kept builds, each kind of part with faults that must be found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mrfhw.fpga.report import kept_records
from mrfhw.gateware.control.ops import LogMessage
from mrfhw.gateware.control.write_backs import GroupInFlight
from mrfhw.gateware.soc.axi_registers import CHANNEL_DEPTH
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.link_protocol import DATAGRAM_WORDS, WORDS
from sim.proofs.bridges import requests_proof
from sim.proofs.crcs import crc_proof
from sim.proofs.credits import credits_proof
from sim.proofs.engine import Proof
from sim.proofs.groups import groups_proof
from sim.proofs.hubs import line_hub_proof, log_hub_proof
from sim.proofs.log_buffers import log_buffer_proof
from sim.proofs.planted import Fault
from sim.proofs.queues import queue_proof
from sim.proofs.receivers import receiver_proof
from sim.proofs.request_queues import request_queue_proof
from sim.proofs.rows import rows_proof
from sim.proofs.single_requests import single_requests_proof
from sim.proofs.transmitters import transmitter_proof
from sim.proofs.turns import turns_proof

__all__ = ["Entry", "entries"]

_MEMORIES, _TREE, _BRIDGE = "mrfhw.gateware.common.memories", "mrfhw.gateware.mesh.tree", "mrfhw.gateware.link.bridge"
_WINDOW, _KEPT = "mrfhw.gateware.link.window_bridge", "mrfhw.gateware.link.kept_responses"
_FRAMES, _DATAGRAMS = "mrfhw.gateware.link.frames", "mrfhw.gateware.link.datagrams"
_WAITING = "mrfhw.gateware.link.request_queue"
_CONTEXTS = "mrfhw.gateware.mesh.contexts"
_ROWS = "mrfhw.gateware.control.row_pointer"
_STATES, _BACKS = "mrfhw.gateware.control.group_states", "mrfhw.gateware.control.write_backs"


@dataclass(frozen=True)
class Entry:
    """kind: of the part. short: it is proven in `make prove`, the others by `--all`. faults: each makes it fail."""

    kind: str
    proof: Proof
    short: bool
    faults: tuple[Fault, ...] = ()


def machines() -> list[Derived]:
    """Those of the presets and of the kept builds."""
    configs = [*map(Config.preset, PRESETS), *(Config.from_dict(record["config"]) for record in kept_records())]
    return [Derived.of(config) for config in dict.fromkeys(configs)]


def entries() -> list[Entry]:
    """Each size once."""
    found = dict[str, Entry]()
    for entry in (*_queues(), *_hubs(), *_buffers(), *_groups(), *_turns(), *_rows(), *_ends(), *_waiting(), *_requests(),
                  *_single_requests(), *_credits()):
        found.setdefault(entry.proof.name, entry)
    return list(found.values())


def _queues() -> Iterator[Entry]:
    faults = (Fault(_MEMORIES, "self.w_rdy.eq(self.level != self.depth)", "self.w_rdy.eq(1)"),
              Fault(_MEMORIES, "write.en.eq(put)", "write.en.eq(self.w_en)"),
              Fault(_MEMORIES, "Mux(get, self._after(consume), consume)", "Mux(self.r_en, self._after(consume), consume)"))
    yield Entry("queue", queue_proof(8, 5, 1), True, (
        *faults, Fault(_MEMORIES, "storage.read_port(transparent_for=(write,))", "storage.read_port()")))
    yield Entry("queue", queue_proof(8, 5, 2), True, (
        *faults, Fault(_MEMORIES, "self.r_rdy.eq(self.level != get)", "self.r_rdy.eq(self.level != 0)")))
    for c in machines():
        levels = [LogMessage(c, (level + 1) * bits_for(c.hub_fan_in)).size + 1 for level in range(c.message_levels)]
        for width, depth, latency in ((LogMessage(c, 0).size + 1, c.log_depth, 1), *((bits, c.hub_depth, 1) for bits in levels),
                                      (GroupInFlight(c).size, c.commit_queue_depth, 2), (32, CHANNEL_DEPTH, 1)):
            yield Entry("queue", queue_proof(width, depth, latency), False)


def _hubs() -> Iterator[Entry]:
    turns = (Fault(_TREE, "m.d.sync += last.eq(chosen)", "m.d.sync += last.eq(0)"),
             Fault(_TREE, "m.d.sync += ended.eq(ended | served)", "m.d.sync += ended.eq(served)"),
             Fault(_TREE, "m.d.sync += [ended.eq(0), last.eq(0)]", "m.d.sync += [ended.eq(served), last.eq(0)]"))
    small = Derived.of(Config.preset("tang-nano-20k"))
    lines = Derived.of(Config.preset("default", line_bits=64, line_levels=1))
    yield Entry("log hub", log_hub_proof(small, 0), True, (
        *turns, Fault(_TREE, "fifo.w_en.eq(valid.any() & ~turn.partial)", "fifo.w_en.eq(valid.any())"),
        Fault(_TREE, "child.ready.eq(turn.served[k] & fifo.w_rdy)", "child.ready.eq(turn.served[k])"),
        Fault(_TREE, "fifo.w_data.eq(Cat(message.as_value(), turn.chosen, turn.complete))",
              "fifo.w_data.eq(Cat(message.as_value(), turn.last, turn.complete))")))
    yield Entry("line hub", line_hub_proof(lines), True, (
        *turns, Fault(_TREE, "child.tready.eq(turn.served[k] & fifo.w_rdy)", "child.tready.eq(turn.served[k])")))
    for c in machines():
        for level in range(c.message_levels):
            yield Entry("log hub", log_hub_proof(c, level * bits_for(c.hub_fan_in)), False)


def _buffers() -> Iterator[Entry]:
    yield Entry("ring of log", log_buffer_proof(40, 32, 1), True, (
        Fault(_BRIDGE, "(self.reached[bits] != self.freed[bits])", "(self.reached[bits] == self.freed[bits])"),
        Fault(_BRIDGE, "take.eq(self.lines.tvalid & ~full)", "take.eq(self.lines.tvalid)"),
        Fault(_BRIDGE, "number.eq(Mux(self.lines.tready, 0, number + 1))", "number.eq(Mux(take, 0, number + 1))")))
    yield Entry("ring of log", log_buffer_proof(128, 64, 4), True, (
        Fault(_BRIDGE, "read.addr.eq(self.position >> low)", "read.addr.eq(self.position)"),))
    for line_bits, size, unit in ((32, 256, 1), (32, 512, 1), (128, 2048, 1), (128, 1 << 12, 4)):
        yield Entry("ring of log", log_buffer_proof(line_bits, size, unit), False)


def _groups() -> Iterator[Entry]:
    faults = (Fault(_BACKS, "queue.r_en.eq(slot.enable & last_lane)", "queue.r_en.eq(slot.enable)"),
              Fault(_BACKS, "entry.due.eq(now + delay)", "entry.due.eq(now + delay - 1)"),
              Fault(_BACKS, "(under_way | (oldest.due == now))", "(oldest.due == now)"),
              Fault(_BACKS, "self.written.eq((queue.level == 0) & (left == 0))", "self.written.eq(queue.level == 0)"),
              Fault(_STATES, "m.d.comb += self.issue.eq(~self.stall)", "m.d.comb += self.issue.eq(1)"),
              Fault(_STATES, "with m.If(self.written):", "with m.If(1):"))
    yield Entry("groups", groups_proof(Config.preset("tang-nano-20k"), 16), True, faults)
    for c in machines():
        for slots in sorted({c.min_slots, c.interval(0), c.max_labels >> c.lane_bits}):
            yield Entry("groups", groups_proof(c, slots), False)


def _turns() -> Iterator[Entry]:
    faults = (Fault(_CONTEXTS, "free.eq(self.idle & ~Cat(begins).any())", "free.eq(self.idle)"),
              Fault(_CONTEXTS, "free & waits[k] & (following == k)", "free & waits[k]"),
              Fault(_CONTEXTS, "m.d.sync += self.context.eq(k)", "m.d.sync += self.context.eq(0)"),
              Fault(_CONTEXTS, "asked.eq(Mux(mine, 0, asked) |", "asked.eq(asked |"),
              Fault(_CONTEXTS, "for step in range(n, 0, -1)", "for step in range(1, n + 1)"),
              Fault(_CONTEXTS, "begun & stopped | stop & ~waiting", "begun & stopped | stop"))
    for n in (2, 3):
        yield Entry("turns", turns_proof(n), n == 2, faults if n == 2 else ())


def _rows() -> Iterator[Entry]:
    faults = (Fault(_ROWS, "new.up.eq(row.here)", "new.up.eq(row.up)"),
              Fault(_ROWS, "prepare.eq(Mux(last_row, 1, 0))", "prepare.eq(0)"),
              Fault(_ROWS, "new.row.eq(Mux(last, 0, row.row + 1))", "new.row.eq(row.row + 1)"),
              Fault(_ROWS, "white.eq(~white)", "white.eq(1)"), Fault(_ROWS, "(last_of_run | ~r.overlap)", "~r.overlap"),
              Fault(_ROWS, "rows_done.eq(Mux(last_row, 0, rows_done + 1))", "rows_done.eq(rows_done + 1)"))
    yield Entry("order", rows_proof(Config.preset("tang-nano-20k"), 5, 3), True, faults)
    yield Entry("order", rows_proof(Config.preset("census-subsets"), 8, 3), True, (
        *faults, Fault(_ROWS, "else ~row.row[0]", "else row.row[0]"),
        Fault(_ROWS, "new.second.eq(Mux(last, 0, row.second + r.s2_stride))", "new.second.eq(row.second + r.s2_stride)")))
    for c in machines():
        for rows in sorted({max(2, c.row_step), 2 * c.row_step, c.tile_rows} - {1}):
            yield Entry("order", rows_proof(c, rows, c.tile_cols // (2 * c.spus)), False)


def _ends() -> Iterator[Entry]:
    bytes_faults = (
        Fault(_FRAMES, "[escaped.eq(1), bad.eq(bad | escaped)]", "escaped.eq(1)"), Fault(_FRAMES, "(count[:2] == 0) & ", ""),
        Fault(_FRAMES, "~bad & ~escaped & crc.whole", "~bad & ~escaped"), Fault(_FRAMES, "bad = Signal(init=1)", "bad = Signal()"),
        Fault(_FRAMES, "m.If(self.held if self.holds else 0)", "m.If(0)"),
        Fault(_FRAMES, "m.Elif(count == 4 * self.words)", "m.Elif(0)"),
        Fault(_FRAMES, "shift.eq(Cat(shift[8:], clear))", "shift.eq(Cat(clear, shift[:16]))"))
    words_faults = (
        Fault(_DATAGRAMS, "Mux(first, 0, lost) | busy", "Mux(first, 0, lost)"), Fault(_DATAGRAMS, "now.whole & ~bad", "~bad"),
        Fault(_DATAGRAMS, "| (~first & (count == self.words))", ""), Fault(_DATAGRAMS, "held.eq(crc.whole)", "held.eq(1)"),
        Fault(_DATAGRAMS, "(at >= HEAD_WORDS)", "1"), Fault(_DATAGRAMS, "at = Mux(first, 0, count)", "at = count"))
    yield Entry("receiver", receiver_proof(16, False, True), True, bytes_faults)
    yield Entry("receiver", receiver_proof(16, False, False), True, (
        Fault(_FRAMES, "self.address.eq(count[2:])", "self.address.eq(count[2:] + 1)"),
        Fault(_FRAMES, "self.size.eq(count[2:] - 1)", "self.size.eq(count[2:])")))
    yield Entry("receiver", receiver_proof(16, True, True), True, words_faults)
    yield Entry("receiver", receiver_proof(16, True, False), True, (
        Fault(_DATAGRAMS, "self.address.eq(at)", "self.address.eq(count)"),))
    for words, datagrams in ((WORDS, False), (DATAGRAM_WORDS, False), (DATAGRAM_WORDS, True)):
        for holds in (True, False):
            yield Entry("receiver", receiver_proof(words, datagrams, holds), False)
    yield Entry("transmitter", transmitter_proof(16, False), False, (
        Fault(_FRAMES, "((byte == FLAG) | (byte == ESCAPE))", "(byte == FLAG)"), Fault(_FRAMES, "tail == 3", "tail == 2"),
        Fault(_FRAMES, "Mux(closing, ~crc.state[:8], payload)", "Mux(closing, crc.state[:8], payload)"),
        Fault(_FRAMES, "(index >> 2) - HEAD_WORDS", "(index >> 2) - 1"), Fault(_FRAMES, "Mux(log, self.log_position, self.value)",
                                                                              "self.log_position")))
    yield Entry("transmitter", transmitter_proof(16, True), True, (
        Fault(_DATAGRAMS, "place.eq(index)]", "place.eq(index + 1)]"), Fault(_DATAGRAMS, "index + 1 == size", "index == size"),
        Fault(_DATAGRAMS, "crc.first.eq(place == 0)", "crc.first.eq(index == 0)"),
        Fault(_DATAGRAMS, "made.length.eq((size + 1) << 2)", "made.length.eq(size << 2)"),
        Fault(_DATAGRAMS, "room = queue.level <= QUEUE - _ON_THE_WAY", "room = queue.w_rdy"),
        Fault(_DATAGRAMS, "log & (index >= HEAD_WORDS)", "log"), Fault(_DATAGRAMS, "responded.eq(~log)", "responded.eq(1)")))
    yield Entry("transmitter", transmitter_proof(WORDS, False), False)
    yield Entry("transmitter", transmitter_proof(DATAGRAM_WORDS, True), False)
    yield Entry("CRC", crc_proof(), True, (
        Fault(_FRAMES, "for _ in range(8):", "for _ in range(7):"), Fault(_FRAMES, "with m.If(self.start):", "with m.If(0):")))


def _waiting() -> Iterator[Entry]:
    yield Entry("requests that wait", request_queue_proof(64, 40, 2), True, (
        Fault(_WAITING, "fits.eq(address < free)", "fits.eq(1)"), Fault(_WAITING, "(lost & (address != 0))", "0"),
        Fault(_WAITING, "take * self.held_size)", "self.take * self.held_size)"), Fault(_WAITING, " & frames.w_rdy", ""),
        Fault(_WAITING, "into.en.eq(write & fits)", "into.en.eq(write)"), Fault(_WAITING, "base + self.size", "base + address"),
        Fault(_WAITING, "first.eq(first + self.held_size)", "first.eq(first + self.held_size + 1)")))


def _requests() -> Iterator[Entry]:
    faults = (Fault(_WINDOW, "behind < self.kept.count", "behind <= self.kept.count"),
              Fault(_WINDOW, "m.d.sync += self.last.eq(r.number)", "m.d.sync += self.last.eq(r.number - 1)"),
              Fault(_WINDOW, "Mux(acknowledged <= kept.count, acknowledged, 0)", "acknowledged"),
              Fault(_WINDOW, "(kept.count == self.outstanding) | ", ""),
              Fault(_WINDOW, "self.kept.restart.eq(1)", "self.kept.restart.eq(0)"),
              Fault(_KEPT, "self.room.eq(used <= self.words - self.frame)", "self.room.eq(used <= self.words)"),
              Fault(_KEPT, "oldest.eq(oldest + self.released)", "oldest.eq(oldest + 1)"))
    # Two of the largest responses do not fit, as in boards with many outstanding.
    yield Entry("requests", requests_proof(64, 40, 2, False), True, faults)
    yield Entry("requests", requests_proof(64, 40, 2, True), True, (
        Fault(_KEPT, "self.count.eq(self.count + 1), end", "self.count.eq(self.count), end"),))
    for datagrams in (False, True):
        for words, frame, outstanding in ((64, 24, 4), (128, 32, 8)):
            yield Entry("requests", requests_proof(words, frame, outstanding, datagrams), False)


def _single_requests() -> Iterator[Entry]:
    answers = (Fault(_BRIDGE, "m.If(receiver.held & ~r.answered)", "m.If(receiver.held)"),
               Fault(_BRIDGE, "m.If(again & (operation != Operation.HELLO))", "m.If(0)"))
    yield Entry("single requests", single_requests_proof(16, False), True, (
        *answers, Fault(_BRIDGE, "r.known & (number == (r.number + 1)[:8])", "r.known"),
        Fault(_BRIDGE, "[r.known.eq(0), r.status.eq(Status.NUMBER)]", "[r.status.eq(Status.NUMBER)]"),
        Fault(_BRIDGE, "again = r.known & (number == r.number) & (operation == r.operation)",
              "again = r.known & (number == r.number)")))
    yield Entry("single requests", single_requests_proof(16, True), True, (
        answers[0], Fault(_BRIDGE, "~(mine & (number == (r.number + 1)[:8]))", "~mine"),
        Fault(_BRIDGE, "m.If(r.known & late)", "m.If(0)"), Fault(_BRIDGE, "session == self.nonce[:8]", "1"),
        Fault(_BRIDGE, "(begun & (word == before))", "0"), Fault(_BRIDGE, "[before.eq(nonce), begun.eq(1)]", "before.eq(nonce)")))
    for words, datagrams in ((WORDS, False), (DATAGRAM_WORDS, True)):
        yield Entry("single requests", single_requests_proof(words, datagrams), False)


def _credits() -> Iterator[Entry]:
    faults = (Fault(_BRIDGE, "(back > self.held) | ", ""), Fault(_BRIDGE, "m.If(rewind | passed)", "m.If(rewind)"),
              Fault(_BRIDGE, "m.If(transmitter.idle)", "m.If(1)"))
    yield Entry("credits", credits_proof(32, 32, False), True, (
        *faults, Fault(_BRIDGE, "(self.next != self.limit) & ~self.hold", "~self.hold"),
        Fault(_FRAMES, " | (log & ~in_head & ~self.log_more)", "")))
    yield Entry("credits", credits_proof(32, 32, True), True, (
        Fault(_BRIDGE, "Mux(come < granted, come, granted)", "come"),
        Fault(_BRIDGE, "come.eq(self.log.reached[:low] - self.next[:low])", "come.eq(self.held)"),
        Fault(_DATAGRAMS, "(self.log_size != 0)", "1")))
    for line_bits, size, datagrams in ((32, 256, False), (128, 2048, False), (128, 1 << 12, True)):
        yield Entry("credits", credits_proof(line_bits, size, datagrams), False)
