"""The files of a run: complete, exact, and all or none."""

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mrfhw import __version__
from mrfhw.analysis.solution import Solution
from mrfhw.analysis.trace import Trace
from mrfhw.analysis.uncertainty import entropy, quantify
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.records import kind_of
from mrfhw.field.result import Result
from mrfhw.jobs.job import Job
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.jobs.registry import application
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.report import outputs
from mrfhw.report.exchange import MEASURE_FILES
from mrfhw.report.outputs import FILES, write_outputs
from mrfhw.report.targets import check_folder
from mrfhw.system.files import check_writable, staged

OTHER_PROGRAMS_READ = pytest.mark.claim("interface", "other programs read the files of an answer")
RUNS_SEVERAL_CHAINS = pytest.mark.claim(
    "reports", "what the runs of several chains and windows did is added, that of their links as well")
RUN_WRITES_OVER = pytest.mark.claim("applications",
    "a run writes over nothing that it reads, over no other of its outputs and over no file that no run wrote, and removes only "
    "what an earlier run's report lists")

ROWS, COLS, LABELS = 6, 8, 5
LAST = Run(sweeps=40, burn_in=10, seed=3, estimate="last")

DISPARITY = ("disparity.pfm", "disparity.png")
# Of stereo, but the maps of how it was matched, what pixels share, and what cameras tell.
EVERY = tuple(name for name in outputs.files_of(application("stereo"))
              if not name.startswith(("occluded", "confidence", "interval_50", "depth", "cloud")))
APPLICATIONS = {"scalar": "stereo", "flow": "motion", "classes": "problem", "grey": "denoise"}  # by kind of scale


class Truth:
    error_name = "error of disparity (pixels)"
    wrong_above = 1.0
    wrong = "disparity off by more than 1 pixel"
    title, note = "truth", ""

    def __init__(self):
        self.picture = np.random.default_rng(5).uniform(10, 14, (ROWS, COLS, 1))
        self.picture[0, :3] = np.nan

    def metrics(self, labels, mean, median=None):
        return {"bad_1": 12.5, "bad_2": None, "labels": float(labels.sum()), "mean": None if mean is None else float(mean.sum())}

    def error(self, labels):
        return np.abs(labels + 10.0 - self.picture[..., 0])


def job(kind="scalar", **changes):
    values = np.arange(LABELS, dtype=float)[:, None] + 10
    if kind == "flow":
        values = np.concatenate([values, -values], 1)
    problem = Problem(labels=LABELS, singleton1=np.zeros((ROWS, COLS), np.int64), constants=np.arange(LABELS))
    return Job(**{**dict(
        application=application(APPLICATIONS[kind]), config=Config(), problem=problem, run=Run(sweeps=40, burn_in=10, seed=3),
        inputs={"left": np.zeros((ROWS, COLS), np.uint8)}, settings={"labels": LABELS},
        scale=LabelScale(values=values, name="disparity (pixels)", kind=kind)), **changes})


def result(seed=0, **changes):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, (ROWS, COLS, LABELS)).astype(np.uint32)
    counts[0, 0] = 0
    last = rng.integers(0, LABELS, (ROWS, COLS)).astype(np.uint8)
    return Result(**{**{"backend": "float", "counts": counts, "last": last, "initial": last, "label_evaluations": 480,
                        "wall_seconds": 0.5}, **changes})


def trace(chains=2, looks=40):
    rng = np.random.default_rng(1)
    return Trace(sweeps=np.arange(1, looks + 1), burn_in=10, energy=rng.normal(1000, 10, (chains, looks)),
                 sites=np.array([[1, 1], [2, 3]]), labels=rng.integers(0, LABELS, (chains, looks, 2)).astype(np.uint8))


def write(directory, what=None, results=None, trace=None, **changes):
    return write_outputs(directory, what or job(), Solution(results=results or [result()], trace=trace), **changes)


def strict_json(path):
    def refuse(text):
        raise AssertionError(f"{text} is not JSON")

    return json.loads(path.read_text(), parse_constant=refuse)


def names(directory):
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.slow
def test_all_files_and_what_is_in_them(tmp_path):
    out = tmp_path / "out"
    results = [result(0), result(1)]
    returned = write(out, job(truth=Truth()), results, trace())
    assert names(out) == sorted(EVERY)
    assert names(tmp_path) == ["out"]
    solution = Solution(results=results)
    found = quantify(solution.counts, solution.last, job().scale)
    expected = {"labels": found.mode, "last": results[0].last, "entropy": entropy(solution.counts), "mean": found.mean,
                "std": found.std, "interval": found.interval}
    for name, array in expected.items():
        read = np.load(out / f"{name}.npy")
        assert read.dtype == (np.uint8 if name in ("labels", "last") else np.float64)
        assert np.array_equal(read, array)
    with np.load(out / "histogram.npz") as archive:
        assert list(archive) == ["counts"]
        assert archive["counts"].dtype == np.uint8
        assert np.array_equal(archive["counts"], results[0].counts + results[1].counts)
    for name in EVERY:
        if name.endswith(".png") and name not in DISPARITY:
            with Image.open(out / name) as image:
                assert min(image.size) > 200
                assert len(image.convert("RGB").getcolors(1 << 24)) > 20
    read = strict_json(out / "report.json")
    assert read == returned
    assert sorted(read["files"]) == sorted(EVERY)
    assert read["metrics"]["labels"] == found.mode.sum()
    assert read["metrics"]["mean"] == pytest.approx(found.mean.sum())
    assert read["settings"]["labels"] == LABELS
    assert read["settings"]["machine"] == Config().to_dict()


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "largest"), [(np.uint8, 255), (np.uint16, 256), (np.uint16, 65535), (np.uint32, 65536)])
def test_the_histogram_is_kept_whole(tmp_path, dtype, largest):
    one = result()
    one.counts[1, 1, 2] = largest
    write(tmp_path, results=[one])
    with np.load(tmp_path / "histogram.npz") as archive:
        assert archive["counts"].dtype == dtype
        assert np.array_equal(archive["counts"], one.counts)


def test_without_truth_and_trace(tmp_path):
    what = write(tmp_path)
    ordered = {"mean.npy", "std.npy", "std.png", "interval.npy", "median.npy"}
    assert names(tmp_path) == sorted({*FILES, *ordered, *DISPARITY, *MEASURE_FILES}) == sorted(what["files"])
    assert what["metrics"] == {}
    assert what["calibration"] is None
    assert what["convergence"] is None
    assert what["uncertainty"]["sites"] == ROWS * COLS - 1


@pytest.mark.slow
def test_classes_have_no_mean(tmp_path):
    what = write(tmp_path, job("classes", truth=Truth()), trace=trace())
    assert names(tmp_path) == sorted({*EVERY, "classes.png"} - {*DISPARITY, *outputs.ORDERED_FILES, "mean.pfm", "std.pfm"})
    assert what["metrics"]["mean"] is None
    assert list(what["calibration"]["auroc"]) == ["entropy"]


def test_motions(tmp_path):
    write(tmp_path, job("flow"))
    assert np.load(tmp_path / "mean.npy").shape == (ROWS, COLS, 2)
    assert np.load(tmp_path / "interval.npy").shape == (ROWS, COLS, 2, 2)


def test_annealing_has_the_last_sample(tmp_path):
    what = write(tmp_path, job(annealing=True, run=LAST, truth=Truth()), [result(counts=None)], trace())
    assert np.array_equal(np.load(tmp_path / "labels.npy"), result().last)
    assert what["estimate"] == "last sample"
    assert what["metrics"]["labels"] == result().last.sum()
    assert "temperature changes" in what["convergence"]["note"]


@pytest.mark.slow
def test_the_last_sample_has_no_uncertainty(tmp_path):
    write(tmp_path, job(truth=Truth()), trace=trace())
    what = write(tmp_path, job(run=LAST, truth=Truth()), [result(counts=None)], trace())
    of_samples = {"entropy.png", "entropy.npy", "histogram.npz", "std.png", "mean.npy", "std.npy", "interval.npy", "median.npy",
                  "sparsification.png", *MEASURE_FILES}
    assert names(tmp_path) == sorted(set(EVERY) - of_samples)
    assert what["uncertainty"] is what["calibration"] is None
    assert what["convergence"]["energy"] is not None


@pytest.mark.slow
def test_a_mode_of_nothing_is_the_last_sample(tmp_path):
    one = result(counts=np.zeros((ROWS, COLS, LABELS), np.uint32))
    what = write(tmp_path, job(annealing=True, truth=Truth()), [one])
    assert what["calibration"]["pixels"] == 0
    assert what["uncertainty"]["mean_entropy"] is None
    assert np.array_equal(np.load(tmp_path / "mean.npy")[..., 0], one.last + 10.0)


@pytest.mark.slow
def test_files_of_an_earlier_run_go_where_they_would_mislead(tmp_path):
    write(tmp_path, job(truth=Truth()), trace=trace())
    (tmp_path / "note.txt").write_text("mine")
    what = write(tmp_path)
    assert names(tmp_path) == sorted([*what["files"], "note.txt"])
    assert "truth.png" not in names(tmp_path)


def test_a_new_directory_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").mkdir()
    write(tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (30, 1)])
def test_narrow_grids(tmp_path, shape):
    counts = np.ones((*shape, LABELS), np.uint32)
    last = np.zeros(shape, np.uint8)
    problem = Problem(labels=LABELS, singleton1=np.zeros(shape, np.int64), constants=np.arange(LABELS))
    write(tmp_path / "out", job(problem=problem, inputs={}), [result(counts=counts, last=last, initial=last)])


def test_report_of_float_has_null_where_there_is_nothing(tmp_path):
    what = write(tmp_path)
    for key in ("cycles", "utilization", "stall_cycles", "gap_cycles", "lanes", "log_messages"):
        assert what[key] is None
    assert what["backend"] == "float"
    assert what["version"] == __version__
    assert what["application"] == "stereo"
    assert what["config_digest"] == Derived().digest
    assert what["speed"] == {"label_evaluations_per_second": 960.0}
    assert (what["rows"], what["columns"], what["sweeps"], what["burn_in"]) == (ROWS, COLS, 40, 10)


def hardware(seed=0, **changes):
    return result(seed, **{**dict(backend="rtl", cycles=1000, stall_cycles=7, gap_cycles=9, lanes=2,
                                  messages=np.zeros((11, 3), np.int64),
                                  loading_cycles=100, windows=3, reconnections=2, replication=1),
                           **changes})


@pytest.mark.tools
def test_report_of_rtl(tmp_path):
    what = write(tmp_path, results=[hardware()])
    assert (what["cycles"], what["stall_cycles"], what["log_messages"]) == (1000, 7, 11)
    assert what["utilization"] == pytest.approx(0.24)
    assert what["speed"]["cycles_per_second"] == 2000.0
    assert what["extra"] == {"loading_cycles": 100, "windows": 3, "reconnections": 2, "replication": 1}


@pytest.mark.tools
@RUNS_SEVERAL_CHAINS
@pytest.mark.claim(
    "sessions", "every backend is a session of one kind; numbers of visits and chains add up by one stated rule")
def test_report_of_several_chains(tmp_path):
    second = hardware(1, cycles=3000, stall_cycles=1, gap_cycles=2, messages=None, wall_seconds=1.5,
                      messages_counted=5, loading_cycles=50, windows=3, reconnections=5, replication=2)
    what = write(tmp_path, results=[hardware(), second])
    assert (what["cycles"], what["stall_cycles"], what["gap_cycles"], what["log_messages"]) == (4000, 8, 11, 16)
    assert what["label_evaluations"] == 960
    assert what["wall_seconds"] == 2.0
    assert what["utilization"] == pytest.approx(960 / (2 * 4000))
    assert what["extra"] == {"loading_cycles": 150, "windows": 3, "reconnections": 7, "replication": 2}
    assert [chain["seed"] for chain in what["chains"]] == [3, 4]
    assert [chain["cycles"] for chain in what["chains"]] == [1000, 3000]
    assert [chain["log_messages"] for chain in what["chains"]] == [11, 5]


@RUNS_SEVERAL_CHAINS
def test_what_the_links_of_several_chains_did_is_added(tmp_path):
    links = [{"reconnections": 2, "repeated_requests": 7, "damaged_frames": 0, "loading_seconds": 0.5, "replication": 3},
             {"reconnections": 3, "repeated_requests": 1, "damaged_frames": 4, "loading_seconds": 0.25, "replication": 3}]
    what = write(tmp_path, results=[result(number, backend="board", **numbers) for number, numbers in enumerate(links)])
    assert what["extra"] == {"reconnections": 5, "repeated_requests": 8, "damaged_frames": 4, "loading_seconds": 0.75,
                             "replication": 3}
    assert [chain["extra"] for chain in what["chains"]] == links
    assert ">reconnections</th><td class=number>5</td>" in (tmp_path / "report.html").read_text()


def test_no_speed_without_time(tmp_path):
    assert write(tmp_path, results=[result(wall_seconds=0.0)])["speed"] == {"label_evaluations_per_second": None}


def test_json_never_has_nan(tmp_path):
    truth = Truth()
    truth.metrics = lambda labels, mean, median: {"bad_1": float("nan")}
    settings = {"a": float("inf"), "b": np.float64("nan"), "c": (np.int64(3), np.bool_(True)), 4: Path("p")}
    stuck = dataclasses.replace(trace(), labels=np.array([0, 1], np.uint8)[:, None, None].repeat(40, 1).repeat(2, 2))
    write(tmp_path / "out", job(settings=settings, truth=truth), trace=stuck)
    read = strict_json(tmp_path / "out" / "report.json")
    assert read["metrics"] == {"bad_1": None}
    assert read["convergence"]["sites"]["rhat_infinite"] == 1
    assert read["convergence"]["sites"]["rhat_worst"] == "inf"
    assert {k: v for k, v in read["settings"].items() if k != "machine"} == {"a": "inf", "b": None, "c": [3, True],
                                                                          "4": "p"}


@pytest.mark.parametrize("existing", [False, True])
def test_an_error_leaves_nothing_behind(tmp_path, monkeypatch, existing):
    out = tmp_path / "deep" / "er" / "out"
    if existing:
        out.mkdir(parents=True)
        (out / "labels.npy").write_text("old")
        (out / "report.json").write_text(json.dumps({"files": ["labels.npy", "report.json"]}))

    def broken(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outputs.np, "savez_compressed", broken)
    with pytest.raises(OSError, match="No space"):
        write(out, job())
    if existing:
        assert names(out) == ["labels.npy", "report.json"]
        assert (out / "labels.npy").read_text() == "old"
    else:
        assert not list(tmp_path.iterdir())


def test_an_existing_directory_keeps_its_other_files(tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    (tmp_path / "labels.npy").write_text("old")
    (tmp_path / "report.json").write_text(json.dumps({"files": ["labels.npy", "report.json"]}))
    what = write(tmp_path)
    assert names(tmp_path) == sorted([*what["files"], "note.txt"])
    assert np.load(tmp_path / "labels.npy").shape == (6, 8)


def test_a_directory_in_the_place_of_a_file(tmp_path):
    (tmp_path / "report.json").mkdir()
    with pytest.raises(IsADirectoryError):
        write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_not_a_directory(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(NotADirectoryError):
            check_writable(place)
        with pytest.raises(NotADirectoryError), staged(place):
            raise AssertionError("not reached")
    check_writable(tmp_path / "new" / "newer")
    assert not (tmp_path / "new").exists()


def test_errors_name_the_folder_that_was_asked_for(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("nowhere")
    for folder, said in ((link, "it is a link to nothing"), (Path("/proc/folder"), "No such file or directory")):
        with pytest.raises(FileNotFoundError, match=said) as caught, staged(folder):
            pass
        assert caught.value.filename == str(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            check_writable(tmp_path / "out")
    finally:
        tmp_path.chmod(0o700)


def test_no_permission_as_the_system_reports_it(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    with pytest.raises(PermissionError):
        check_writable(tmp_path / "out")


# -- files of other programs


def halves_of(folder: Path) -> np.ndarray:
    """(H, W): the answer, of the histogram in a folder."""
    return quantify(np.load(folder / "histogram.npz")["counts"], np.load(folder / "last.npy"), job().scale).halves


@OTHER_PROGRAMS_READ
def test_disparities_as_other_programs_read_them(tmp_path):
    write(tmp_path)
    cv2 = pytest.importorskip("cv2")
    halves = halves_of(tmp_path)
    assert np.array_equal(cv2.imread(str(tmp_path / "disparity.pfm"), cv2.IMREAD_UNCHANGED), halves)
    for name in ("mean", "std", "entropy"):
        wanted = np.load(tmp_path / f"{name}.npy").reshape(halves.shape)
        assert np.allclose(cv2.imread(str(tmp_path / f"{name}.pfm"), cv2.IMREAD_UNCHANGED), wanted)
    assert np.array_equal(cv2.imread(str(tmp_path / "disparity.png"), cv2.IMREAD_UNCHANGED), np.maximum(1, np.rint(256 * halves)))


@OTHER_PROGRAMS_READ
def test_a_pfm_file(tmp_path):
    write(tmp_path)
    head, values = (tmp_path / "disparity.pfm").read_bytes().split(b"-1.0\n", 1)
    assert head == b"Pf\n8 6\n"
    assert np.array_equal(np.frombuffer(values, "<f4").reshape(ROWS, COLS)[::-1], halves_of(tmp_path))
    with Image.open(tmp_path / "disparity.png") as image:
        assert (image.mode, image.size) == ("I;16", (COLS, ROWS))


def test_negative_disparities_have_no_png(tmp_path):
    write(tmp_path, job())
    assert "disparity.png" in names(tmp_path)
    moved = dataclasses.replace(job(), scale=dataclasses.replace(job().scale, values=job().scale.values - 1000))
    assert "disparity.png" not in write(tmp_path, moved)["files"]
    assert "disparity.png" not in names(tmp_path)


def test_classes_have_a_palette(tmp_path):
    write(tmp_path, job("classes"))
    with Image.open(tmp_path / "classes.png") as image:
        assert image.mode == "P"
        assert np.array_equal(np.asarray(image), np.load(tmp_path / "labels.npy"))
        colours = np.asarray(image.convert("RGB")).reshape(-1, 3)
        assert len(np.unique(colours, axis=0)) == len(np.unique(np.asarray(image)))


@RUN_WRITES_OVER
def test_what_is_not_of_an_earlier_run_stays(tmp_path):
    """Nor is it written over. Of files that this run has no use for, those go that the folder's report lists."""
    (tmp_path / "truth.png").write_text("mine")
    (tmp_path / "flow.flo").write_text("mine")
    write(tmp_path)
    with pytest.raises(ProblemError, match=r"which has a truth\.png that no run wrote there: give another folder"):
        write(tmp_path, job(truth=Truth()))
    assert (tmp_path / "truth.png").read_text() == "mine"
    (tmp_path / "truth.png").unlink()
    write(tmp_path, job(truth=Truth()))
    assert (tmp_path / "truth.png").read_bytes().startswith(b"\x89PNG")
    write(tmp_path)
    assert not (tmp_path / "truth.png").exists()
    assert (tmp_path / "flow.flo").read_text() == "mine"


@RUN_WRITES_OVER
@pytest.mark.parametrize(("verb", "kind"), [("stereo", "scalar"), ("motion", "flow"), ("problem", "classes"),
                                            ("problem", "scalar")])
def test_what_is_written_is_what_may_be(verb, kind, tmp_path):
    what = job(kind, application=application(verb), truth=Truth() if kind == "scalar" else None)
    assert set(write(tmp_path, what)["files"]) <= set(outputs.may_write(what))


@RUN_WRITES_OVER
@pytest.mark.parametrize("name", ["estimate.png", "disparity.pfm", "report.json"])
def test_what_was_read_is_not_written_over(name, tmp_path):
    (tmp_path / name).write_text("mine")
    (tmp_path / "linked").symlink_to(tmp_path / name)
    for source in (tmp_path / name, tmp_path / "linked"):
        with pytest.raises(ProblemError, match=f"where a run writes {name}, and this run reads that file"):
            write(tmp_path, job(sources=(source,)))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "linked"])
    assert (tmp_path / name).read_text() == "mine"


@RUN_WRITES_OVER
def test_a_folder_in_the_place_of_a_file_is_found_before_anything_is_made(tmp_path):
    (tmp_path / "labels.npy").mkdir()
    with pytest.raises(IsADirectoryError):
        check_folder(tmp_path, outputs.FILES, [])


@RUN_WRITES_OVER
def test_kinds_of_saved_files(tmp_path):
    problem = job().problem
    problem.save(tmp_path / "problem.npz")
    (tmp_path / "text").write_text("mine")
    np.savez(tmp_path / "arrays.npz", json=np.array('{"format": 3}'))
    whole = (tmp_path / "problem.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[:len(whole) // 2])
    assert [kind_of(tmp_path / name) for name in ("problem.npz", "text", "arrays.npz", "cut.npz", "missing")] == [
        "problem", None, None, None, None]
