"""The register map as Markdown, JSON and a C header, all from mrfhw.machine.registers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.address_space import LABEL_TABLE_WORDS
from mrfhw.machine.cluster_registers import CLUSTER_REGISTERS, SWITCH_LABEL
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.log_registers import LOG_REGISTERS, LOG_STATUS_BITS, WORD_BYTES, WORD_BYTES_LOG2, LogTarget
from mrfhw.machine.ports import MemoryPort
from mrfhw.machine.registers import (
    CONTROL_BITS,
    DIGITS,
    DOUBLETON_CODES,
    IDENTITY,
    INTERFACE_VERSION,
    LABEL_TABLE,
    MODE_BITS,
    REGISTERS,
    STATUS_BITS,
    TEMPERATURE_TABLE,
    TILE_BASE_TABLE,
    Region,
    Register,
    Temperature,
)
from mrfhw.machine.words import LABEL_WORD_TEXT, SUM, LabelWord, entry_words, label_entry, log_message

__all__ = ["as_json", "c_header", "markdown", "port_table", "register_map"]


REGION_TEXT = {
    Region.SITE: "Singleton 1 and the weights of the site's edges, where the machine has them and both fit: the word of S1, and "
                 "that of EDGES above it; only written. Offset: the site's address.",
    Region.S1: "Singleton 1, a word a site: datum, observed flag above it. Offset: the site's address; its top bit is the colour.",
    Region.S2: "Singleton 2: datum, valid flag above it. Offset: (bank << s2_address) + address.",
    Region.LMEM: "LMem, two words an entry: write word 1 (optional), then word 0. Offset: 2 x ((bank << lmem_address) + address) "
                 "+ word.",
    Region.S2_ROW: "Singleton 2 of as many banks as a word has room for, from the bank of the offset on, which is a multiple of "
                   "that number: their words of S2 side by side; only written. Offset: as of S2.",
    Region.LMEM_ROW: "LMem of as many banks as a word has room for, two or four: of each label, exists and clamped side by side, "
                     "`label` + 2 bits; their counts become 0. Offset: as of LMem, word 0 of the first bank. Read, where an entry "
                     "fits a word: that of the offset as it lies in the memory.",
    Region.RANDOM: "Generators, a word address each, of a unit its lanes' and then that of its subsets, if it has one: four writes "
                   "set x, y, z, w; four reads give and restore them.",
    Region.VECTORS: "Label vectors: u in bits 15:0, v in bits 31:16.",
    Region.LABELS: "The label table, where the machine has subsets of slots; only written. Offset: as in the table.",
    Region.EDGES: "Weights of a site's edges, where the machine has them: up, down, left, right from bit 0 on, `edge` bits each. "
                  "Offset: the site's address.",
    Region.PAIRWISE: "The doubleton table, where the machine has one; only written. Offset: (label to the left or above << "
                     "`label` bits) + label to the right or below. With several lanes, from the top bit down: 1 where the site's "
                     "own label is to the left or above, the neighbour's label, slot, word of the slot; a word has entries of "
                     "lanes side by side.",
}


def register_map(config: Config, digest: str, port: MemoryPort | None = None) -> dict[str, Any]:
    """The map of one machine as plain data. Addresses are in 32-bit words; a byte address is four times that.

    digest: of its circuit, 64 hexadecimal digits.
    port: of a machine with AXI ports, which has log registers too.
    """
    a = AddressMap(config)
    return _chip_map(config, a, digest) | _clusters(config, a) | ({} if port is None else {
        "byte_address_bits": a.address_bits + WORD_BYTES_LOG2, "log_block_bytes": port.block_bytes,
        "log_registers": _rows(LOG_REGISTERS, {"log_block": port.block_bytes, "log_status": 1 << LOG_STATUS_BITS["empty"]}),
        "log_status_bits": LOG_STATUS_BITS, "log_targets": {t.name.lower(): t.value for t in LogTarget},
    })


def _rows(registers: Mapping[str, Register], constants: Mapping[str, int]) -> list[dict[str, Any]]:
    """constants: of those that never change, and what others read of a machine at rest."""
    return [{"name": r.name, "address": r.index, "access": r.access, "reset": constants.get(r.name, r.reset), "text": r.text}
            for r in registers.values()]


def _reset(row: dict[str, Any]) -> str:
    value = row["reset"]
    return "" if "r" not in row["access"] else f"{value:#010x}" if value > 1 << 16 else str(value)


def _clusters(config: Config, a: AddressMap) -> dict[str, Any]:
    """What a machine of several clusters has beside; of one, nothing."""
    if config.seats == 1:
        return {}
    label, address = (log_message(Derived.of(config))[name] for name in ("label", "address"))
    return {"clusters": {
        "count": config.seats, "stride": a.cluster(1), "bus_bits": a.bus_bits,
        "registers": _rows(CLUSTER_REGISTERS, {}),
        "switch_line": {"label": SWITCH_LABEL, "label_bit": label.low, "cluster_bit": address.low},
    }}


def _chip_map(config: Config, a: AddressMap, digest: str) -> dict[str, Any]:
    config = Derived.of(config)
    label, entry = label_entry(config), entry_words(config)
    return {
        "address_bits": a.address_bits, "identity": IDENTITY, "version": INTERFACE_VERSION, "digest": digest,
        "registers": _rows(REGISTERS, {"identity": IDENTITY, "version": INTERFACE_VERSION, **{
            f"digest_{word}": int(digest[8 * word:8 * word + 8], 16) for word in range(DIGITS // 8)}}),
        "control_bits": CONTROL_BITS, "status_bits": STATUS_BITS, "mode_bits": MODE_BITS, "doubletons": DOUBLETON_CODES,
        "temperature_modes": {t.name.lower(): t.value for t in Temperature},
        "tables": {
            "label": {"address": a.broadcast(Region.LABELS) if config.subset_slots else LABEL_TABLE,
                      "entries": config.max_labels, "words": LABEL_TABLE_WORDS,
                      "word": {w.name.lower(): w.value for w in LabelWord}, "wrap_column": label[LabelWord.WRAP]["column"].low,
                      "subset_others": label[LabelWord.SUBSET]["others"].low,
                      "subset_weight": label[LabelWord.SUBSET]["weight"].low},
            "temperature": {"address": TEMPERATURE_TABLE, "entries": config.temperature_table, "words": 1},
            "tile_base": {"address": TILE_BASE_TABLE, "entries": config.spes, "words": 1},
        },
        "widths": {"label": config.label_bits, "data": config.data_bits, "data_2": config.data_bits_2,
                   "data_3": config.data_bits_3, "edge": config.edge_bits, "pairwise": config.pairwise_bits,
                   "vector": config.vector_bits,
                   "counter": config.counter_bits, "temperature_fraction": config.temperature_fraction_bits,
                   "ratio_fraction": config.ratio_fraction_bits, "s2_address": config.s2_address_bits,
                   "lmem_address": config.lmem_address_bits, "site_address": config.site_address_bits},
        "lmem_bits": {name: field.low for name, field in entry[0].items()},
        "lmem_sum": [{"word": word, "bit": entry[word][name].low, "width": entry[word][name].bits} for word, name in SUM],
        "tiles": {
            "address": 1 << a.tiles_bit, "broadcast": 1 << a.broadcast_bit, "tile_stride": 1 << a.offset_bits + a.region_bits,
            "region_stride": 1 << a.offset_bits, "count": config.spes,
            "regions": [{"name": r.name.lower(), "number": r.value, "text": REGION_TEXT[r]} for r in Region],
        },
    }


def markdown(config: Config, digest: str, port: MemoryPort | None = None, ports: Sequence[Mapping[str, Any]] = ()) -> str:
    """The map as a document. ports: of the top module, as a manifest has them. The others: as of `register_map`."""
    config = Derived.of(config)
    m = register_map(config, digest, port)
    lines = [f"# Register map of {config.name}", "",
             f"Addresses count 32-bit words ({m['address_bits']} bits). Circuit `{m['digest']}`.", "",
             "| word | register | access | after reset | meaning |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {r['address']:#05x} | `{r['name']}` | {r['access']} | {_reset(r)} | {r['text'] or 'Upper half.'} |"
              for r in m["registers"]]
    lines += ["", "Widths, in bits: " + ", ".join(f"{n} {w}" for n, w in m["widths"].items()) + "."]
    lines += ["", "## Tables (write only)", "", "| word | table | entries | words an entry |", "| --- | --- | --- | --- |"]
    lines += [f"| {t['address']:#06x} | {name} | {t['entries']} | {t['words']} |" for name, t in m["tables"].items()]
    lines += ["", "Words of a label entry: " + ", ".join(f"{n} {w}" for n, w in m["tables"]["label"]["word"].items()) + ".",
              "", *(f"- {word.name.lower()}, {text}" for word, text in LABEL_WORD_TEXT.items()), "",
              "A write beyond a table's last entry is acknowledged and changes another entry. Reads of a table are answered with "
              "err. Writes to a register that is only read, and to tiles that are not there, are acknowledged and change nothing.",
              "", "All writes of a problem, in their order, are in a load image: the words that `mrfhw export` writes for a saved "
              "field, whose layout is in the driver's header.", "", "## Tile memories", "",
              "A site's address is (colour << `site_address` - 1) + row x (columns / 2) + column / 2, rounded down, of row and "
              "column in its tile and colour (row + column) mod 2; columns are those of a tile's sites as the problem is placed, "
              "an even number.", "",
              f"Tile t, region r, offset o: {m['tiles']['address']:#x} + t x {m['tiles']['tile_stride']:#x} + r x "
              f"{m['tiles']['region_stride']:#x} + o; add {m['tiles']['broadcast']:#x} to write all tiles at once. "
              "They answer with err while labels are being drawn.", "",
              "| region | number | content |", "| --- | --- | --- |"]
    lines += [f"| {r['name']} | {r['number']} | {r['text']} |" for r in m["tiles"]["regions"]]
    lines += ["", "Fields of the two words of an LMem entry, by lowest bit: "
              + ", ".join(f"{n} {b}" for n, b in m["lmem_bits"].items()) + ".",
              "", "Of a run of sums a site's is, from its lowest bits on, "
              + ", ".join(f"bits {p['bit'] + p['width'] - 1}:{p['bit']} of word {p['word']}" for p in m["lmem_sum"]) + "."]
    if config.seats > 1:
        lines += _cluster_page(m["clusters"])
    if port is not None:
        lines += _log_page(m, port)
    if ports:
        lines += ["", "## Ports", "", *port_table(ports)]
    return "\n".join(lines) + "\n"


def port_table(ports: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines of Markdown, of the ports of a top module as a manifest has them."""
    return ["| port | direction | bits | protocol |", "| --- | --- | --- | --- |",
            *(f"| `{p['name']}` | {p['direction']} | {p['width']} | {p['protocol']} |" for p in ports)]


def _cluster_page(m: dict[str, Any]) -> list[str]:
    lines = ["", "## Clusters", "", f"The machine has {m['count']} clusters, each with all of the above, the first at word 0 and "
             f"each {m['stride']:#x} words from the one before, so that the bus has addresses of {m['bus_bits']} bits. Digest and "
             "interface read the same in all. Accesses to one are answered in order; one to another cluster waits for them.", "",
             "| word | register | access | after reset | meaning |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {r['address']:#05x} | `{r['name']}` | {r['access']} | {_reset(r)} | {r['text']} |" for r in m["registers"]]
    at = m["switch_line"]
    return [*lines, "", "The log is one. Before the first line of a cluster's run, and wherever another cluster's lines go on, a "
            f"line names the cluster: its first message has no count, the label {at['label']} (from bit {at['label_bit']} on) and "
            f"the cluster's number for an address (from bit {at['cluster_bit']} on). No other line has that; it is counted in no "
            "`lines`. All lines behind it are the named cluster's, up to the next such line."]


def _log_page(m: dict[str, Any], port: MemoryPort) -> list[str]:
    lines = ["", "## Log registers", "", "This machine has AXI ports: `s_axi` takes byte addresses, four times the word's "
             f"({m['byte_address_bits']} bits). Its memory port `m_axi` has {port.data_bits} bits of data and "
             f"{port.address_bits} of address; a block has {port.block_bytes} bytes.", "",
             "| word | byte | register | access | after reset | meaning |", "| --- | --- | --- | --- | --- | --- |"]
    return lines + [f"| {r['address']:#05x} | {WORD_BYTES * r['address']:#05x} | `{r['name']}` | {r['access']} | {_reset(r)} | "
                    f"{r['text']} |" for r in m["log_registers"]]


def c_header(config: Config, digest: str, port: MemoryPort | None = None, prefix: str = "MRFHW") -> str:
    """The map as C constants. prefix: of every macro's name. The others: as of `register_map`."""
    config = Derived.of(config)
    m = register_map(config, digest, port)
    lines = ["/* Generated by mrfhw. Addresses count 32-bit words. */", f"#ifndef {prefix}_REGISTERS_H",
             f"#define {prefix}_REGISTERS_H", ""]

    def define(name: str, value: object) -> None:
        lines.append(f"#define {prefix}_{name.upper()} {value}")

    define("identity_value", f"{IDENTITY:#010x}u")
    define("digest", f'"{digest[:DIGITS]}"')
    for r in m["registers"]:
        define(r["name"], f"{r['address']:#x}u")
    if port is not None:
        for r in m["log_registers"]:
            define(r["name"], f"{r['address']:#x}u")
        define("log_block_bytes", port.block_bytes)
        for name, bit in m["log_status_bits"].items():
            define(f"log_status_{name}_bit", bit)
        for name, value in m["log_targets"].items():
            define(f"log_target_{name}", value)
    if config.seats > 1:
        define("clusters", m["clusters"]["count"])
        define("cluster_stride", f"{m['clusters']['stride']:#x}u")
        for r in m["clusters"]["registers"]:
            define(r["name"], f"{r['address']:#x}u")
        define("switch_label", m["clusters"]["switch_line"]["label"])
    for name, width in m["widths"].items():
        define(f"{name}_width", width)
    for group in ("control_bits", "status_bits", "mode_bits", "lmem_bits"):
        for name, bit in m[group].items():
            define(f"{group[:-5]}_{name}_bit", bit)
    for group in ("doubletons", "temperature_modes"):
        for name, value in m[group].items():
            define(f"{group[:-1]}_{name}", value)
    for name, table in m["tables"].items():
        define(f"{name}_table", f"{table['address']:#x}u")
        define(f"{name}_table_words", table["words"])
    for name, value in m["tables"]["label"]["word"].items():
        define(f"label_word_{name}", value)
    for name in ("address", "broadcast", "tile_stride", "region_stride", "count"):
        define(f"tiles_{name}", f"{m['tiles'][name]:#x}u")
    for region in m["tiles"]["regions"]:
        define(f"region_{region['name']}", region["number"])
    for name, value in _values(config, digest).items():
        define(name, value)
    # From the lowest bits of a sum on: X(word of the entry, lowest bit there, width).
    define("lmem_sum(X)", " ".join(f"X({part['word']}, {part['bit']}, {part['width']})" for part in m["lmem_sum"]))
    return "\n".join([*lines, "", "#endif", ""])


def _values(config: Derived, digest: str) -> dict[str, object]:
    """What a program in C needs beside the map: values to expect, the layout of a log line and of an entry of LMem."""
    return {
        "version_value": f"{INTERFACE_VERSION}u",
        **{f"digest_{i}_value": f"0x{digest[8 * i:8 * i + 8]}u" for i in range(DIGITS // 8)},
        "word_bytes": WORD_BYTES, "raster_width": config.raster_bits, "line_bytes": config.line_bits // 8,
        "line_messages": config.line_messages, "message_width": config.message_bits,
        **{f"message_{name}_bit": field.low for name, field in log_message(config).items()},
        "lmem_other": 1,  # from an entry's address to that of its second word
    }


def as_json(config: Config, digest: str, port: MemoryPort | None = None) -> str:
    """The map as JSON. The arguments: as of `register_map`."""
    return json.dumps(register_map(config, digest, port), indent=1) + "\n"
