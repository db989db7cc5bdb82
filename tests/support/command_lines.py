"""Command lines whose every bit is recorded: what `mrfhw run` writes of small built-in scenes.

    python -m support.command_lines --record "REASON"   # from tests/: run the lines that are new or changed into the record
    python -m support.command_lines --compare           # what differs from the record, for the mrfhw that Python finds

Recording asks for a reason and keeps it with the lines whose bits it changes: a command line gives tomorrow what it gives today,
unless someone says why not. --compare runs with an earlier mrfhw as well: PYTHONPATH=CHECKOUT.

Lines name their backend or a machine. Backend `model` is integers from the tables on, which are rounded far from where libraries'
exp and log differ. Of `cpu` the record has only what needs neither: one way, at temperatures none of which rests, weights are
polynomials. Elsewhere `cpu` and `float` take exp from NumPy, whose last bit may depend on the processor; and means of classes that
are not given are scikit-learn's. What these give is compared with itself, by other numbers of threads.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner
from PIL import Image

__all__ = ["LINES", "LONG", "OUT", "RECORDED", "SCENES", "invoke", "prepare", "what_it_gave"]

RECORDED = Path(__file__).parents[1] / "recorded" / "command_lines.json"
OUT = ("--no-report", "-o", "out")  # of every line

# What makes the lines' files, in the directory where they run.
SCENES = (
    "demo-scene stereo --rows 40 --cols 48 --labels 12 -o stereo",
    "demo-scene motion --rows 32 --cols 40 -o motion",
    "demo-scene segment --rows 40 --cols 48 -o segment",
    "demo-scene denoise --rows 40 --cols 48 -o denoise",
    "run segment segment/image.png --means 60,104,148,196 --data grey --backend model --sweeps 30 --seed 3 "
    "--initial random --save-problem field.npz --no-report -o out",
)

_STEREO = "run stereo stereo/left.png stereo/right.png --labels 12"
_MOTION = "run motion motion/first.png motion/second.png"
_SEGMENT = "run segment segment/image.png --means 60,104,148,196"
_DENOISE = "run denoise denoise/noisy.png --mask denoise/mask.png"
_PROBLEM = "run problem field.npz"
_SMALL = "--spes 4 --spus 1 --tile-rows 8 --tile-cols 8"  # 16x16 sites: the scenes are taken in windows

LINES = (
    # Defaults, by each kind of data.
    f"{_STEREO} --backend model",
    f"{_STEREO} --backend model --one-way",
    f"{_STEREO} --backend model --data grey",
    f"{_STEREO} --backend model --data grey --one-way",
    f"{_MOTION} --backend model --sweeps 40",
    f"{_MOTION} --backend model --data grey --vectors 3x3",
    f"{_SEGMENT} --backend model",
    f"{_DENOISE} --backend model --sweeps 60",
    f"{_PROBLEM} --backend model",
    # What is made of the samples.
    f"{_STEREO} --backend model --anneal",
    f"{_STEREO} --backend model --anneal --estimate mode --data grey --sweeps 80",
    f"{_STEREO} --backend model --estimate mean --sweeps 40",
    f"{_DENOISE} --backend model --estimate last --levels 32 --sweeps 20",
    f"{_SEGMENT} --backend model --anneal --sweeps 60",
    f"{_PROBLEM} --backend model --seed 9 --chains 3 --sweeps 60 --burn-in 10",
    # Machines; those that are named need no backend.
    f"{_STEREO} --spes 4 --spus 4 --data grey --sweeps 40",
    f"{_STEREO} --sampler cdf --sweeps 40",
    f"{_STEREO} --preset census --sweeps 40",
    f"{_STEREO} --preset paper-16x2 --sweeps 40",
    f"{_SEGMENT} {_SMALL} --visit 4 --sweeps 40",
    f"{_STEREO} {_SMALL} --tile-cols 16 --data grey --one-way --sweeps 40 --initial minimum",
    # Temperatures.
    f"{_STEREO} --backend model --one-way --temperature 8 --final-temperature 1 --sweeps 60 --chains 1",
    f"{_STEREO} --backend cpu --data grey --one-way --cooling-table 9,8,7,6.5,6,5.5,5,4.5,4,3.5,3,2.5 --sweeps 12 --seed 5",
)
LONG = (
    # What 07d510f gave without these options, when their defaults were these.
    f"{_STEREO} --backend model --one-way --sweeps 200 --beta 1 --tau 3 --temperature 1.9",
    f"{_STEREO} --backend model --anneal --sweeps 200 --beta 1 --tau 3 --temperature 2.47 --final-temperature 1.33",
    # What segmentation gave when it began at random labels.
    f"{_SEGMENT} --backend model --initial random",
    f"{_SEGMENT} {_SMALL} --visit 4 --sweeps 40 --initial random",
    # What motion gave when it was not matched both ways.
    f"{_MOTION} --backend model --one-way --sweeps 40",
    # What the defaults of greys gave before chains that do not agree went on.
    f"{_STEREO} --backend model --data grey --most-sweeps 500",
    f"{_STEREO} --backend model --data grey --one-way --most-sweeps 500",
    f"{_STEREO} --preset census-subsets --sweeps 40",
    f"{_STEREO} --preset census {_SMALL.replace('--spus 1', '--lanes 4')} --tile-cols 32 --visit 5 --sweeps 40",
    f"{_STEREO} --backend model --estimate mean --data grey --sampler cdf --sweeps 40",
    f"{_STEREO} --backend model --window 4,6,32,28 --chains 4 --sweeps 40 --min-disparity 2",
    f"{_STEREO} --preset paper-16x2 --anneal --sweeps 60",
    f"{_MOTION} --sampler cdf --data grey --vectors 3x5 --sweeps 40",
    f"{_MOTION} --backend model --anneal --vectors 5x5 --sweeps 40",
    f"{_MOTION} {_SMALL} --tile-cols 16 --data grey --vectors 3x3 --sweeps 20",
    f"{_SEGMENT} --backend model --data grey --estimate mode --cooling-table 20,16,12,9 --cooling-stride 5 --sweeps 40",
    f"{_SEGMENT} --preset colour --sweeps 40",
    f"{_DENOISE} {_SMALL} --levels 16 --sweeps 40",
    f"{_DENOISE} --sampler cdf --estimate mean --levels 64 --sweeps 40",
    f"{_PROBLEM} {_SMALL} --visit 3",
    f"{_PROBLEM} --backend model --estimate last",
    f"{_PROBLEM} --sampler cdf --estimate mean --initial minimum",
)

NUMBERS = ("cycles", "label_evaluations", "stall_cycles", "gap_cycles", "log_messages")
EXTRA = ("loading_cycles", "reading_cycles")


def digest(array: np.ndarray) -> str:
    """SHA-256, 16 digits, of shape and integers: neither type nor file format counts."""
    integers = np.ascontiguousarray(array, np.int64)
    assert np.array_equal(integers, array)
    return hashlib.sha256(repr(integers.shape).encode() + integers.tobytes()).hexdigest()[:16]


def invoke(line: str, *more: str) -> None:
    """The command line, in this process and the working directory."""
    from mrfhw.cli import main

    done = CliRunner().invoke(main, [*shlex.split(line), *more], prog_name="mrfhw")
    if done.exit_code:
        raise RuntimeError(f"mrfhw {line}: {done.output.strip() or done.exception!r}")


def prepare() -> dict[str, str]:
    """Make what the lines read, in the working directory; the digest of each picture."""
    for line in SCENES:
        invoke(line)
    return {str(path): digest(np.asarray(Image.open(path))) for path in sorted(Path().glob("*/*.png")) if path.parts[0] != "out"}


def what_it_gave(directory: Path = Path("out")) -> dict[str, Any]:
    """Digests of the arrays that a run wrote into `directory`, and the numbers of its report that do not depend on time."""
    report = json.loads((directory / "report.json").read_text())
    gave: dict[str, Any] = {name: digest(np.load(directory / f"{name}.npy")) for name in ("labels", "last")}
    if "histogram.npz" in report["files"]:
        gave["counts"] = digest(np.load(directory / "histogram.npz")["counts"])
    elif "mean.npy" in report["files"]:
        gave["mean"] = digest(np.rint(np.load(directory / "mean.npy") * 2**20))
    gave |= {name: report[name] for name in NUMBERS if report.get(name) is not None}
    gave |= {name: report["extra"][name] for name in EXTRA if name in report["extra"]}
    if report.get("first"):
        gave["first"] = {name: report["first"][name] for name in NUMBERS if report["first"].get(name) is not None}
    return gave


def gives(line: str) -> dict[str, Any]:
    """What the line gives now; {"refused": why} where it is refused."""
    try:
        invoke(line, *OUT)
    except RuntimeError as error:
        return {"refused": str(error).splitlines()[-1]}
    return what_it_gave()


def _differences(name: str, recorded: Any, found: Any) -> str:
    if not isinstance(recorded, dict) or "refused" in found:
        return f"{name}\n    recorded {recorded}\n    found    {found}"
    unlike = [key for key in {**recorded, **found} if recorded.get(key) != found.get(key)]
    return "\n".join([name, *(f"    {key}: recorded {recorded.get(key)}, found {found.get(key)}" for key in unlike)])


def _written(record: dict[str, Any]) -> str:
    """A line of the file for each command line."""
    def block(name: str) -> str:
        return ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in record[name].items())

    changes = ",\n".join(f"  {json.dumps(change)}" for change in record["changes"])
    pictures, lines = block("pictures"), block("lines")
    return f'{{\n "changes": [\n{changes}\n ],\n "pictures": {{\n{pictures}\n }},\n "lines": {{\n{lines}\n }}\n}}\n'


def main() -> None:
    parser = argparse.ArgumentParser(description="Command lines whose every bit is recorded.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--record", metavar="REASON", help="write what the lines give, and why it changed")
    what.add_argument("--compare", action="store_true", help="print what differs from the record")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
        pictures = prepare()
        lines = {line: gives(line) for line in LINES + LONG}
    record = json.loads(RECORDED.read_text()) if RECORDED.exists() else {"changes": [], "pictures": {}, "lines": {}}
    unlike = [line for line in lines if record["lines"].get(line) != lines[line]]
    if given.compare:
        unlike += [name for name in pictures if record["pictures"].get(name) != pictures[name]]
        found, recorded = {**lines, **pictures}, {**record["lines"], **record["pictures"]}
        print("\n".join(_differences(name, recorded.get(name, {}), found[name]) for name in unlike))
        print(f"{len(lines) - len([name for name in unlike if name in lines])} of {len(lines)} command lines gave what is recorded")
        return
    if not given.record.strip():
        parser.error("--record takes a reason")
    refused = [line for line in lines if "refused" in lines[line]]
    if refused:
        parser.error(f"refused: {refused}")
    after = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True,
                           check=True).stdout.strip()
    # Lines that the record had and that give something else; new ones change nobody's bits.
    changed = [line for line in unlike if line in record["lines"]]
    change = {"after": after, "reason": given.record, "changed": changed, "new": len(unlike) - len(changed)}
    RECORDED.write_text(_written({"changes": [*record["changes"], change], "pictures": pictures, "lines": lines}))
    print(f"{len(changed)} changed, {len(unlike) - len(changed)} new of {len(lines)} command lines", os.path.relpath(RECORDED))


if __name__ == "__main__":
    main()
