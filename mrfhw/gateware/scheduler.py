"""The scheduler: black and white colours, groups of S sites, labels, write-backs (Section 3.3.3)."""

from __future__ import annotations

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.config import S2_LATENCY, SCHEDULER_LATENCY, Config, bits_for
from mrfhw.gateware.memories import Queue
from mrfhw.gateware.ops import KINDS, Direction, downlink
from mrfhw.gateware.singleton_address import SingletonAddress
from mrfhw.gateware.temperature import TemperatureSchedule
from mrfhw.registers import LABEL_TABLE_WORDS

__all__ = ["Scheduler", "problem_registers"]


def problem_registers(config: Config) -> data.StructLayout:
    """The registers that the scheduler reads, as in `mrfhw.registers`."""
    c = config
    return data.StructLayout({
        "labels": c.label_bits + 1, "tile_rows": bits_for(c.tile_rows + 1),
        "tile_groups": bits_for(c.tile_cols // (2 * c.spus) + 1),
        "label_stride": c.lmem_address_bits, "label_wrap": c.lmem_address_bits, "site_stride": c.site_address_bits,
        "raster_stride": bits_for(c.mesh_cols * c.tile_cols + 1), "overlap": 1, "sweeps": 32, "burn_in": 32,
        "temperature": c.temperature_bits, "temperature_mode": 2,
        "temperature_ratio": c.ratio_bits, "temperature_limit": c.temperature_bits,
        "temperature_stride": 32, "temperature_last": bits_for(c.temperature_table),
    })


def _row_layout(config: Config) -> data.StructLayout:
    """A local row and what is derived from it: LMem bases of it and the rows around it, S1Mem and raster base."""
    c = config
    return data.StructLayout({
        "row": bits_for(c.tile_rows), "up": c.lmem_address_bits, "here": c.lmem_address_bits,
        "down": c.lmem_address_bits, "site": c.site_address_bits, "raster": c.offset_bits,
    })


def _commit_layout(config: Config) -> data.StructLayout:
    """What a group's write-back needs of it, and when it is due."""
    c = config
    return data.StructLayout({
        "due": bits_for(c.commit_delay(c.max_labels) + c.temperature_delay(c.max_labels)), "row": min(2, bits_for(c.tile_rows)),
        "here": c.lmem_address_bits, "raster": c.offset_bits, "group": bits_for(c.tile_cols // (2 * c.spus) + 1), "white": 1,
        "counted": 1,
    })


def _group_layout(config: Config) -> data.StructLayout:
    """What a group needs after its neighbours have been fetched."""
    c = config
    return data.StructLayout({
        "row": _row_layout(c), "group": bits_for(c.tile_cols // (2 * c.spus) + 1), "white": 1, "counted": 1,
        "opens": 1, "drains": 1, "final": 1,
    })


class Scheduler(wiring.Component):
    """Emits the operations of all tiles, which work in lockstep; one scheduler serves the whole mesh.

    start, resume, stop: pulses. start begins at sweep 0, resume at the sweep reached; both run until
    `registers.sweeps` sweeps are done, stop ends the run after the sweep under way.
    registers: hold during a run. table and temperature writes: see SingletonAddress, TemperatureSchedule.
    down: the operations (all but `parameters`, of which only `temperature`, and `bus`).
    stall: from the tiles; no new group starts while it is set.
    log_done: the log has been emptied after the end marker.
    running, busy, sweep; counting pulses `cycle`, `label_cycle`, `gap_cycle`, `stall_cycle`.

    Time is divided into slots of one cycle. A group of S sites of a row takes `Config.interval(L)` slots:
    its L labels, one a slot, beside the fetch of the next group's neighbours and the write-back of an
    earlier group, which comes `Config.commit_delay(L)` slots after the group's first label and has
    the LMem port before the fetch. A colour starts one row below the last one; it starts at once
    where `registers.overlap` says that the rows it reads have been written, else when they have.
    """

    def __init__(self, config: Config):
        self.config = config
        table_bits = max(config.label_bits + bits_for(LABEL_TABLE_WORDS), bits_for(config.temperature_table))
        super().__init__({
            "start": In(1), "resume": In(1), "stop": In(1), "registers": In(problem_registers(config)),
            "label_table_write": In(1), "temperature_table_write": In(1),
            "table_address": In(table_bits), "table_data": In(32),
            "down": Out(downlink(config)), "stall": In(1), "log_done": In(1), "running": Out(1), "busy": Out(1),
            "sweep": Out(32), "cycle": Out(1), "label_cycle": Out(1), "gap_cycle": Out(1), "stall_cycle": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, r = self.config, self.registers
        # Latencies are linear in L; their constants come from Config.
        base, slope = c.commit_delay(0), c.commit_delay(1) - c.commit_delay(0)
        warm_base = c.temperature_delay(0) + SCHEDULER_LATENCY - 2
        warm_slope = c.temperature_delay(1) - c.temperature_delay(0)
        timer_bits = bits_for(c.commit_delay(c.max_labels) + c.temperature_delay(c.max_labels))
        interval_last = Signal(range(c.interval(c.max_labels)))
        commit_delay, warm_delay = Signal(timer_bits), Signal(timer_bits)
        least = c.interval(0)
        m.d.sync += [interval_last.eq(Mux(r.labels > least, r.labels - 1, least - 1)),
                     commit_delay.eq(base + slope * r.labels), warm_delay.eq(warm_base + warm_slope * r.labels)]

        issue, begin = Signal(), Signal()
        following = self._pointer(m, issue, begin)
        current = Signal(_group_layout(c))
        with m.If(issue):
            m.d.sync += current.eq(following)
        state = self._states(m, issue, begin, current, interval_last)
        commit = self._commits(m, state["opens"], current, commit_delay)
        m.d.comb += state["drained"].eq(~commit["pending"] & (state["cool"] == 0))
        with m.If(commit["active"]):
            m.d.sync += state["cool"].eq(c.drain_cycles)
        with m.Elif(state["cool"] != 0):
            m.d.sync += state["cool"].eq(state["cool"] - 1)
        self._memory_ops(m, state, following, commit)
        self._labels(m, state, current)
        self._temperature(m, state, current, warm_delay, begin)
        return m

    # -- helpers

    def _delay(self, m: Module, signal: Signal, cycles: int, name: str) -> Signal:
        """`signal` delayed by `cycles` registers."""
        for i in range(cycles):
            held = Signal.like(signal, name=f"{name}_{i + 1}")
            m.d.sync += held.eq(signal)
            signal = held
        return signal

    def _next_row(self, m: Module, row: data.View, name: str) -> data.View:
        """The row below `row`, cyclically in the tile."""
        c, r = self.config, self.registers
        new = Signal(_row_layout(c), name=name)
        last, next_last = row.row + 1 == r.tile_rows, Signal(name=f"{name}_last")
        index = Signal.like(row.row, name=f"{name}_index")
        m.d.comb += [
            index.eq(Mux(last, 0, row.row + 1)), new.row.eq(index), new.up.eq(row.here), new.here.eq(row.down),
            new.site.eq(Mux(last, 0, row.site + r.site_stride)), new.raster.eq(Mux(last, 0, row.raster + r.raster_stride)),
            next_last.eq(index + 1 == r.tile_rows),
        ]
        # With four banks a pair of rows shares a base.
        steps = 1 if c.lmem_banks == 1 else index[0]
        m.d.comb += new.down.eq(Mux(next_last, 0, Mux(steps, row.down + r.label_stride, row.down)))
        return new

    def _pointer(self, m: Module, issue: Signal, begin: Signal) -> data.View:
        """The group whose neighbours are fetched next; steps with each issue."""
        c, r = self.config, self.registers
        row, ahead = Signal(_row_layout(c)), Signal(_row_layout(c))
        group, white, rows_done, sweep = Signal(bits_for(c.tile_cols // (2 * c.spus) + 1)), Signal(), Signal(
            bits_for(c.tile_rows)), Signal(32)
        stopping = Signal()
        last_row, last_group = rows_done + 1 == r.tile_rows, group + 1 == r.tile_groups
        following = Signal(_group_layout(c))
        closes = last_row & last_group
        final = closes & white & (stopping | (sweep + 1 >= r.sweeps))
        m.d.comb += [
            following.row.eq(row), following.group.eq(group), following.white.eq(white),
            following.counted.eq(sweep >= r.burn_in), following.opens.eq(~white & (rows_done == 0) & (group == 0)),
            following.drains.eq(closes & (final | ~r.overlap)), following.final.eq(final), self.sweep.eq(sweep),
        ]
        # `ahead` is the row after the next change of row: one below, or two where the colour changes.
        prepare = Signal(2)
        below = self._next_row(m, data.View(_row_layout(c), Mux(prepare == 2, row.as_value(), ahead.as_value())), "below")
        with m.Switch(prepare):
            with m.Case(2):
                m.d.sync += [ahead.eq(below), prepare.eq(Mux(last_row, 1, 0))]
            with m.Case(1):
                m.d.sync += [ahead.eq(below), prepare.eq(0)]
        with m.If(self.stop):
            m.d.sync += stopping.eq(1)
        with m.If(begin):
            m.d.sync += [row.eq(0), row.up.eq(r.label_wrap), group.eq(0), white.eq(0), rows_done.eq(0), sweep.eq(0),
                         prepare.eq(2)]
            m.d.sync += row.down.eq(r.label_stride if c.lmem_banks == 1 else 0)
        with m.If(self.start | self.resume):
            m.d.sync += stopping.eq(0)
        with m.If(issue):
            m.d.sync += group.eq(Mux(last_group, 0, group + 1))
            with m.If(last_group):
                m.d.sync += [row.eq(ahead), rows_done.eq(Mux(last_row, 0, rows_done + 1)), prepare.eq(2)]
                with m.If(last_row):
                    m.d.sync += white.eq(~white)
                    with m.If(white):
                        m.d.sync += sweep.eq(sweep + 1)
        return following

    def _states(self, m: Module, issue: Signal, begin: Signal, current: data.View, interval_last: Signal) -> dict[str, Signal]:
        c = self.config
        step = Signal.like(interval_last)
        drained, cool = Signal(), Signal(range(c.drain_cycles + 1))
        fetching, labels, opens, flush = Signal(), Signal(), Signal(), Signal()
        ends = step == interval_last
        def proceed() -> None:
            """Start the next group, or wait for the log."""
            m.d.comb += issue.eq(~self.stall)
            m.next = "STALL"
            with m.If(~self.stall):
                m.next = "LABELS"

        with m.FSM(init="IDLE") as fsm:
            with m.State("IDLE"), m.If(self.start | self.resume):
                m.d.comb += begin.eq(self.start)
                m.d.sync += step.eq(0)
                m.next = "FETCH"
            with m.State("FETCH"):
                m.d.comb += [self.gap_cycle.eq(1), self.cycle.eq(1), fetching.eq(1)]
                m.d.sync += step.eq(step + 1)
                with m.If(ends):
                    m.d.sync += step.eq(0)
                    proceed()
            with m.State("LABELS"):
                m.d.comb += [self.cycle.eq(1), labels.eq(1), opens.eq(step == 0), fetching.eq(~current.drains)]
                m.d.sync += step.eq(step + 1)
                with m.If(ends):
                    m.d.sync += step.eq(0)
                    with m.If(current.drains):
                        m.next = "DRAIN"
                    with m.Else():
                        proceed()
            with m.State("STALL"):
                m.d.comb += [self.cycle.eq(1), self.stall_cycle.eq(1)]
                proceed()
            with m.State("DRAIN"):
                m.d.comb += [self.cycle.eq(1), self.gap_cycle.eq(1)]
                with m.If(drained):
                    m.next = "FETCH"
                    with m.If(current.final):
                        m.d.comb += flush.eq(1)
                        m.next = "LOG"
            with m.State("LOG"), m.If(self.log_done):
                m.next = "IDLE"
        m.d.comb += [self.running.eq(self.cycle), self.busy.eq(~fsm.ongoing("IDLE"))]
        return {"step": step, "drained": drained, "cool": cool, "fetching": fetching, "labels": labels, "opens": opens,
                "flush": flush, "ends": ends}

    def _commits(self, m: Module, opens: Signal, current: data.View, delay: Signal) -> dict[str, Signal]:
        """The groups in flight, and the slots in which they are written back, a lane each."""
        c = self.config
        layout = _commit_layout(c)
        # No group is due two cycles after its first label.
        m.submodules.in_flight = queue = Queue(layout.size, c.commit_queue_depth, latency=2)
        now, lane = Signal.like(delay), Signal(bits_for(c.spus))
        head, entry = data.View(layout, queue.r_data), Signal(layout)
        active, busy = Signal(), Signal()
        m.d.sync += now.eq(now + 1)
        m.d.comb += [
            entry.due.eq(now + delay), entry.row.eq(current.row.row), entry.here.eq(current.row.here),
            entry.raster.eq(current.row.raster), entry.group.eq(current.group), entry.white.eq(current.white),
            entry.counted.eq(current.counted), queue.w_data.eq(entry.as_value()), queue.w_en.eq(opens),
            active.eq(queue.r_rdy & (busy | (head.due == now))), queue.r_en.eq(active & (lane == c.spus - 1)),
        ]
        with m.If(active):
            m.d.sync += [lane.eq(Mux(lane == c.spus - 1, 0, lane + 1)), busy.eq(lane != c.spus - 1)]
        return {"active": active, "lane": lane, "group": head, "pending": queue.level != 0}

    def _operation(self, m: Module, state: dict[str, Signal], following: data.View, commit: dict[str, Signal]) -> data.View:
        """What the LMem port does in a slot, and for which site, one cycle later; the write-back goes first."""
        c = self.config
        one, lane_bits = c.lmem_banks == 1, (c.spus - 1).bit_length()
        fetched, fetch = Signal(range(c.fetch_slots + 1)), Signal()
        m.d.comb += fetch.eq(state["fetching"] & ~commit["active"] & (fetched != c.fetch_slots - c.spus))
        with m.If(state["ends"] | ~state["fetching"]):
            m.d.sync += fetched.eq(0)
        with m.Elif(fetch):
            m.d.sync += fetched.eq(fetched + 1)
        # One bank: a kind of neighbour after the other, lane by lane. Four: all kinds of a lane.
        kind = fetched[:2] if one else Signal(2, name="kind")
        lane = (fetched >> 2 if one else fetched)[:bits_for(c.spus)]
        group = Signal(_group_layout(c), name="op_group")
        written = commit["group"]
        m.d.comb += group.eq(following)
        with m.If(commit["active"]):
            m.d.comb += [group.row.row[:len(written.row)].eq(written.row), group.row.here.eq(written.here),
                         group.row.raster.eq(written.raster), group.group.eq(written.group), group.white.eq(written.white),
                         group.counted.eq(written.counted)]
        op = Signal(data.StructLayout({"fetch": 1, "commit": 1, "flush": 1, "kind": 2, "lane": bits_for(c.spus),
                                       "pair": bits_for(c.tile_cols // 2), "last_pair": 1, "group": _group_layout(c)}))
        op_lane = Mux(commit["active"], commit["lane"], lane) if lane_bits else 0
        pair = Signal.like(op.pair)
        m.d.comb += pair.eq((group.group << lane_bits) + op_lane)
        m.d.sync += [
            op.fetch.eq(fetch), op.commit.eq(commit["active"]), op.flush.eq(state["flush"]), op.kind.eq(kind),
            op.lane.eq(op_lane), op.group.eq(group), op.pair.eq(pair),
            op.last_pair.eq(pair + 1 == (self.registers.tile_groups << lane_bits)),
        ]
        return op

    def _neighbour_indices(self, m: Module, op: data.View, odd: Value) -> tuple[list[Signal], Value]:
        """LMem index within the colour of each kind of neighbour, and which kinds lie in the next tile."""
        c = self.config
        row, pairs = op.group.row, self.registers.tile_groups << (c.spus - 1).bit_length()
        first_pair, half = op.pair == 0, c.lmem_banks == 4
        left = Mux(odd, op.pair, Mux(first_pair, pairs - 1, op.pair - 1))
        right = Mux(odd, Mux(op.last_pair, 0, op.pair + 1), op.pair)
        indices = [Signal(c.lmem_address_bits - 1, name=f"index_{k}") for k in KINDS]
        places = ((row.up, op.pair), (row.down, op.pair), (row.here, left), (row.here, right))
        for index, (base, at) in zip(indices, places, strict=True):
            m.d.comb += index.eq(base + (at >> half))
        cross = Cat(row.row == 0, row.row + 1 == self.registers.tile_rows, ~odd & first_pair, odd & op.last_pair)
        return indices, cross

    def _memory_ops(self, m: Module, state: dict[str, Signal], following: data.View, commit: dict[str, Signal]) -> None:
        """Three stages from a slot's fetch or write-back to the addresses of the LMem banks."""
        c, down = self.config, self.down
        one = c.lmem_banks == 1
        op = self._operation(m, state, following, commit)
        row, white = op.group.row, op.group.white
        odd = row.row[0] ^ white
        kinds, cross = self._neighbour_indices(m, op, odd)

        # The bank function of Figure 3.7, of the site and of its upper and left neighbours.
        parity = op.pair[0] ^ (row.row >> 1)[0]
        own_bank, up_bank, left_bank = (Cat(parity, row.row[0]), Cat(parity ^ ~row.row[0], ~row.row[0]),
                                        Cat(parity ^ ~odd, row.row[0]))
        own = Signal(c.lmem_address_bits - 1)
        m.d.comb += own.eq(row.here + (op.pair >> (not one)))
        commit_address = Cat(own, white)
        for bank in range(c.lmem_banks):
            if one:
                fetched = Array(kinds)[op.kind]
            else:
                fetched = Mux(up_bank == bank, kinds[0], Mux(up_bank == bank ^ 1, kinds[1],
                                                             Mux(left_bank == bank, kinds[2], kinds[3])))
            address = Signal(c.lmem_address_bits, name=f"address_{bank}")
            m.d.sync += address.eq(Mux(op.commit, commit_address, Cat(fetched, ~white)))
            m.d.comb += down.lmem_address[bank].eq(self._delay(m, address, 1, f"lmem_address_{bank}"))
        source = Array([Mux(cross[i], d, Direction.LOCAL) for i, d in enumerate(
            (Direction.UP, Direction.DOWN, Direction.LEFT, Direction.RIGHT))])[op.kind]

        # Stage 2, and on to the cycle at which the tile needs each field.
        fields: dict[str, tuple[Value | int, int]] = {
            "commit": (op.commit, 1), "commit_lane": (op.lane, 1), "commit_bank": (0 if one else own_bank, 1),
            "commit_address": (commit_address, 1), "commit_offset": (row.raster + Cat(odd, op.pair), 1),
            "commit_counted": (op.group.counted, 1), "flush": (op.flush, 1),
            "fetch": (op.fetch, 2), "fetch_from": (source, 2), "fetch_up_bank": (up_bank, 2),
            "fetch_left_bank": (left_bank, 2), "fetch_cross": (cross, 2),
            "s1_address": (Cat((row.site + op.pair)[:c.site_address_bits - 1], white), 2),
            "s1_fetch": (op.fetch & (op.kind == 0), 2),
        }
        for name, (value, cycle) in fields.items():
            port = getattr(down, name)
            stage_2 = Signal(len(port), name=f"{name}_0")
            m.d.sync += stage_2.eq(value)
            m.d.comb += port.eq(self._delay(m, stage_2, 1 + cycle, name))

    def _labels(self, m: Module, state: dict[str, Signal], current: data.View) -> None:
        """A label slot's singleton-2 addresses, and the label itself when its singleton-2 word is there."""
        c, down = self.config, self.down
        m.submodules.singleton_address = unit = SingletonAddress(c)
        valid, first, last, odd = Signal(), Signal(), Signal(), Signal()
        step = state["step"]
        m.d.comb += [
            valid.eq(state["labels"] & (step < self.registers.labels)), first.eq(valid & (step == 0)),
            last.eq(valid & (step + 1 == self.registers.labels)), odd.eq(current.row.row[0] ^ current.white),
            self.label_cycle.eq(valid), unit.label.eq(step), unit.row.eq(current.row.row), unit.group.eq(current.group),
            unit.odd.eq(odd), unit.groups.eq(self.registers.tile_groups),
            # S2Mem holds twice as many words a row and bank as S1Mem has sites of a colour and lane.
            unit.base.eq(((current.row.site << 1) >> (c.spus - 1).bit_length()) + (current.group << 1)),
            unit.table_write.eq(self.label_table_write), unit.table_address.eq(self.table_address),
            unit.table_data.eq(self.table_data),
            down.s2_first.eq(unit.first), down.s2_second.eq(unit.second), down.s2_rotate.eq(unit.rotate),
        ]
        for name, signal, cycles in (("s2_left", unit.left, 2), ("s2_right", unit.right, 2), ("s2_up", unit.up, 3),
                                     ("s2_down", unit.down, 3)):
            m.d.comb += getattr(down, name).eq(self._delay(m, signal, cycles, name))
        wait = SCHEDULER_LATENCY + S2_LATENCY
        label, ahead = Signal(c.label_bits), self._delay(m, Cat(valid, first, last), wait - 1, "flags")
        # Labels come in order: counted anew, not carried along. The label's own data are read in the cycle before they are needed.
        m.d.sync += [Cat(down.valid, down.first, down.last).eq(ahead), down.label.eq(label)]
        m.d.comb += [down.swap.eq(ahead[1]), label.eq(Mux(ahead[1], 0, down.label + 1)), unit.data_label.eq(label),
                     down.vector.eq(unit.vector), down.constant.eq(unit.constant)]

    def _temperature(self, m: Module, state: dict[str, Signal], current: data.View, delay: Signal, begin: Signal) -> None:
        """The coefficient changes when the first label of a sweep needs it, and steps then."""
        r = self.registers
        m.submodules.temperature = schedule = TemperatureSchedule(self.config)
        timer, armed, value = Signal.like(delay), Signal(), Signal.like(schedule.value)
        reached = armed & (timer == 0)
        m.d.comb += [
            schedule.load.eq(begin), schedule.step.eq(reached), schedule.mode.eq(r.temperature_mode),
            schedule.start.eq(r.temperature), schedule.ratio.eq(r.temperature_ratio),
            schedule.limit.eq(r.temperature_limit), schedule.stride.eq(r.temperature_stride),
            schedule.last.eq(r.temperature_last), schedule.table_write.eq(self.temperature_table_write),
            schedule.table_address.eq(self.table_address), schedule.table_data.eq(self.table_data),
            self.down.parameters.temperature.eq(value),
        ]
        with m.If(state["opens"] & current.opens):
            m.d.sync += [timer.eq(delay), armed.eq(1)]
        with m.Elif(reached):
            m.d.sync += [armed.eq(0), value.eq(schedule.value)]
        with m.Else():
            m.d.sync += timer.eq(timer - 1)
