"""The two samplers behind one interface: a stream of energies in, a label out."""

from __future__ import annotations

from amaranth import Cat, Const, Module, Mux, Shape, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory, ReadPort, WritePort
from amaranth.lib.wiring import In, Out

from mrfhw.config import Config
from mrfhw.gateware.memories import UnguardedMemory

__all__ = ["CdfSampler", "RaceSampler", "SamplerSignature", "sampler"]


class SamplerSignature(wiring.Signature):
    """Interface of a sampler.

    valid, first, last, label, energy: one label of a site a cycle; a site's labels follow one another
    without a pause, labels 0 to L-1 in order. Sites of the same L may follow without a pause too.
    soon: `valid`, `lead` cycles ahead.
    temperature: the coefficient of `mrfhw.temperature`, at the cycle that each sampler states.
    advance: step the lane's generator; uniform: its value, two cycles later.
    result: the label drawn, held until the next one.
    """

    def __init__(self, config: Config, uniform_bits: int):
        super().__init__({
            "valid": In(1), "first": In(1), "last": In(1), "label": In(config.label_bits),
            "energy": In(config.energy_bits), "temperature": In(config.temperature_bits),
            "soon": In(1), "advance": Out(1), "uniform": In(uniform_bits), "result": Out(config.label_bits),
        })


class RaceSampler(wiring.Component):
    """Gumbel-max: the label with the least E(l) - T G(u), the lowest on ties, u fresh for each label.

    `soon`, five cycles ahead, steps the generator, whose value, looked up and multiplied,
    then meets the label's energy. temperature: T of a label two cycles before its energy.
    result: `RACE_TAIL` = 3 cycles after the last label. One label a cycle; no state between sites.

    ::

        soon -> generator -> G table -> x T -> (2 registers) -> E - T G -> least so far -> result
    """

    lead = 5

    def __init__(self, config: Config):
        self.config = config
        self.uniform_bits = config.gumbel_uniform_bits
        super().__init__(SamplerSignature(config, self.uniform_bits))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        m.d.comb += self.advance.eq(self.soon)
        mask = (1 << c.gumbel_bits) - 1
        m.submodules.table = table = Memory(shape=c.gumbel_bits, depth=len(c.gumbel_table),
                                            init=[int(g) & mask for g in c.gumbel_table])
        read = table.read_port()
        m.d.comb += read.addr.eq(self.uniform)
        product, product_2 = (Signal(signed(c.gumbel_bits + c.temperature_bits), reset_less=True) for _ in range(2))
        m.d.sync += [product.eq(read.data.as_signed() * self.temperature), product_2.eq(product)]
        noise = product_2 >> c.temperature_fraction_bits
        energy = Cat(Const(0, c.gumbel_fraction_bits), self.energy)
        difference = energy - noise
        score = Signal(Shape.cast(difference.shape()), reset_less=True)
        label, flags = Signal(c.label_bits, reset_less=True), Signal(3)
        m.d.sync += [score.eq(difference), label.eq(self.label), flags.eq(Cat(self.valid, self.first, self.last))]
        best, winner, done = Signal.like(score), Signal.like(label), Signal()
        with m.If(flags[1] | (score < best)):
            m.d.sync += [best.eq(score), winner.eq(label)]
        m.d.sync += done.eq(flags[0] & flags[2])
        with m.If(done):
            m.d.sync += self.result.eq(winner)
        return m


class CdfSampler(wiring.Component):
    """Inverse transform over scaled energies (Equations 3.2-3.4), three sites in flight.

    Pass 1 stores E and finds its minimum; pass 2 computes P((E - E_min) log2(e)/T), floored to an
    integer or to a power of two, and stores its running sum; pass 3 counts the sums that do not exceed
    floor(u total / 2^k). Each pass takes L cycles and starts when the one before has ended.
    temperature: log2(e)/T, from three cycles after a site's last energy on for L cycles.
    result: 2 L + `CDF_TAIL` = 11 cycles after the last label. One label a cycle.
    The generator steps once a site. `soon` is not used.
    """

    lead = 5

    def __init__(self, config: Config):
        self.config = config
        self.uniform_bits = config.uniform_bits
        super().__init__(SamplerSignature(config, self.uniform_bits))

    def _delayed(self, m: Module, signal: Signal, cycles: int) -> list[Signal]:
        """`signal` delayed by 0, 1, ..., cycles."""
        taps = [signal]
        for _ in range(cycles):
            tap = Signal.like(taps[-1], init=0)
            m.d.sync += tap.eq(taps[-1])
            taps.append(tap)
        return taps

    def _probability(self, m: Module, scaled: Signal) -> Signal:
        """P of E - E_min, four cycles later (Equations 3.3, 3.4)."""
        c = self.config
        low = c.temperature_fraction_bits - c.exponent_fraction_bits
        product, product_2 = (Signal(c.energy_bits + c.temperature_bits, reset_less=True) for _ in range(2))
        m.d.sync += [product.eq(scaled * self.temperature), product_2.eq(product)]
        exponent = product_2[low:]
        fraction, octaves = exponent[:c.exponent_fraction_bits], exponent[c.exponent_fraction_bits:]
        shift_bits = (c.probability_bits).bit_length()
        mantissa, shift, p = (Signal(n, reset_less=True) for n in (c.probability_bits, shift_bits, c.probability_bits))
        with m.Switch(fraction):
            for i, value in enumerate(c.exponent_table):
                with m.Case(i):
                    m.d.sync += mantissa.eq(int(value))
        m.d.sync += shift.eq(Mux(octaves > c.probability_bits, c.probability_bits, octaves))
        m.d.sync += p.eq(mantissa >> shift)
        return p

    def _minimum(self, m: Module, write: WritePort) -> tuple[Signal, Signal]:
        """Pass 1: store E and find its minimum. Returns the bank in use and the minimum, which pass 2 needs
        from two cycles after the last energy on for L cycles."""
        bank, lowest = Signal(), Signal.like(self.energy, reset_less=True)
        m.d.comb += [write.addr.eq(Cat(self.label, bank)), write.data.eq(self.energy), write.en.eq(self.valid)]
        with m.If(self.valid):
            m.d.sync += lowest.eq(Mux(self.first | (self.energy < lowest), self.energy, lowest))
            with m.If(self.last):
                m.d.sync += bank.eq(~bank)
        ended, minimum = Signal(), Signal.like(lowest)
        m.d.sync += ended.eq(self.valid & self.last)
        with m.If(ended):
            m.d.sync += minimum.eq(lowest)
        return bank, minimum

    def _accumulate(self, m: Module, bank: Signal, minimum: Signal, read: ReadPort, write: WritePort) -> Signal:
        """Pass 2: from one cycle after the last energy, read E, store the running sum of P. Returns the sum.

        The sum of a label stands seven cycles after its read; tags travel along with it.
        """
        run, index, bank_2, count = Signal(), Signal.like(self.label), Signal(), Signal.like(self.label)
        final, head = Signal(), Signal()
        m.d.comb += [final.eq(run & (index == count)), head.eq(run & (index == 0)), read.addr.eq(Cat(index, bank_2))]
        with m.If(self.valid & self.last):
            m.d.sync += [run.eq(1), index.eq(0), bank_2.eq(bank), count.eq(self.label)]
        with m.Elif(run):
            m.d.sync += index.eq(index + 1)
            with m.If(final):
                m.d.sync += run.eq(0)
        scaled = Signal.like(self.energy, reset_less=True)
        m.d.sync += scaled.eq(read.data - minimum)
        probability = self._probability(m, scaled)
        tags = self._delayed(m, Cat(run, head, final, index, bank_2), 7)
        total = Signal(self.config.total_bits, reset_less=True)
        with m.If(tags[6][0]):
            m.d.sync += total.eq(Mux(tags[6][1], probability, probability + total))
        m.d.comb += [write.addr.eq(tags[7][3:]), write.data.eq(total), write.en.eq(tags[7][0]), self.advance.eq(tags[5][2])]
        self._ended, self._place = tags[7][2], tags[7][3:]
        return total

    def _threshold(self, m: Module, total: Signal) -> Signal:
        """floor(u total / 2^k), three cycles after the total."""
        c = self.config
        product, product_2 = (Signal(c.total_bits + c.uniform_bits, reset_less=True) for _ in range(2))
        threshold = Signal(c.total_bits, reset_less=True)
        m.d.sync += [product.eq(total * self.uniform), product_2.eq(product)]
        with m.If(self._delayed(m, self._ended, 2)[2]):
            m.d.sync += threshold.eq(product_2 >> c.uniform_bits)
        return threshold

    def _count(self, m: Module, threshold: Signal, read: ReadPort) -> None:
        """Pass 3: read the sums as the threshold is stored, compare one cycle later."""
        labels = self.config.label_bits
        start = self._delayed(m, Cat(self._ended, self._place), 2)[2]
        held = Signal(1 + labels + labels + 1)
        run, index, count, bank = (Signal(n, name=f"{name}_3") for name, n in (("run", 1), ("index", labels), ("count", labels),
                                                                             ("bank", 1)))
        fresh = Cat(start[0], Const(0, labels), start[1:])
        m.d.comb += [Cat(run, index, count, bank).eq(Mux(start[0], fresh, held)), read.addr.eq(Cat(index, bank))]
        following = (index + 1)[:labels]
        m.d.sync += held.eq(Cat(run & (index != count), following, count, bank))
        compare, first, last = Signal(), Signal(), Signal()
        m.d.sync += [compare.eq(run), first.eq(index == 0), last.eq(index == count)]
        drawn, done = Signal.like(self.result, reset_less=True), Signal()
        with m.If(compare):
            m.d.sync += drawn.eq(Mux(first, 0, drawn) + (read.data <= threshold))
        m.d.sync += done.eq(compare & last)
        with m.If(done):
            m.d.sync += self.result.eq(drawn)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        other_half = "a pass reads the half that the pass before it has ended to write"
        m.submodules.energies = energies = UnguardedMemory(shape=c.energy_bits, depth=2 * c.max_labels, unused=other_half)
        m.submodules.sums = sums = UnguardedMemory(shape=c.total_bits, depth=2 * c.max_labels, unused=other_half)
        bank, minimum = self._minimum(m, energies.write_port())
        total = self._accumulate(m, bank, minimum, energies.read_port(), sums.write_port())
        self._count(m, self._threshold(m, total), sums.read_port())
        return m


def sampler(config: Config) -> RaceSampler | CdfSampler:
    """The sampler that `config` names."""
    return RaceSampler(config) if config.sampler == "race" else CdfSampler(config)
