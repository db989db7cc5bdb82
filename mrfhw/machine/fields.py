"""The parameters of a machine as they are given: their limits, defaults and meanings. `mrfhw.machine.config` checks them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

from mrfhw.machine.latency import Latency
from mrfhw.machine.parameters import choice, whole
from mrfhw.machine.samplers import Race, Sampler

__all__ = ["MESH_SIDE", "WORDS_MAX", "Fields"]

MESH_SIDE = 64  # rows or columns of a mesh at most
WORDS_MAX = 1 << 16  # sites of a tile, or its singleton-2 words, at most


@dataclass(frozen=True, kw_only=True, eq=False)
class Fields:
    """Parameters that may break limits, each its own or one between them (`mrfhw.machine.constraints`)."""

    mesh_rows: int = whole(4, 1, MESH_SIDE, "Rows of the mesh of SPEs.")
    mesh_cols: int = whole(4, 1, MESH_SIDE, "Columns of the mesh of SPEs.")
    spus: int = choice(2, (1, 2, 4), "Sampling units of an SPE, each with a site of its own.")
    lanes: int = choice(1, (1, 2, 4, 8, 16), "Lanes of a sampling unit: labels of its site that it evaluates a cycle.")
    subset_slots: int = choice(0, (0, *range(2, 17)), "Slots of a site's subset: each visit evaluates so many of its slots, those "
                               "of the neighbours' labels and some of the others, in place of all; 0 for all.")
    tile_rows: int = whole(64, 2, 1024, "Rows of sites that an SPE holds at most.")
    tile_cols: int = whole(64, 2, 1024, "Columns of sites that an SPE holds at most.")
    label_bits: int = whole(6, 1, 8, "Width of a label.")
    data_bits: int = whole(6, 1, 31, "Width of a singleton datum, of its first channel.")
    data_bits_2: int = whole(0, 0, 8, "Width of the second channel, 0 for none.")
    data_bits_3: int = whole(0, 0, 8, "Width of the third channel, 0 for none.")
    distance: str = choice("difference", ("difference", "hamming", "both"), "How data of the first channel are compared: by their "
                           "difference (absolute, squared), by the number of unlike bits, or as a problem says.")
    singleton_cap: int = choice(0, (0, 1), "Whether E_singleton has a limit (singleton_max).")
    doubletons: str = choice("functions", ("functions", "table"), "What the machine makes doubletons with: functions of two "
                             "labels, and a table where it has one, or a table alone, which holds any of them.")
    pairwise_bits: int = whole(0, 0, 8, "Width of an entry of the doubleton table, 0 for no table.")
    edge_bits: int = whole(0, 0, 4, "Width of an edge's weight, 0 for no weights.")
    energy_bits: int = whole(12, 4, 20, "Width of a label's energy, saturating (Equation 3.1).")
    weight_bits: int = whole(8, 1, 12, "Width of alpha and beta.")
    vector_bits: int = whole(4, 0, 6, "Width of a signed component of a label's vector, 0 for none (squared doubleton).")
    shift_bits: int = whole(4, 0, 4, "Width of energy_shift, 0 for none.")
    sampler: Sampler = dataclasses.field(default_factory=Race)
    temperature_bits: int = whole(18, 12, 24, "Width of the temperature's coefficient, T (race) or log2(e)/T (cdf).")
    temperature_table: int = whole(256, 2, 1024, "Entries of the temperature table.")
    counter_bits: int = whole(8, 1, 16, "Width of a histogram counter.")
    address_bits: int = whole(0, 0, 32, "Width of a message's site address, 0 for as many as the sites need.")
    lmem_banks: int = choice(1, (1, 4), "Banks of the label memory.")
    s2_words: int = whole(0, 0, WORDS_MAX, "Singleton-2 words that an SPE holds, 0 for one a site, or two where it holds what "
                          "its sites reach.")
    hub_fan_in: int = choice(4, (2, 4, 8, 16), "Inputs of a log hub, and of a node of the control tree.")
    hub_depth: int = whole(4, 1, 64, "Messages that a log hub's FIFO holds.")
    line_levels: int = whole(0, 0, 6, "Upper levels of the log's tree whose hubs pass whole lines, 0 for none.")
    line_bits: int = whole(512, 32, 4096, "Width of a packed log line.")
    clusters: int = choice(1, (1, 2, 4), "Clusters: meshes of so many rows and columns each, with registers and a scheduler of "
                           "their own, behind one bus and one log.")
    contexts: int = choice(1, (1, 2), "Contexts: problems that the tiles hold at once, each in memories, registers and generators "
                           "of its own. One runs while another is loaded or read.")

    latency: ClassVar[Latency] = Latency()  # of the gateware; a machine may have its own (`with_latency`)

    @property
    def seats(self) -> int:
        """Problems that the machine holds at once: its clusters', or its contexts'. Each has registers and words of its own."""
        return self.clusters * self.contexts
