"""Where things of a written Verilog text are: the paths of its memories, as a testbench names them."""

from __future__ import annotations

import re

__all__ = ["memory_paths"]

_MODULE = re.compile(r"^module (\S+?)\(.*?^endmodule$", re.M | re.S)
_INSTANCE = re.compile(r"^  (\S+) (\S+) \($", re.M)
_MEMORY = re.compile(r"^  reg \[\d+:0\] (\S+) +\[(\d+):0\];$", re.M)


def memory_paths(text: str, top: str, instance: str, name: str) -> dict[str, int]:
    """Words of the memories whose names match `name` in the modules of instances `instance`, by their paths from module `top` down.

    Of instances of one module only the first has a path here, as they share their text. Paths that end in an escaped name end in
    its space.
    """
    modules = {found[1]: found[0] for found in _MODULE.finditer(text)}
    paths: dict[str, int] = {}
    seen, waiting = {top}, [(top, "", "")]
    while waiting:
        module, path, called = waiting.pop(0)
        body = modules[module]
        if called == instance:
            for memory in _MEMORY.finditer(body):
                if re.fullmatch(name, memory[1].removeprefix("\\")):
                    paths[path + memory[1] + " " * memory[1].startswith("\\")] = int(memory[2]) + 1
        for found in _INSTANCE.finditer(body):
            if found[1] in modules and found[1] not in seen:
                seen.add(found[1])
                waiting.append((found[1], f"{path}{found[2]}.", found[2]))
    return paths
