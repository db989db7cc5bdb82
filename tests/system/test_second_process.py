"""Work beside this process: what it gives, that nothing depends on it, and that it ends with this process."""

import errno
import json
import multiprocessing.process
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mrfhw.report.figures import draw
from mrfhw.system.processors import processors
from mrfhw.system.second_process import SecondProcess, here

DIAGNOSTICS_FIGURES = pytest.mark.claim("report",
    "diagnostics and figures are made by a second process, the same bytes; a run needs it for nothing, and it ends with the run")

SECONDS = 60  # of what takes one


def _fails_beside(home: int) -> int:
    if os.getpid() != home:
        raise ValueError("beside")
    return home


def _ends_beside(home: int) -> int:
    if os.getpid() != home:
        os._exit(1)
    return home


@pytest.fixture(scope="module")
def beside():
    return SecondProcess("json")


def test_calls_are_made_in_another_process(beside):
    first, second = beside.begin(os.getpid), beside.begin(np.add, np.arange(3), 1)
    assert second().tolist() == [1, 2, 3]
    assert first() != os.getpid() == here(os.getpid)()
    assert first() == beside.begin(os.getpid)()


def test_without_a_process_a_call_is_made_once_and_when_it_is_wanted():
    made: list[int] = []
    outcome = here(made.append, 3)
    assert made == []
    assert (outcome(), outcome(), made) == (None, None, [3])


def test_a_large_array_there_and_back(beside):
    array = np.random.default_rng(0).random((700, 900))
    assert (beside.begin(np.negative, array)() == -array).all()


@DIAGNOSTICS_FIGURES
def test_answers_wait_while_arguments_are_sent(beside):
    """Both are larger than what a pipe holds, and nobody takes an answer before all calls are made."""
    array, outcomes = np.random.default_rng(0).random((700, 900)), []
    calls = threading.Thread(target=lambda: outcomes.extend(beside.begin(np.negative, array) for _ in range(3)), daemon=True)
    calls.start()
    calls.join(SECONDS)
    assert not calls.is_alive()
    assert all((outcome() == -array).all() for outcome in outcomes)


def test_an_answer_that_is_not_taken_holds_up_no_call(beside, tmp_path):
    array, made = np.random.default_rng(0).random((700, 900)), tmp_path / "made"
    large = beside.begin(np.negative, array)
    beside.begin(Path.touch, made)
    end = time.monotonic() + SECONDS
    while not made.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert (large() == -array).all()


@DIAGNOSTICS_FIGURES
def test_what_fails_there_is_done_here(beside):
    assert beside.begin(_fails_beside, os.getpid())() == os.getpid()
    with pytest.raises(ZeroDivisionError):
        beside.begin(divmod, 1, 0)()
    assert beside.begin(lambda: 3)() == 3  # which cannot be pickled
    assert not beside.begin(threading.Lock)().locked()  # nor can its value
    assert beside.begin(int, "7")() == 7


@DIAGNOSTICS_FIGURES
def test_a_process_that_is_gone_is_missed_by_nothing():
    beside = SecondProcess()
    before = beside.begin(_ends_beside, os.getpid())
    after = beside.begin(int, "7")
    assert (before(), after(), beside.begin(int, "8")()) == (os.getpid(), 7, 8)


@pytest.mark.slow
def test_where_no_process_is_to_be_had_all_is_done_here(monkeypatch):
    def start(process):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(multiprocessing.process.BaseProcess, "start", start)
    assert SecondProcess("json").begin(os.getpid)() == os.getpid()


def test_a_missing_package_is_missed_by_what_needs_it():
    assert SecondProcess("mrfhw.no_such_module", "json").begin(int, "7")() == 7


def _gone(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.slow
@DIAGNOSTICS_FIGURES
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_this_process_and_not_by_control_c(number):
    program = ("import os, sys, time\nfrom mrfhw.system.second_process import SecondProcess\nif __name__ == '__main__':\n"
               "    beside = SecondProcess()\n    print(beside.begin(os.getpid)(), flush=True)\n    sys.stdin.readline()\n"
               "    print(beside.begin(os.getpid)(), flush=True)\n    time.sleep(60)\n")
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        pid = int(owner.stdout.readline())
        os.kill(pid, signal.SIGINT)
        owner.stdin.write("\n")
        owner.stdin.flush()
        assert int(owner.stdout.readline()) == pid
        owner.send_signal(number)
        owner.wait(SECONDS)
        end = time.monotonic() + SECONDS
        while not _gone(pid):
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.mark.slow
def test_figures_are_drawn_without_compiled_loops(beside):
    """What the process imports takes a third of a small run; Numba would double it."""
    beside.begin(draw, {})()
    program = ("import sys\nimport mrfhw.__main__ as m\nfor name in (*m.DIAGNOSTICS, *m.FIGURES): __import__(name)\n"
               "assert 'numba' not in sys.modules")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=SECONDS)


@pytest.mark.slow
@DIAGNOSTICS_FIGURES
def test_a_run_leaves_to_the_second_process_what_it_would_do_itself(tmp_path):
    """The command line in a process of its own: diagnostics are the other's, which draws half of the figures, too. With one thread
    there is no second process."""
    rng = np.random.default_rng(0)
    for name in ("left", "right"):
        Image.fromarray(rng.integers(0, 256, (12, 16), np.uint8)).save(tmp_path / f"{name}.png")
    program = ("import sys\nfrom mrfhw.__main__ import main\ntry: main()\nexcept SystemExit as end: assert end.code == 0\n"
               "print(sorted({'matplotlib', 'arviz_stats'} & set(sys.modules)))\n"
               "assert 'matplotlib' in sys.modules or len(sys.modules) < 1100, 'more is imported than a small run has time for'")
    said = []
    for name, threads in (("beside", "2"), ("here", "1"), ("numbers --no-report", "2")):
        words = f"run stereo left.png right.png --labels 4 --sweeps 40 -o {name}".split()
        done = subprocess.run(
            [sys.executable, "-c", program, *words], cwd=tmp_path, check=True, timeout=10 * SECONDS, capture_output=True,
            text=True, env={**os.environ, "MRFHW_THREADS": threads})
        said.append(done.stdout.splitlines()[-1])
    all_of_it, without = "['arviz_stats', 'matplotlib']", "[]"
    assert said == (["['matplotlib']", all_of_it, without] if processors() > 1 else [all_of_it, all_of_it, "['arviz_stats']"])
    names = sorted(path.name for path in (tmp_path / "here").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "beside").iterdir())
    for name in names:
        if not name.startswith("report."):  # which have the seconds
            assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "beside" / name).read_bytes(), name
    one, other = ((tmp_path / name / "report.html").read_text() for name in ("here", "beside"))
    images = re.compile(r'src="data:image/png;base64,([^"]*)"')
    assert images.findall(one) == images.findall(other)
    assert len(images.findall(one)) >= 6
    one, other = (json.loads((tmp_path / name / "report.json").read_text()) for name in ("here", "beside"))
    assert one["convergence"] == other["convergence"]
    assert one["convergence"]["energy"]["rhat"] is not None


@pytest.mark.slow
def test_an_interrupt_while_the_program_is_imported_is_one_line():
    program = ("import mrfhw.__main__ as m\ndef interrupted(): raise KeyboardInterrupt\nm._beside = interrupted\nm.main()")
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=SECONDS, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Aborted.\n")
