"""The two samplers behind one interface: a stream of energies in, a label out."""

from __future__ import annotations

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, ReadPort, WritePort
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.latency import LatencyError
from mrfhw.machine.samplers import Cdf, Race

__all__ = ["CdfSampler", "RaceSampler", "SamplerSignature", "sampler"]


class SamplerSignature(wiring.Signature):
    """Interface of a sampler.

    valid, first, last, label, energies: a label of each lane a cycle, `label` lane 0's, which the others follow; a site's labels
    follow one another without a pause, 0 to L-1 in order. Sites of the same L may follow without a pause too.
    used: with several lanes, those that have a label, lane 0 among them.
    soon: the same as `valid`, `lead` cycles earlier.
    weight: with subsets, the logarithm of the weight of all labels of a cycle, when the temperature is theirs.
    temperature: the coefficient of `mrfhw.placement.temperature`, at the cycle that each sampler states.
    advance: step the unit's generators; uniforms: each lane's number, `Latency.random` cycles later.
    result: the label drawn, held until the next one.
    """

    def __init__(self, config: Config, uniform_bits: int):
        config = Derived.of(config)
        super().__init__({
            "valid": In(1), "first": In(1), "last": In(1), "label": In(config.label_bits),
            **({"used": In(config.lanes)} if config.lanes > 1 else {}),
            "energies": In(data.ArrayLayout(config.energy_bits, config.lanes)), "temperature": In(config.temperature_bits),
            **({"weight": In(config.subset_weight_bits)} if config.subset_slots else {}),
            "soon": In(1), "advance": Out(1), "uniforms": In(data.ArrayLayout(uniform_bits, config.lanes)),
            "result": Out(config.label_bits),
        })


class RaceSampler(wiring.Component):
    """Gumbel-max: the label with the least E(l) - T G(u), the lowest on ties, u fresh for each label.

    `soon` steps the generators `lead` cycles before the labels' energies arrive. Their values are looked up in tables of G, one for
    two lanes, and multiplied by T in that time. temperature: T of a label, `Latency.race_factors` and `Latency.race_product` cycles
    before its energy.
    result: `Latency.draw` cycles after the last labels. A label a lane and cycle; no state between sites.

    ::

        soon -> generators -> G tables -> x T -> E - T G -> least of the lanes -> least so far -> result
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        assert isinstance(config.sampler, Race)
        self.config, self.parameters = config, config.sampler
        self.uniform_bits = config.sampler.uniform_bits
        stages = config.latency
        stages.exactly("race_compare", 1, "the race sampler's comparison, which is a loop,")
        self._product = stages.beyond("race_product", 2, "the race sampler's product, for a DSP block,")
        self.lead = stages.race_lead
        if stages.energy < self.lead:
            raise LatencyError(f"energy is {stages.energy}; the race sampler draws its noise in {self.lead} cycles, in which a "
                               f"label's energy cannot be known: declare {self.lead} or more")
        super().__init__(SamplerSignature(config, self.uniform_bits))

    def _noise(self, m: Module) -> list[Value]:
        """T G(u) of each lane."""
        c, race, stages = self.config, self.parameters, self.config.latency
        mask, found = (1 << race.gumbel_bits) - 1, []
        for lane in range(c.lanes):
            name = f"_{lane}" if c.lanes > 1 else ""
            if lane % c.numbers_a_step == 0:
                table = Memory(shape=race.gumbel_bits, depth=len(race.gumbel_entries),
                               init=[int(g) & mask for g in race.gumbel_entries])
                m.submodules[f"table{name}"] = table
            read = table.read_port()
            m.d.comb += read.addr.eq(self._entry(m, self.uniforms[lane], name))
            product, product_2 = (Signal(signed(race.gumbel_bits + c.temperature_bits), name=f"{kind}{name}", reset_less=True)
                                  for kind in ("product", "noise_product"))
            gumbel = delayed(m, read.data, stages.gumbel_read - 1, f"gumbel{name}", reset_less=True)
            first, second = (delayed(m, factor, stages.race_factors, f"{kind}_factor{name}", reset_less=True, own=True)
                             for kind, factor in (("gumbel", gumbel), ("temperature", self.temperature)))
            m.d.sync += [product.eq(first.as_signed() * second),
                         product_2.eq(delayed(m, product, self._product, f"product{name}", reset_less=True))]
            found.append(product_2 >> c.temperature_fraction_bits)
        return found

    def _entry(self, m: Module, uniform: Value, name: str) -> Value:
        """Address of a uniform number's entry in the table: its segment, which the leading bits that are set count, and place."""
        race = self.parameters
        if race.segments == 1:
            return uniform
        segment = Signal(range(race.segments), name=f"segment{name}")
        leading = uniform[race.place_bits:]
        m.d.comb += segment.eq(race.segments - 1)
        for count in reversed(range(race.segments - 1)):
            with m.If(~leading[-1 - count]):
                m.d.comb += segment.eq(count)
        return Cat(uniform[:race.place_bits], segment)

    def _least(self, m: Module, scores: list[Value]) -> tuple[Value, Value]:
        """The least of the lanes' scores and its lane, the lowest on ties, after `Latency.race_level` cycles a level."""
        places: list[Value] = [Const(lane, max(1, self.config.lane_bits)) for lane in range(len(scores))]
        level = 0
        while len(scores) > 1:
            level, pairs = level + 1, [(n, n + 1) for n in range(0, len(scores), 2)]
            smaller: list[Value] = []
            where: list[Value] = []
            for a, b in pairs:
                later = scores[b] < scores[a]
                for values, found, kind in ((scores, smaller, "score"), (places, where, "lane")):
                    chosen = Signal.like(values[a], name=f"{kind}_{level}_{a // 2}_now")
                    m.d.comb += chosen.eq(Mux(later, values[b], values[a]))
                    found.append(delayed(m, chosen, self.config.latency.race_level, f"{kind}_{level}_{a // 2}", reset_less=True))
            scores, places = smaller, where
        return scores[0], places[0]

    def _weighted(self, m: Module, score: Value) -> Value:
        """The least score of the lanes, less T times their slot's weight."""
        c, stages = self.config, self.config.latency
        if not c.subset_slots:
            return delayed(m, score, stages.race_weight, "weighted", reset_less=True)
        more = stages.beyond("race_weight", 1, "the weight of a slot of a subset")
        weight, temperature = (delayed(m, factor, stages.race_factors, f"{kind}_of_slot", reset_less=True, own=True)
                               for kind, factor in (("weight", self.weight), ("temperature", self.temperature)))
        product = Signal(c.subset_weight_bits + c.temperature_bits, name="weight_product", reset_less=True)
        m.d.sync += product.eq(weight * temperature)
        wait = self._product + 1 + stages.race_score + c.lane_bits * stages.race_level
        least = score - (delayed(m, product, wait, "slot_weight", reset_less=True) >> c.temperature_fraction_bits)
        found = Signal(least.shape(), name="weighted", reset_less=True)
        m.d.sync += found.eq(least)
        return delayed(m, found, more, "weighted", reset_less=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, race = self.config, self.parameters
        stages = c.latency
        m.d.comb += self.advance.eq(self.soon)
        scores: list[Value] = []
        for lane, noise in enumerate(self._noise(m)):
            difference = Cat(Const(0, race.fraction_bits), self.energies[lane]) - noise
            if lane:
                # No score of a lane with a label is higher than that of one without, and among equals the lowest lane counts.
                difference = Mux(self.used[lane], difference, (1 << len(difference) - 1) - 1)
            scores.append(delayed(m, difference, stages.race_score, f"score_{lane}" if c.lanes > 1 else "score", reset_less=True))
        score, place = self._least(m, scores)
        score, place = self._weighted(m, score), delayed(m, place, stages.race_weight, "place", reset_less=True)
        wait = stages.race_score + c.lane_bits * stages.race_level + stages.race_weight
        label = delayed(m, self.label, wait, "label", reset_less=True)
        flags = delayed(m, Cat(self.valid, self.first, self.last), wait, "flags")
        best = Signal.like(score, name="best")
        winner = Signal.like(self.label, name="winner")
        done = Signal()
        with m.If(flags[1] | (score < best)):
            m.d.sync += [best.eq(score), winner.eq(label + place if c.lanes > 1 else label)]
        m.d.sync += done.eq(flags[0] & flags[2])
        held, drawn = delayed(m, done, stages.race_result - 1, "done"), delayed(m, winner, stages.race_result - 1, "winner")
        with m.If(held):
            m.d.sync += self.result.eq(drawn)
        return m


class CdfSampler(wiring.Component):
    """Inverse transform over scaled energies (Equations 3.2-3.4), three sites in flight.

    Pass 1 stores E and finds its minimum; pass 2 computes P((E - E_min) log2(e)/T), floored to an
    integer or to a power of two, and stores its running sum; pass 3 counts the sums that do not exceed
    floor(u total / 2^k). Each pass takes L cycles and starts when the one before has ended.
    temperature: log2(e)/T, for L cycles as E - E_min of each label is multiplied by it (`Latency.coefficient_use`).
    result: `Latency.draw` cycles after the last label. One label a cycle.
    The generator steps once a site. `soon` is not used.
    """

    lead = 1

    def __init__(self, config: Config):
        config = Derived.of(config)
        assert isinstance(config.sampler, Cdf)
        self.config, self.parameters = config, config.sampler
        self.uniform_bits = config.sampler.uniform_bits
        self.total_bits = config.sampler.total_bits(config.label_bits)
        stages = config.latency
        for name in ("cdf_start", "cdf_sum", "cdf_count"):
            stages.exactly(name, 1, f"the cdf sampler's {name.removeprefix('cdf_')}, which is a loop,")
        self._product = stages.beyond("cdf_product", 2, "the cdf sampler's product, for a DSP block,")
        self._threshold_product = stages.beyond("cdf_threshold", 3, "the cdf sampler's threshold, with a product for a DSP block,")
        if stages.cdf_sum_read > stages.cdf_threshold:
            raise LatencyError(f"cdf_sum_read is {stages.cdf_sum_read}; the cdf sampler reads its sums while it forms the "
                               f"threshold, in {stages.cdf_threshold} cycles: declare no more")
        if stages.random > stages.cdf_total - stages.cdf_start:
            raise LatencyError(f"random is {stages.random}; the cdf sampler has {stages.cdf_total - stages.cdf_start} cycles for "
                               "its uniform number: declare no more")
        super().__init__(SamplerSignature(config, self.uniform_bits))

    def _probability(self, m: Module, scaled: Signal) -> Signal:
        """P of E - E_min, after its product, power and shift (Equations 3.3, 3.4)."""
        c, cdf, stages = self.config, self.parameters, self.config.latency
        low = c.temperature_fraction_bits - cdf.exponent_fraction_bits
        product, product_2 = (Signal(c.energy_bits + c.temperature_bits, name=name, reset_less=True)
                              for name in ("product", "exponent_product"))
        m.d.sync += [product.eq(scaled * self.temperature),
                     product_2.eq(delayed(m, product, self._product, "product", reset_less=True))]
        exponent = product_2[low:]
        fraction, octaves = exponent[:cdf.exponent_fraction_bits], exponent[cdf.exponent_fraction_bits:]
        shift_bits = (cdf.probability_bits).bit_length()
        mantissa, shift, p = (Signal(n, name=name, reset_less=True) for name, n in (
            ("mantissa", cdf.probability_bits), ("shift", shift_bits), ("p", cdf.probability_bits)))
        with m.Switch(fraction):
            for i, value in enumerate(cdf.exponent_table):
                with m.Case(i):
                    m.d.sync += mantissa.eq(int(value))
        m.d.sync += shift.eq(Mux(octaves > cdf.probability_bits, cdf.probability_bits, octaves))
        mantissa, shift = (delayed(m, s, stages.cdf_power - 1, s.name, reset_less=True) for s in (mantissa, shift))
        m.d.sync += p.eq(mantissa >> shift)
        return delayed(m, p, stages.cdf_shift - 1, "probability", reset_less=True)

    def _minimum(self, m: Module, write: WritePort) -> tuple[Signal, Signal]:
        """Pass 1: store E and find its minimum. Returns the bank in use and the minimum. Pass 2 needs the minimum
        for L cycles, beginning with the cycle in which it has read the first E."""
        bank = Signal()
        lowest = Signal(self.config.energy_bits, reset_less=True)
        m.d.comb += [write.addr.eq(Cat(self.label, bank)), write.data.eq(self.energies[0]), write.en.eq(self.valid)]
        with m.If(self.valid):
            m.d.sync += lowest.eq(Mux(self.first | (self.energies[0] < lowest), self.energies[0], lowest))
            with m.If(self.last):
                m.d.sync += bank.eq(~bank)
        # `lowest` is complete a cycle after the last energy, as pass 2 begins.
        ended = Signal()
        minimum = Signal.like(lowest)
        m.d.sync += ended.eq(self.valid & self.last)
        with m.If(ended):
            m.d.sync += minimum.eq(lowest)
        return bank, delayed(m, minimum, self.config.latency.cdf_energy_read - 1, "minimum", reset_less=True)

    def _accumulate(self, m: Module, bank: Signal, minimum: Signal, read: ReadPort, write: WritePort) -> Signal:
        """Pass 2: once the last energy is stored, read E, store the running sum of P. Returns the sum.

        Tags accompany each label from its read to its sum.
        """
        stages = self.config.latency
        run = Signal()
        index = Signal.like(self.label)
        bank_2 = Signal()
        count = Signal.like(self.label)
        final = Signal()
        head = Signal()
        m.d.comb += [final.eq(run & (index == count)), head.eq(run & (index == 0)), read.addr.eq(Cat(index, bank_2))]
        with m.If(self.valid & self.last):
            m.d.sync += [run.eq(1), index.eq(0), bank_2.eq(bank), count.eq(self.label)]
        with m.Elif(run):
            m.d.sync += index.eq(index + 1)
            with m.If(final):
                m.d.sync += run.eq(0)
        energy = delayed(m, read.data, stages.cdf_energy_read - 1, "energy_read", reset_less=True)
        scaled = delayed(m, (energy - minimum)[:len(energy)], stages.cdf_scale, "scaled", reset_less=True)
        probability = self._probability(m, scaled)
        # Tags of the label whose P is valid, and of the one whose sum is. The generator's step is timed so that its value and the
        # total are valid in the same cycle.
        summed = stages.cdf_total - stages.cdf_start
        tags, step = Cat(run, head, final, index, bank_2), summed - stages.random
        early = delayed(m, tags, step, "early")
        added = delayed(m, early, stages.random - stages.cdf_sum, "added")
        stored = delayed(m, added, stages.cdf_sum, "stored")
        total = Signal(self.total_bits, reset_less=True)
        with m.If(added[0]):
            m.d.sync += total.eq(Mux(added[1], probability, probability + total))
        m.d.comb += [write.addr.eq(stored[3:]), write.data.eq(total), write.en.eq(stored[0]), self.advance.eq(early[2])]
        self._ended, self._place = stored[2], stored[3:]
        return total

    def _threshold(self, m: Module, total: Signal) -> Signal:
        """floor(u total / 2^k), `Latency.cdf_threshold` cycles after the total."""
        stages = self.config.latency
        product, product_2 = (Signal(self.total_bits + self.uniform_bits, name=name, reset_less=True)
                              for name in ("product_3", "threshold_product"))
        threshold = Signal(self.total_bits, reset_less=True)
        m.d.sync += [product.eq(total * self.uniforms[0]),
                     product_2.eq(delayed(m, product, self._threshold_product, "product_3", reset_less=True))]
        with m.If(delayed(m, self._ended, stages.cdf_threshold - 1, "ended")):
            m.d.sync += threshold.eq(product_2 >> self.uniform_bits)
        return threshold

    def _count(self, m: Module, threshold: Signal, read: ReadPort) -> None:
        """Pass 3: count the sums up to the threshold; the first sum is read so that it arrives together with the threshold."""
        labels, stages = self.config.label_bits, self.config.latency
        start = delayed(m, Cat(self._ended, self._place), stages.cdf_threshold - stages.cdf_sum_read, "start")
        held = Signal(1 + labels + labels + 1)
        run, index, count, bank = (Signal(n, name=f"{name}_3") for name, n in (("run", 1), ("index", labels), ("count", labels),
                                                                             ("bank", 1)))
        fresh = Cat(start[0], Const(0, labels), start[1:])
        m.d.comb += [Cat(run, index, count, bank).eq(Mux(start[0], fresh, held)), read.addr.eq(Cat(index, bank))]
        following = (index + 1)[:labels]
        m.d.sync += held.eq(Cat(run & (index != count), following, count, bank))
        tags = delayed(m, Cat(run, index == 0, index == count), stages.cdf_sum_read, "tags")
        sums = delayed(m, read.data, stages.cdf_sum_read - 1, "sums", reset_less=True)
        compare, first, last = tags[0], tags[1], tags[2]
        drawn = Signal.like(self.result, reset_less=True)
        done = Signal()
        with m.If(compare):
            m.d.sync += drawn.eq(Mux(first, 0, drawn) + (sums <= threshold))
        m.d.sync += done.eq(compare & last)
        held, label = delayed(m, done, stages.cdf_result - 1, "done"), delayed(m, drawn, stages.cdf_result - 1, "label")
        with m.If(held):
            m.d.sync += self.result.eq(label)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        other_half = "a pass reads the half that the pass before it has ended to write"
        m.submodules.energy_memory = energies = UnguardedMemory(shape=c.energy_bits, depth=2 * c.max_labels, unused=other_half)
        m.submodules.sums = sums = UnguardedMemory(shape=self.total_bits, depth=2 * c.max_labels, unused=other_half)
        energy_write = energies.write_port()
        energy_read = energies.read_port()
        sum_write = sums.write_port()
        sum_read = sums.read_port()
        bank, minimum = self._minimum(m, energy_write)
        total = self._accumulate(m, bank, minimum, energy_read, sum_write)
        self._count(m, self._threshold(m, total), sum_read)
        return m


def sampler(config: Config) -> RaceSampler | CdfSampler:
    """The sampler that `config` names."""
    return RaceSampler(config) if isinstance(config.sampler, Race) else CdfSampler(config)
