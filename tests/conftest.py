"""Options of the long runs, the order of tests, and less work for the collector of garbage and for several workers."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import gc
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mrfhw
from mrfhw.system.numba_alone import numba

ROOT = Path(__file__).parents[1]
# A tree without the package is an unpacked release, whose tests are of what is installed.
if (ROOT / "mrfhw" / "__init__.py").exists():
    if Path(mrfhw.__file__).parents[1] != ROOT:
        pytest.exit(f"mrfhw is {Path(mrfhw.__file__).parent}, and these tests are of {ROOT / 'mrfhw'}: run pytest from {ROOT}", 2)
    # The programs that tests start are of this tree, too, whatever is installed.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])

# Files of tests that take ten seconds or more.
LONGEST = ("test_build_flow", "test_synthesis", "test_wheel", "test_fuzzed_commands", "test_ethernet", "test_bridge",
           "test_checkpoints", "test_reproduce_command", "test_generate", "test_lowest_versions", "test_refused_memory")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--machines", type=int, default=6, help="Random machines compared with the model.")
    parser.addoption("--problems", type=int, default=25, help="Random problems on each of them.")
    parser.addoption("--long", action="store_true", help="The tests that are marked long, too.")
    parser.addoption("--own-machines", action="store_true", help="Netlists of every family and of each board's own machine.")
    parser.addoption("--command-lines", type=int, default=100, help="Random command lines.")
    parser.addoption("--bridges", type=int, default=1, help="Runs of random frames through a bridge, of each size.")
    parser.addoption("--every-stage", action="store_true", help="A register stage more in every part of a machine, one by one.")
    parser.addoption("--waves", type=Path, metavar="DIR", help="Where waveforms of benches go, one a test (python -m sim).")
    parser.addoption("--chaos-jobs", type=int, default=1000, help="Jobs of the long run of a service that is killed.")
    parser.addoption("--chaos-workers", type=int, default=50, help="Workers that are killed meanwhile.")
    parser.addoption("--chaos-services", type=int, default=10, help="How often the service itself is.")
    parser.addoption("--faults", type=int, default=50, help="Runs over links that damage bytes.")
    parser.addoption("--hostile-boards", type=int, default=200, help="Hostile boards of the long run of requests in counted time.")


@contextlib.contextmanager
def _one_process_at_a_time() -> Iterator[None]:
    with (Path(tempfile.gettempdir()) / f"mrfhw-compiles-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile_once() -> None:
    """A loop that several workers want at the same time is compiled by one of them; the others read it from the cache."""
    dispatcher = numba.core.dispatcher.Dispatcher
    compile_it, inside = dispatcher.compile, threading.local()

    @functools.wraps(compile_it)
    def compile_alone(self: Any, sig: Any) -> Any:
        if getattr(inside, "yes", False):  # a loop that this one calls
            return compile_it(self, sig)
        inside.yes = True
        try:
            with _one_process_at_a_time():
                return compile_it(self, sig)
        finally:
            inside.yes = False

    dispatcher.compile = compile_alone


def pytest_configure(config: pytest.Config) -> None:
    if waves := config.getoption("--waves"):
        os.environ["MRFHW_WAVES"] = str(waves.absolute())
    if "PYTEST_XDIST_WORKER" in os.environ:
        _compile_once()


def pytest_collection_finish() -> None:
    """All that was imported stays: the collector of garbage need not look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


def pytest_unconfigure() -> None:
    gc.unfreeze()  # extensions look at the end for objects that were not freed, and print them


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is long. The longest of the others come first, so that no worker is left alone with them at the end."""
    if not config.getoption("--long"):
        items[:] = [item for item in items if item.get_closest_marker("long") is None]
    items.sort(key=lambda item: item.path.stem not in LONGEST)
