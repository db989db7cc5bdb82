"""The scenes of Table 3.2 and the settings they run with: the one place that holds them.

The published text gives alpha, beta, T, labels, sizes and iterations. What it leaves open is `READINGS`, our reading:
which energies, and the scale between the weighted sum of 6-bit data and the 8-bit energies that T divides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from mrfhw.applications.motion.field import motion_problem, motion_vectors
from mrfhw.applications.stereo.field import bad_pixels, stereo_problem
from mrfhw.field.problem import Problem, ProblemError
from mrfhw.pictures.flow import end_point_error, read_flow
from mrfhw.pictures.images import load_disparity, load_grey
from mrfhw.scenes import motion_scene, stereo_scene

__all__ = ["BUILT_IN", "READINGS", "SETTINGS", "Reading", "Scene", "Setting", "chosen_settings", "load_scene"]

DATA_BITS = 6
BAD_PIXEL = 1.0  # a disparity that is off by more than this is a bad pixel
BUILT_IN = "built-in scene"


@dataclass(frozen=True)
class Reading:
    """Our reading of what the text leaves open of an application's energies.

    E = min(255, (alpha E_singleton + beta sum of E_doubleton) >> energy_shift), and T divides that E: in units of
    unshifted energy, which `Problem` takes, it is T << energy_shift. No doubleton is truncated.
    out_of_range: E_singleton where the second picture has no pixel.
    """

    singleton: str
    doubleton: str
    energy_shift: int
    out_of_range: int


# The energies are those of the cited applications: squared differences of grey and of motion vectors, absolute ones of
# grey and of disparity. The shifts are those that agree best with what the text says of its chains. Stereo: of 0 to 3
# bits, 2 has the fewest bad pixels, and alone changes 22-46 % of the labels. Motion: with 1 bit fewer than 14.7 % of the
# pixels take more than two labels; with 2 bits the end-point error of dimetrodon is less (0.9 in place of 1.5 pixels after
# 1,500 iterations from random labels), but 49 % of its pixels do. After the warm-up the log of two pairs then takes at most
# 40 % of the bandwidth, 64 % for art, whose chain has more labels than the printed ones of Equation 3.5.
READINGS = {
    "motion": Reading("squared", "squared", 1, 100),
    "stereo": Reading("absolute", "absolute", 2, 10),
}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A row of Table 3.2, the GPU's time of Figure 3.17, and where the nearest data are.

    rows, cols, labels, iterations: as printed. gpu_ms: milliseconds on an RTX 2080 Ti. folder: below the data directory.
    least, used_labels: the first disparity of our labels and their number; they differ from the printed ones where
    the truth of our copy needs it. truth_scale: grey value of a pixel of disparity.
    """

    name: str
    application: str
    labels: int
    rows: int
    cols: int
    iterations: int
    gpu_ms: float
    folder: str
    least: int = 0
    used_labels: int
    truth_scale: float = 1.0

    @property
    def alpha(self) -> int:
        return 6

    @property
    def beta(self) -> int:
        return 6 if self.application == "motion" else 7

    @property
    def temperature(self) -> float:
        """T in units of 8-bit energy."""
        return 1.0 if self.application == "motion" else 2.0

    @property
    def reading(self) -> Reading:
        return READINGS[self.application]


SETTINGS = (
    Setting(name="dimetrodon", application="motion", labels=49, rows=388, cols=584, iterations=3000, gpu_ms=1082,
            folder="flow/Dimetrodon", used_labels=49),
    Setting(name="rubberwhale", application="motion", labels=49, rows=388, cols=584, iterations=3000, gpu_ms=1082,
            folder="flow/RubberWhale", used_labels=49),
    Setting(name="venus", application="motion", labels=49, rows=190, cols=210, iterations=3000, gpu_ms=204,
            folder="flow/Venus-210x190", used_labels=49),
    Setting(name="art", application="stereo", labels=28, rows=278, cols=348, iterations=3000, gpu_ms=242,
            folder="stereo/art-348x278", least=19, used_labels=38, truth_scale=4),
    Setting(name="poster", application="stereo", labels=30, rows=383, cols=435, iterations=1500, gpu_ms=303,
            folder="stereo/poster", used_labels=30, truth_scale=8),
    Setting(name="teddy", application="stereo", labels=56, rows=375, cols=450, iterations=3000, gpu_ms=839,
            folder="stereo/teddy", used_labels=56, truth_scale=4),
)


@dataclass(frozen=True)
class Scene:
    """The data of a setting.

    first, second: uint8 (H, W), 6-bit grey. truth: float64 (H, W) disparities in pixels, 0 where unknown, or
    (H, W, 2) (row, column) motions in pixels, NaN where unknown. labels, least: of the problem.
    source: the data's folder, or BUILT_IN. window: rows and columns of the motions that are labels.
    """

    setting: Setting
    first: np.ndarray
    second: np.ndarray
    truth: np.ndarray
    labels: int
    least: int
    source: str
    window: int = 7

    @property
    def name(self) -> str:
        return self.setting.name

    @property
    def built_in(self) -> bool:
        return self.source == BUILT_IN

    @property
    def caption(self) -> str:
        """The name, marked where the data are not the published ones."""
        return f"{self.name} ({BUILT_IN})" if self.built_in else self.name

    @property
    def sites(self) -> int:
        return self.first.size

    @property
    def metric(self) -> str:
        return "EPE (pixels)" if self.setting.application == "motion" else f"bad pixels (> {BAD_PIXEL:g}) (%)"

    def problem(self, heat: float = 1.0) -> Problem:
        """The field of Table 3.2, with T times `heat`."""
        s, reading = self.setting, self.setting.reading
        common = dict(alpha=s.alpha, beta=s.beta, temperature=heat * s.temperature * (1 << reading.energy_shift), tau=None,
                      singleton=reading.singleton, doubleton=reading.doubleton, out_of_range=reading.out_of_range,
                      energy_shift=reading.energy_shift)
        if s.application == "motion":
            return motion_problem(self.first, self.second, rows=self.window, cols=self.window, **common)  # type: ignore[arg-type]
        return stereo_problem(self.first, self.second, labels=self.labels, min_disparity=self.least,
                              **common)  # type: ignore[arg-type]

    @cached_property
    def _vectors(self) -> np.ndarray:
        return motion_vectors(self.window, self.window)

    def quality(self, labels: np.ndarray) -> float:
        """End-point error in pixels (motion) or percent of bad pixels (stereo), over known truth; labels: (H, W)."""
        if self.setting.application == "motion":
            return float(np.nanmean(end_point_error(self._vectors[labels].astype(float), self.truth)))
        return bad_pixels(labels, self.least, self.truth, BAD_PIXEL) or 0.0

    def outside(self) -> float:
        """Percent of the known truth that no label comes within half a pixel of: what the range of labels misses."""
        if self.setting.application == "motion":
            known = np.isfinite(self.truth).all(-1)
            low, high = self._vectors.min(0) - 0.5, self._vectors.max(0) + 0.5
            beyond = ((self.truth < low) | (self.truth > high)).any(-1)
        else:
            known = self.truth > 0
            beyond = (self.truth < self.least - 0.5) | (self.truth > self.least + self.labels - 0.5)
        return float(100 * beyond[known].mean()) if known.any() else 0.0


def chosen_settings(names: Sequence[str]) -> tuple[Setting, ...]:
    """The settings of the names, in the table's order, or all for no name. Raises ProblemError for an unknown one."""
    known = {setting.name for setting in SETTINGS}
    for name in names:
        if name not in known:
            raise ProblemError(f"scene is {name!r}; the scenes are {', '.join(s.name for s in SETTINGS)}: choose among them")
    return tuple(setting for setting in SETTINGS if not names or setting.name in names)


def _built_in(setting: Setting) -> Scene:
    """A scene of exact truth in half the printed rows and columns, with the printed labels."""
    rows, cols = setting.rows // 2, setting.cols // 2
    seed = [s.name for s in SETTINGS].index(setting.name)
    shift = 8 - DATA_BITS
    if setting.application == "motion":
        moving = motion_scene(rows, cols, seed)
        return Scene(setting, moving.first >> shift, moving.second >> shift, moving.flow, setting.labels, 0, BUILT_IN)
    made = stereo_scene(rows, cols, setting.labels, seed)
    return Scene(setting, made.left >> shift, made.right >> shift, made.disparity, setting.labels, 0, BUILT_IN)


def load_scene(setting: Setting, data: Path | None) -> Scene:
    """The scene's data from below `data`, or a built-in scene where there is no directory or it lacks the scene.

    Raises ProblemError where `data` is no directory and where a picture is missing or damaged.
    """
    if data is not None and not data.is_dir():
        raise ProblemError(f"data is {data}; it is no directory: give one with {setting.folder} and others, or leave it out")
    folder = None if data is None else data / setting.folder
    if folder is None or not folder.is_dir():
        return _built_in(setting)
    read: Callable[[str], np.ndarray] = lambda name: load_grey(folder / name, DATA_BITS)  # noqa: E731
    truth: np.ndarray
    if setting.application == "motion":
        first, second, truth = read("frame10.png"), read("frame11.png"), read_flow(folder / "flow10.flo")
    else:
        first, second = read("left.png"), read("right.png")
        truth = load_disparity(folder / "disp_left.png", setting.truth_scale)
    for name, shape in (("second picture", second.shape), ("truth", truth.shape[:2])):
        if shape != first.shape:
            raise ProblemError(f"the {name} of {folder} is {shape[1]}x{shape[0]}; the first picture is "
                               f"{first.shape[1]}x{first.shape[0]}: give files of one size")
    return Scene(setting, first, second, truth, setting.used_labels, setting.least, setting.folder)
