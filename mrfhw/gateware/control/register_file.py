"""Registers, counters and the bus of the machine (mrfhw.machine.registers)."""

from __future__ import annotations

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.ops import bus_layout, parameters
from mrfhw.gateware.control.run import RunStatus, TableWrites, problem_registers
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.address_space import GLOBAL_WORDS
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.numbers import COUNTER_BITS
from mrfhw.machine.registers import (
    CONTROL_BITS,
    IDENTITY,
    INTERFACE_VERSION,
    LABEL_TABLE,
    REGISTERS,
    STATUS_BITS,
    TEMPERATURE_TABLE,
    TILE_BASE_TABLE,
    mode_fields,
)

__all__ = ["PLACEHOLDER", "RegisterFile", "Wishbone"]

# 128 bits that appear nowhere else in a circuit. The digest of the circuit's Verilog with this constant replaces it afterwards.
PLACEHOLDER = b"mrfhw-circuit-id".hex()


class Wishbone(wiring.Signature):
    """Wishbone B4 pipelined, 32 bits, word addresses, no byte selects.

    A request is taken in each cycle with cyc, stb and without stall. Each is answered once, by ack or err, in their order.
    """

    def __init__(self, address_bits: int):
        super().__init__({"cyc": Out(1), "stb": Out(1), "we": Out(1), "adr": Out(address_bits), "dat_w": Out(32),
                          "stall": In(1), "dat_r": In(32), "ack": In(1), "err": In(1)})


class RegisterFile(wiring.Component):
    """Decodes the bus into registers, tables and tile accesses.

    bus: a request a cycle. A write or register read is acknowledged `Latency.bus_write` cycles after its request and carried out in
    between; a tile read `Latency.bus_read` cycles after it, and what comes behind reads from tiles waits until they are answered.
    What comes behind a write of `control` waits two cycles, so that it sees the run. Tile accesses while `status.running`, and
    addresses below the tiles that are no register (or no table, when written), end with err. Tile addresses without a memory are
    acknowledged; reads of them give 0.
    problem, parameters: registers. start, resume, stop: pulses in the cycle after their write is carried out, the first two only
    while not busy.
    tables, tile_base_write: writes to the scheduler's tables and to the tile bases; the latter use address and data of `tables`.
    tile_bus, tile_data: to and from the control tree. Counters count the pulses of `status` and `line`, and `messages`, and
    are cleared by start; the 64-bit ones count to 2^`COUNTER_BITS`, their higher bits read 0.
    digest: of the circuit, hexadecimal; the digest registers read its first 128 bits, or `PLACEHOLDER` if none is given.
    """

    def __init__(self, config: Config, digest: str = PLACEHOLDER):
        config = Derived.of(config)
        self.config = config
        config.latency.exactly("bus_request", 1, "the register file's request")
        self._beyond = config.latency.beyond("bus_answer", 1, "the register file's answer")
        self.digest = [int(digest[8 * i:8 * i + 8], 16) for i in range(4)]
        self.map = AddressMap(config)
        super().__init__({
            "bus": In(Wishbone(self.map.address_bits)), "problem": Out(problem_registers(config)),
            "parameters": Out(parameters(config)), "start": Out(1), "resume": Out(1), "stop": Out(1),
            "tables": Out(TableWrites()), "tile_base_write": Out(1),
            "tile_bus": Out(bus_layout(config)), "tile_data": In(32),
            "status": In(RunStatus(config.contexts)), "messages": In(range(config.packers + 1)), "line": In(1),
        })

    def _registers(self, m: Module, write: Signal, address: Signal, data: Signal) -> dict[str, Signal]:
        """The value of every register that can be read, by name."""
        values: dict[str, Signal] = {}
        for layout, port, named in ((problem_registers(self.config), self.problem, {}),
                                    (parameters(self.config), self.parameters, {"energy_shift": "shift"})):
            for name in REGISTERS:
                field = named.get(name, name)
                if field not in layout.members or REGISTERS[name].access != "rw" or name in values:
                    continue
                value = Signal(layout.members[field], name=name)
                with m.If(write & (address == REGISTERS[name].index)):
                    m.d.sync += value.eq(data)
                m.d.comb += port[field].eq(value)
                values[name] = value
        mode = values["mode"] = Signal(REGISTERS["mode"].bits(self.config))
        with m.If(write & (address == REGISTERS["mode"].index)):
            m.d.sync += mode.eq(data)
        for name, bits in mode_fields(self.config).items():
            port = self.parameters if name in parameters(self.config).members else self.problem
            m.d.comb += port[name].eq(mode[bits.low:bits.end])
        return values

    def _counters(self, m: Module, values: dict[str, Signal]) -> None:
        status = self.status
        cycle = status.running & ~status.waiting if self.config.contexts > 1 else status.running
        for name, pulse in (("cycles", cycle), ("label_cycles", status.label_cycle), ("gap_cycles", status.gap_cycle),
                            ("stall_cycles", status.stall_cycle), ("messages", self.messages), ("lines", self.line)):
            bits = 32 if name == "lines" else COUNTER_BITS
            counter = Signal(bits, name=name)
            with m.If(self.start):
                m.d.sync += counter.eq(0)
            with m.Elif(pulse.any()):
                m.d.sync += counter.eq(counter + (1 if len(pulse) == 1 else pulse))
            if bits == 32:
                values[name] = counter
            else:
                values[f"{name}_low"], values[f"{name}_high"] = counter[:32], counter[32:]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, amap, bus = self.config, self.map, self.bus
        # A request is registered and carried out in the cycle after.
        request = Signal()
        pending = Signal()
        idle = Signal()
        at_tile = Signal()
        write = Signal()
        address = Signal.like(bus.adr)
        data = Signal(32)
        reads = Signal(range(c.latency.bus_read(c.tree_levels) + 1))  # from tiles, that are not answered
        tile, index = address[amap.tiles_bit], address[:amap.tiles_bit]
        register_write = Signal()
        starts = Signal()
        of_tile = bus.adr[amap.tiles_bit] & ~bus.we
        m.d.comb += [
            register_write.eq(pending & write & ~tile), starts.eq(register_write & (index == REGISTERS["control"].index)),
            # No run starts between a request to a tile and its carrying out.
            bus.stall.eq((reads.any() & ~of_tile) | starts | self.start | self.resume),
            request.eq(bus.cyc & bus.stb & ~bus.stall),
        ]
        m.d.sync += [pending.eq(request), idle.eq(~self.status.running),
                     at_tile.eq(request & bus.adr[amap.tiles_bit] & ~self.status.running)]
        m.d.sync += [write.eq(bus.we), address.eq(bus.adr), data.eq(bus.dat_w)]

        values = self._registers(m, register_write, index, data)
        for name, bit in CONTROL_BITS.items():
            allowed = name == "stop" or ~self.status.busy
            m.d.sync += getattr(self, name).eq(register_write & (index == REGISTERS["control"].index) & data[bit] & allowed)
        self._counters(m, values)
        status = self.status.running | self.status.busy << STATUS_BITS["busy"]
        values |= {"identity": IDENTITY, "version": INTERFACE_VERSION, "status": status,  # type: ignore[dict-item]
                   "sweep": self.status.sweep, **{f"digest_{i}": word for i, word in enumerate(self.digest)}}  # type: ignore[dict-item]

        known = Signal()
        m.d.comb += known.eq(index < len(REGISTERS))
        value = self._selected(m, [values.get(name, 0) for name in REGISTERS], index)
        self._tables(m, register_write, index, data)
        table = (index >= TEMPERATURE_TABLE) & (index < GLOBAL_WORDS)
        m.d.comb += [
            self.tile_bus.write.eq(write), self.tile_bus.data.eq(data), self.tile_bus.offset.eq(index),
            self.tile_bus.region.eq(index >> amap.offset_bits), self.tile_bus.broadcast.eq(index[amap.broadcast_bit]),
            self.tile_bus.path.eq(index[amap.offset_bits + amap.region_bits:amap.broadcast_bit]),
            self.tile_bus.strobe.eq(at_tile),
        ]
        done = Signal()
        failed = Signal()
        from_tile = delayed(m, at_tile & ~write, c.latency.tile_access(c.tree_levels), "from_tile")
        at_once = Mux(tile, write & idle, known | (table & write))
        m.d.comb += [done.eq(from_tile | (pending & at_once)), failed.eq(pending & ~at_once & ~at_tile)]
        m.d.sync += reads.eq(reads + (request & of_tile & ~self.status.running) - from_tile)
        stages = self._beyond  # the first one, if there is any, stands in the middle of the selection
        chosen = delayed(m, from_tile, min(1, stages), "chosen")
        tile_word = delayed(m, self.tile_data, min(1, stages), "tile_word", reset_less=True)
        word = delayed(m, Mux(chosen, tile_word, value), max(0, stages - 1), "word", reset_less=True)
        ended = delayed(m, Cat(done, failed), stages, "ended")
        m.d.sync += [Cat(bus.ack, bus.err).eq(ended), bus.dat_r.eq(word)]
        return m

    def _selected(self, m: Module, words: list[Signal], index: Signal) -> Signal:
        """The word of that index: one of each eight, and one of these after a register, where the answer has a stage for it."""
        eights, found = [], Signal(32)
        domain = m.d.sync if self._beyond else m.d.comb
        for first in range(0, len(words), 8):
            eight = [Const(word, 32) if isinstance(word, int) and word else Value.cast(word) for word in words[first:first + 8]]
            held = Signal(max(map(len, eight)), name=f"words_from_{first}", reset_less=True)
            with m.Switch(index[:3]):
                for number, word in enumerate(eight):
                    with m.Case(number):
                        domain += held.eq(word)
            eights.append(held)
        eight = delayed(m, index[3:3 + bits_for(len(eights))], min(1, self._beyond), "eight", reset_less=True)
        m.d.comb += found.eq(Array(eights)[eight])
        return found

    def _tables(self, m: Module, write: Signal, index: Signal, data: Signal) -> None:
        m.d.comb += [
            self.tables.data.eq(data), self.tables.address.eq(index),
            self.tables.temperature.eq(write & (index >= TEMPERATURE_TABLE) & (index < LABEL_TABLE)),
            self.tables.label.eq(write & (index >= LABEL_TABLE) & (index < TILE_BASE_TABLE)),
            self.tile_base_write.eq(write & (index >= TILE_BASE_TABLE) & (index < GLOBAL_WORDS)),
        ]
        # The tables begin at multiples of their sizes, so their indices are low address bits.
        assert TEMPERATURE_TABLE % (1 << 10) == LABEL_TABLE % (1 << 11) == TILE_BASE_TABLE % (1 << 12) == 0
