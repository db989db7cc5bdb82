"""The files of a run: pictures, arrays and report.json, all of them or none."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mrfhw import __version__
from mrfhw.config import Config
from mrfhw.result import Result

__all__ = ["FILES", "check_writable", "entropy", "report", "staged", "write_outputs"]

FILES = ("estimate.png", "entropy.png", "labels.npy", "last.npy", "histogram.npz", "report.json")


@contextlib.contextmanager
def staged(directory: Path) -> Iterator[Path]:
    """A scratch directory beside `directory` whose files move into it when the block ends without error.

    On an error nothing is left and `directory` is neither made nor changed. Files of other names in it stay.
    Parents are made as needed. Raises OSError where the place cannot be written.
    """
    check_writable(directory)
    made = [parent for parent in directory.parents if not parent.exists()]
    scratch: Path | None = None
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        # Within an existing directory, so that only that one need be writable; a rename stays on its disk.
        beside = directory if directory.exists() else directory.parent
        scratch = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=beside))
        yield scratch
        _publish(scratch, directory)
    except BaseException:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
        for parent in made:
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def check_writable(directory: Path) -> None:
    """Raise OSError where `directory` cannot be written or made; writes nothing."""
    place = directory
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))


def _publish(scratch: Path, directory: Path) -> None:
    """Make the files of `scratch` those of `directory`."""
    if not directory.exists():
        scratch.chmod(0o777 & ~_umask())
        scratch.rename(directory)
        return
    moves = [(path, directory / path.name) for path in sorted(scratch.iterdir())]
    for _, target in moves:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    for path, target in moves:
        os.replace(path, target)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def entropy(counts: np.ndarray) -> np.ndarray:
    """Entropy in bits of each site's histogram, float64 (H, W); counts: (H, W, L). 0 where nothing was counted."""
    total = counts.sum(-1, keepdims=True)
    share = counts / np.maximum(total, 1)
    # + 0.0 turns the -0.0 of a certain site into 0.0.
    return -np.sum(share * np.log2(np.where(share > 0, share, 1.0)), -1) + 0.0


def _picture(path: Path, values: np.ndarray, title: str, bar: str, colours: str, low: float, high: float) -> None:
    # Imported here because it takes most of a second.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, cols = values.shape
    width = 6.4
    figure = Figure(figsize=(width, min(12.0, max(2.0, width * 0.82 * rows / cols + 0.6))), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    shown = axes.imshow(values, cmap=colours, vmin=low, vmax=high, interpolation="nearest")
    axes.set_title(title, fontsize=10)
    axes.set_axis_off()
    figure.colorbar(shown, ax=axes, label=bar)
    figure.savefig(path, dpi=130)


def plain(value: Any) -> Any:
    """`value` for JSON: no NumPy types, and None for what is no finite number."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def report(result: Result, config: Config, settings: dict[str, Any],
           metrics: dict[str, float | None]) -> dict[str, Any]:
    """What report.json holds. Quantities that a backend does not have are None (null), never NaN.

    metrics: `bad_1`, `bad_2` in percent where there is truth, else empty.
    speed: label evaluations, and for `rtl` also cycles, a second of wall-clock time.
    """
    seconds = result.wall_seconds
    speed = {"label_evaluations_per_second": result.label_evaluations / seconds if seconds > 0 else None}
    if result.backend == "rtl":
        speed["cycles_per_second"] = result.cycles / seconds if seconds > 0 and result.cycles is not None else None
    return plain({
        "version": __version__, "backend": result.backend, "config_digest": config.digest,
        "cycles": result.cycles, "label_evaluations": result.label_evaluations, "utilization": result.utilization,
        "stall_cycles": result.stall_cycles, "gap_cycles": result.gap_cycles, "lanes": result.lanes,
        "log_messages": None if result.messages is None else len(result.messages),
        "wall_seconds": seconds, "speed": speed, "metrics": metrics,
        "settings": {**settings, "machine": config.to_dict()}, "extra": result.extra,
    })


def write_outputs(directory: Path, result: Result, config: Config, *, title: str, settings: dict[str, Any],
                  metrics: dict[str, float | None], first_value: int = 0, value_name: str = "label") -> dict[str, Any]:
    """Write FILES into `directory`, all or none, and return the report.

    estimate.png shows the mode plus `first_value` under the colour bar `value_name`; entropy.png the entropy of
    each histogram in bits. labels.npy, last.npy: uint8 (H, W) label indices. histogram.npz: `counts` (H, W, L).
    Raises OSError where the directory cannot be written.
    """
    labels = result.counts.shape[-1]
    what = report(result, config, settings, metrics)
    with staged(directory) as scratch:
        low, high = float(first_value), float(first_value + labels - 1)
        values = result.mode.astype(float) + first_value
        _picture(scratch / "estimate.png", values, title, value_name, "turbo", low, high)
        _picture(scratch / "entropy.png", entropy(result.counts), f"{title}: uncertainty", "entropy (bits)", "magma",
                 0.0, float(np.log2(labels)))
        np.save(scratch / "labels.npy", result.mode)
        np.save(scratch / "last.npy", result.last)
        np.savez_compressed(scratch / "histogram.npz", counts=result.counts)
        text = json.dumps(what, indent=2, allow_nan=False)
        (scratch / "report.json").write_text(text + "\n", encoding="utf-8")
    return what
