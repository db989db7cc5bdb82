"""Yosys' Verilog as people read it: names instead of numbers, loops instead of a line for each word of a memory.

The text stays the same hardware: every change is of a name, of a wire that nothing reads, of a wire that is used once and is put
where it is used, or of how a memory's first content is written. Yosys writes a statement a line, which this relies on; a line of
another form stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

__all__ = ["is_identifier", "modules_of", "readable", "renamed_modules"]

_RUN = 4  # words of the same value from which a loop is shorter
_LOOP = 4096  # iterations of a loop at most: tools have limits, the lowest that we know of is 5000
_LINE = 132  # columns that a line may grow to when a wire is put in its place

_KEYWORDS = frozenset(re.findall(r"\w+", """
    accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins binsof bit
    break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const constraint context continue
    cover covergroup coverpoint cross deassign default defparam design disable dist do edge else end endcase endchecker endclass
    endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage endprimitive endprogram endproperty
    endsequence endspecify endtable endtask enum event eventually expect export extends extern final first_match for force foreach
    forever fork forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies
    import incdir include initial inout input inside instance int integer interconnect interface intersect join join_any join_none
    large let liblist library local localparam logic longint macromodule matches medium modport module nand negedge nettype new
    nexttime nmos nor noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive priority
    program property protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
    randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always
    s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled signed small soft solve specify
    specparam static string strong strong0 strong1 struct super supply0 supply1 sync_accept_on sync_reject_on table tagged task this
    throughout time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0
    unsigned until until_with untyped use uwire var vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire
    with within wor xnor xor
"""))

# An identifier in Yosys' text, an escaped one with the space that ends it. What follows a digit's quote is a constant.
_NAME = re.compile(r"\\(\S+) |(?<![\w$'\\`])([A-Za-z_][\w$]*)")
_NAME_WITH_NUMBER = re.compile(r"\\(\S*\$\S*) ()")  # Yosys escapes all that have a $
_ID = r"(?:\\\S+ |[A-Za-z_]\w*)"
_RANGE = r"\[(\d+):(\d+)\]"
_DECLARED = re.compile(rf"^  (input|output|wire|reg)(?: signed)? (?:{_RANGE} )?({_ID})( {_RANGE})?( = .*)?;$")
_ASSIGN = re.compile(rf"^  assign ({_ID}) = (.*);$")
_ANONYMOUS = re.compile(r"\$\d+")
_NUMBERED = re.compile(r"(.*)\$\d+((?:[.\[].*)?)")
_PORT = re.compile(r"port\$\d+\$\d+")
_INSTANCE = re.compile(rf"^  ({_ID}) *({_ID}) ?\($", re.MULTILINE)
_CONNECTION = re.compile(rf"^    \.({_ID})\((.*)\),?$")
_OPERAND = rf"(?:{_ID}(?:\[\d+(?::\d+)?\])?|\d+'[hdb]\w+)"
_PART = rf"(?:{_OPERAND}|\([^()]*\))"  # of an expression in which wires have been placed
_UNARY = re.compile(rf"^([~!|&^]) ({_PART})$")
_BINARY = re.compile(rf"^({_PART}) (\S+) ({_PART})$")
_NEXT = re.compile(rf"^    ({_ID}) <= ({_ID});$")
_SUM = re.compile(rf"^ +(?:assign )?({_ID}) <?= ({_ID})\[\d+:0\];$")
_WORD = re.compile(rf"^    ({_ID})\[(\d+)\] = (\S+);$")


def is_identifier(name: str) -> bool:
    """Whether Verilog and SystemVerilog take `name` as it is, and C too (no $)."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None and name not in _KEYWORDS


def _written(name: str) -> str:
    return name if is_identifier(name) else f"\\{name} "


def _plain(token: str) -> str:
    """The name that an identifier in the text stands for."""
    return token[1:-1] if token.startswith("\\") else token


def _closed(operand: str) -> str:
    """The operand with the space that ends an escaped name, which Yosys leaves out before a comma."""
    return f"{operand} " if re.fullmatch(r"\\\S+", operand) else operand


def _names(text: str) -> Iterator[str]:
    return (escaped or plain for escaped, plain in _NAME.findall(text))


def _rename(text: str, names: dict[str, str]) -> str:
    """`text` with other names, but for those after a dot: ports of instances, which are of another module."""
    def other(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return found[0] if name not in names or text[found.start() - 1:found.start()] == "." else _written(names[name])

    return (_NAME_WITH_NUMBER if all("$" in name for name in names) else _NAME).sub(other, text)


@dataclass
class _Module:
    """A module of Yosys' text. widths: of its nets, bits. ports: direction by name. taken: names in use. signed: nets that are."""

    name: str
    lines: list[str]
    widths: dict[str, int] = field(default_factory=dict)
    ports: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    signed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for line in self.lines:
            if found := _DECLARED.match(line):
                name = _plain(found[4])
                if not found[5]:
                    self.widths[name] = int(found[2] or 0) - int(found[3] or 0) + 1
                if found[1] in ("input", "output"):
                    self.ports[name] = found[1]
                self.taken.add(name)
                if " signed " in line:
                    self.signed.add(name)
            elif found := _INSTANCE.match(line):
                self.taken.add(_plain(found[2]))

    def fresh(self, name: str) -> str:
        """`name`, with a number where this module has it already."""
        found, number = name, 2
        while found in self.taken or found in _KEYWORDS:
            found, number = f"{name}_{number}", number + 1
        self.taken.add(found)
        return found

    def rename(self, names: dict[str, str]) -> None:
        if not names:
            return
        self.lines = _rename("\n".join(self.lines), names).split("\n")
        for table in (self.widths, self.ports):
            for old, new in names.items():
                if old in table:
                    table[new] = table.pop(old)  # type: ignore[assignment]

    def uses(self) -> Counter[str]:
        """How often each name with a number stands in a statement."""
        return Counter(name for line in self.lines[1:] if "$" in line and not _DECLARED.match(line)
                       for name in _names(line) if "$" in name)

    def without(self, names: set[str]) -> None:
        """Drop declarations of nets with a number, with the attribute before them, and what is assigned to them."""
        kept: list[str] = []
        for line in self.lines:
            found = (_DECLARED.match(line) or _ASSIGN.match(line)) if "$" in line else None
            if found and _plain(found[4] if found.re is _DECLARED else found[1]) in names:
                if found.re is _DECLARED and kept[-1].startswith("  (*"):
                    kept.pop()
                continue
            kept.append(line)
        self.lines = kept
        for name in names:
            self.widths.pop(name, None)
        self.taken -= names

    def width(self, operand: str) -> int | None:
        """Bits of a net or a part of one, a constant, {...}, or a condition in brackets; None of anything else."""
        if operand.startswith("{ "):
            widths = [self.width(part) for part in re.split(r" ?, ", operand[2:-2])]
            return None if None in widths else sum(filter(None, widths))
        if operand.startswith("("):
            return 1 if _is_condition(self, operand[1:-1]) else None
        if found := re.match(r"(\d+)'", operand):
            return int(found[1])
        found = re.fullmatch(rf"({_ID})(?:\[(\d+)(?::(\d+))?\])?", _closed(operand))
        if not found or _plain(found[1]) not in self.widths:
            return None
        if found[2] is None:
            return self.widths[_plain(found[1])]
        return int(found[2]) - int(found[3] or found[2]) + 1


def modules_of(text: str) -> list[str]:
    """Names of the modules of a file."""
    return [_plain(found) for found in re.findall(rf"^module ({_ID})", text, re.MULTILINE)]


def renamed_modules(text: str, other: Callable[[str], str]) -> str:
    """The text with other names of its modules. Raises ValueError where two would be the same."""
    names = {name: other(name) for name in modules_of(text)}
    if len(set(names.values())) < len(names):
        raise ValueError("two modules would have the same name")

    def instance(found: re.Match[str]) -> str:
        name = _plain(found[1])
        return found[0] if name not in names else f"  {_written(names[name])} {found[2].rstrip()} ("

    text = re.sub(rf"^module ({_ID})", lambda found: f"module {_written(names[_plain(found[1])])}", text, flags=re.MULTILINE)
    return _INSTANCE.sub(instance, text)


def readable(text: str) -> str:
    """Yosys' text of one component, its top module first, in which names of inner modules, ports and registers can be read."""
    head, *parts = re.split(r"^(?=module )", text, flags=re.MULTILINE)
    modules: dict[str, _Module] = {}
    for part in parts:
        found = re.match(rf"module ({_ID})", part)
        assert found is not None
        modules[_plain(found[1])] = _Module(_plain(found[1]), part.split("\n"))
    _name_ports(modules)
    for module in modules.values():
        _drop_unread(module)
        _name_next_values(module)
        _name_read_registers(module)
        _place_wires(module)
        _name_numbered(module)
        module.lines = list(_with_loops(module.lines))
    text = head + "".join("\n".join(module.lines) for module in modules.values())
    return renamed_modules(text, lambda name: name.replace(".", "_").replace("$", "_"))


def _name_ports(modules: dict[str, _Module]) -> None:
    """Name inner ports by what they are connected to, or by their own signal where another has the same name within."""
    places: dict[tuple[str, str], tuple[str, int]] = {}  # of a part of a net: the net that it comes from, its lowest bit there
    for module in modules.values():  # a module before what it contains
        for at, child, connections in list(_instances(module)):
            inner = modules.get(child)
            if inner is None:
                continue
            names = {}
            for port, net in connections.items():
                if _PORT.fullmatch(port):
                    names[port] = _port_name(module, inner, net, places)
                    if (base := _place(module.name, net, places)) is not None:
                        places[child, names[port]] = base
                elif found := _NUMBERED.fullmatch(port):
                    names[port] = inner.fresh(f"{found[1]}_{'in' if inner.ports[port] == 'input' else 'out'}")
            if not names:
                continue
            inner.rename(names)
            for line in range(at, at + len(connections)):
                module.lines[line] = re.sub(rf"^    \.({_ID})", lambda found, names=names: (  # type: ignore[misc]
                    f"    .{_written(names.get(_plain(found[1]), _plain(found[1])))}"), module.lines[line])


def _instances(module: _Module) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Of each instance: the line of its first connection, its module, what its ports are connected to."""
    for number, line in enumerate(module.lines):
        if found := _INSTANCE.match(line):
            connections = {}
            for connection in module.lines[number + 1:]:
                if (place := _CONNECTION.match(connection)) is None:
                    break
                connections[_plain(place[1])] = place[2]
            yield number + 1, _plain(found[1]), connections


def _place(module: str, net: str, places: dict[tuple[str, str], tuple[str, int]]) -> tuple[str, int] | None:
    found = re.fullmatch(rf"({_ID})(?:\[(?:\d+:)?(\d+)\])?", net)
    if found is None:
        return None
    base, low = places.get((module, _plain(found[1])), (_plain(found[1]), 0))
    return base, low + int(found[2] or 0)


def _port_name(module: _Module, inner: _Module, net: str, places: dict[tuple[str, str], tuple[str, int]]) -> str:
    base, width = _place(module.name, net, places), module.width(net)
    if base is None or width is None:
        return inner.fresh("port")
    name, low = base
    whole = re.fullmatch(_ID, net) is not None and (module.name, _plain(net)) not in places
    stem = re.sub(r"\W+", "_", name).strip("_")
    return inner.fresh(stem if whole else f"{stem}_{low}" if width == 1 else f"{stem}_{low + width - 1}_{low}")


def _drop_unread(module: _Module) -> None:
    """Drop wires of a number, or with the name of another and a number, that nothing reads."""
    while True:
        uses = module.uses()
        unread = {name for line in module.lines
                  if "$" in line and (found := _ASSIGN.match(line)) and "$" in (name := _plain(found[1]))
                  and uses[name] == 1 and name not in module.ports}
        if not unread:
            return
        module.without(unread)


def _name_next_values(module: _Module) -> None:
    """`x_next` for what register x takes at the clock's next edge."""
    names: dict[str, str] = {}
    for before, line in zip(module.lines, module.lines[1:], strict=False):
        found = _NEXT.match(line) if before.startswith("  always @(posedge") else None
        if not found:
            continue
        register, value = _plain(found[1]), _plain(found[2])
        if _ANONYMOUS.fullmatch(value) and value not in names:
            names[value] = module.fresh(re.sub(r"\$\d+$", "", register) + "_next")
    module.rename(names)


def _name_read_registers(module: _Module) -> None:
    """Registers in memories' read ports, which Yosys numbers, by their memory."""
    text, names = "\n".join(module.lines), {}
    for number in re.findall(r"^  reg (?:\[\d+:\d+\] )?(_\d+_);$", text, re.MULTILINE):
        if found := re.search(rf"^ +{number} <= ({_ID})\[(?!\d+:\d+\];)", text, re.MULTILINE):
            memory, what = _plain(found[1]), "word"
        if not found or memory in module.widths:  # a net: the register holds the address
            found, what = re.search(rf"({_ID})\[{number}\]", text), "address"
            memory = _plain(found[1]) if found else "memory"
        names[number] = module.fresh(f"{memory}_{what}")
    module.rename(names)


def _place_wires(module: _Module) -> None:
    """Put the expression of a numbered wire that is used once where it is used, if its value cannot differ there."""
    while True:
        uses = module.uses()
        expressions = {_plain(found[1]): found[2] for line in module.lines
                       if line.startswith("  assign \\$") and (found := _ASSIGN.match(line))
                       and _ANONYMOUS.fullmatch(_plain(found[1])) and uses[_plain(found[1])] == 2}
        placed: set[str] = set()
        for number, line in enumerate(module.lines):
            if "\\$" not in line or _DECLARED.match(line):
                continue
            there = [name for name in _names(line) if name in expressions]
            # One a line and turn, so that no expression is read while it changes.
            if (assigned := _ASSIGN.match(line)) and _plain(assigned[1]) in expressions:
                there = [name for name in there if name != _plain(assigned[1])]
                if _plain(assigned[1]) in placed:
                    continue
            for name in there:
                if name not in placed and not placed & set(_names(expressions[name])):
                    new = _placed(module, line, name, expressions[name])
                    if new is not None and len(new) <= _LINE:
                        module.lines[number] = new
                        placed.add(name)
                        if assigned:  # it has changed, and is not placed itself in this turn
                            expressions.pop(_plain(assigned[1]), None)
                        break
        if not placed:
            return
        module.without(placed)


def _placed(module: _Module, line: str, name: str, expression: str) -> str | None:
    """`line` with the expression of wire `name` in its place; None where the value might differ."""
    token = f"\\{name} "
    if _CONNECTION.match(line):
        return None
    if found := re.fullmatch(rf"( +(?:assign )?)(\S.*?) (<?=) {re.escape(token)}(\[(\d+):0\])?;", line):
        target, wide = module.width(found[2]), module.widths[name]
        if target is not None and target == int(found[5] or wide - 1) + 1 and (
                not found[4] or _low_bits_stay(module, expression, target)):
            return f"{found[1]}{found[2]} {found[3]} {expression};"
    if f"{token}[" in line:
        return None
    if _is_atom(module, expression, module.widths[name]):
        return line.replace(token, expression)
    if module.widths[name] != 1 or not _is_condition(module, expression) or f"$signed({token}" in line:
        return None
    if f" if ({token})" in line:
        return line.replace(f" if ({token})", f" if ({expression})")
    if (found := re.fullmatch(r"( +(?:assign )?)(\S.*?) (<?=) (.*);", line)) is None:
        return None
    if re.search(rf"(?:\{{|,) {re.escape(token)}(?:,| \}})", found[4]) and "(" not in found[4]:
        return line.replace(token, expression)
    if re.match(rf"{re.escape(token)} \? ", found[4]):
        return line.replace(token, f"({expression})")
    # In a wider expression ~ would set the upper bits.
    if "~" in expression and not (module.width(found[2]) == 1 and _is_narrow(module, found[4])):
        return None
    if not (_UNARY.match(found[4]) or _BINARY.match(found[4])):
        return None
    return f"{found[1]}{found[2]} {found[3]} {found[4].replace(token, f'({expression})')};"


def _is_atom(module: _Module, expression: str, width: int) -> bool:
    """Whether an expression has this width and no sign wherever it stands: a net, a part of one, a constant, {...}."""
    if not re.fullmatch(_OPERAND, _closed(expression)) and not re.fullmatch(r"\{ [^{}()]* \}", expression):
        return False
    return module.width(expression) == width and _plain(_closed(expression)) not in module.signed


def _low_bits_stay(module: _Module, expression: str, width: int) -> bool:
    """Whether the lowest `width` bits are the same when the expression is computed with so many bits alone."""
    found = _BINARY.match(expression)
    return (found is not None and found[2] in ("+", "-", "*", "&", "|", "^")
            and all((bits := module.width(operand)) is not None and bits <= width for operand in (found[1], found[3])))


def _is_condition(module: _Module, expression: str) -> bool:
    """Whether an expression has one bit wherever it stands (with ~, where all around it has one)."""
    if found := _UNARY.match(expression):
        return found[1] != "~" or module.width(found[2]) == 1
    if (found := _BINARY.match(expression)) is None:
        return False
    if found[2] in ("==", "!=", "<", "<=", ">", ">=", "&&", "||"):
        return "~" not in expression
    return found[2] in ("&", "|", "^") and module.width(found[1]) == module.width(found[3]) == 1


def _is_narrow(module: _Module, expression: str) -> bool:
    """Whether an expression and its operands have one bit each."""
    found = _UNARY.match(expression)
    if found is None and ((found := _BINARY.match(expression)) is None or module.width(found[1]) != 1):
        return False
    return module.width(found.groups()[-1]) == 1 and _is_condition(module, expression)


def _name_numbered(module: _Module) -> None:
    """A net with the name of another and a number: by the instance whose port it is, or with a plain number."""
    owners: dict[str, str] = {}
    for at, _, connections in _instances(module):
        instance = _INSTANCE.match(module.lines[at - 1])
        assert instance is not None
        for port, net in connections.items():
            if re.fullmatch(_ID, net):
                owners.setdefault(_plain(net), f"{_plain(instance[2])}_{re.sub(r'_(in|out)$', '', port)}")
    names: dict[str, str] = {}
    bases: dict[str, str] = {}
    for line in module.lines:  # a sum with its carry
        found = _SUM.match(line) if "\\$" in line else None
        if found and _ANONYMOUS.fullmatch(_plain(found[2])):
            owners.setdefault(_plain(found[2]), _plain(found[1]) + "_wide")
    declared = [_plain(found[4]) for line in module.lines if (found := _DECLARED.match(line))]
    for name in dict.fromkeys(declared):
        found = _NUMBERED.fullmatch(name)
        if found is None or name in module.ports or not (found[1] or name in owners):
            continue
        whole = name[:len(name) - len(found[2])]
        if whole not in bases:
            bases[whole] = module.fresh(re.sub(r"\W", "_", owners.get(whole, found[1].lstrip("$"))))
        names[name] = bases[whole] + found[2]
    module.rename(names)


def _with_loops(lines: Iterable[str]) -> Iterator[str]:
    """Runs of equal words in a memory's first content as loops."""
    words: list[tuple[str, int, str]] = []
    begin = None
    for line in lines:
        if line == "  initial begin":
            begin = line
            continue
        if found := _WORD.match(line) if begin is not None or words else None:
            words.append((found[1], int(found[2]), found[3]))
            continue
        if words:
            yield from _content(words)
            words, begin = [], None
        elif begin is not None:
            yield begin
            begin = None
        yield line


def _content(words: list[tuple[str, int, str]]) -> Iterator[str]:
    memory = words[0][0]
    runs: list[list[int]] = []  # first word and number of words
    for place, (_, address, value) in enumerate(words):
        follows = place > 0 and words[place - 1][1] == address - 1 and words[place - 1][2] == value
        if follows and runs[-1][1] < _LOOP:
            runs[-1][1] += 1
        else:
            runs.append([place, 1])
    if not any(count >= _RUN for _, count in runs):
        yield "  initial begin"
    else:
        block = re.sub(r"\W", "_", _plain(memory)) + "_content"
        yield f"  initial begin : {_written(block)}"
        yield "    integer i;"
    for first, count in runs:
        _, address, value = words[first]
        if count >= _RUN:
            yield f"    for (i = {address}; i < {address + count}; i = i + 1)"
            yield f"      {memory}[i] = {value};"
        else:
            yield from (f"    {memory}[{a}] = {v};" for _, a, v in words[first:first + count])
