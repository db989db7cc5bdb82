"""What the applications that match two pictures share: how pixels are compared, on which machine, and with which energies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mrfhw.applications.descriptors import census, takes_census
from mrfhw.applications.known import GivenMask, Known, Masks
from mrfhw.applications.options import COMMON, Common, Contrast, check_choice, contrast_weights, default, picture_notes, same_size
from mrfhw.applications.unlike import Unlike
from mrfhw.field.problem import Problem
from mrfhw.field.schedule import Schedule
from mrfhw.jobs.job import START_FOUND, Cooling
from mrfhw.jobs.options import Given, Option
from mrfhw.machine.config import PRESETS, Config
from mrfhw.pictures.borders import filled_beside
from mrfhw.pictures.greys import LUMA
from mrfhw.pictures.images import Inputs, crop, load_inputs, name_of
from mrfhw.system.errors import ProblemError

__all__ = ["DATA", "Matching", "MatchingTuned"]

DATA = Option(name="data", choices=("census", "grey"), rare=True, said="census, where a preset's machine can",
              help="What pixels are compared by: which of their neighbours are darker, or their own grey.")


@dataclass(frozen=True, kw_only=True)
class MatchingTuned:
    """The numbers of an application that matches two pictures, found on other pictures than those of the README
    (docs/applications.md).

    sweeps: by default, of greys.
    census_sweeps: of census.
    cooling: of annealing.
    census: energies of the field of census descriptors, in place of the defaults of the application's problem, which are of greys.
    one_way: what differs from them where one way is matched, before that field or in its place.
    singleton_max: the greatest singleton of census.
    contrast: its weights of edges, by the first picture.
    stiffness: of the paths that first labels come from (`mrfhw.samplers.path_start`).
    first_sweeps: of each way of matching before the field itself, where that is sampled.
    needs: parameters of the machine of that field.
    """

    sweeps: int
    census_sweeps: int
    cooling: Cooling
    census: Mapping[str, Any]
    one_way: Mapping[str, Any] = field(default_factory=dict)
    singleton_max: int
    contrast: Contrast
    stiffness: int
    first_sweeps: int = 0
    needs: Mapping[str, Any] = field(default_factory=lambda: PRESETS["matching"])

    def found(self, problem: Callable[..., Any]) -> dict[str, str]:
        """The defaults that depend on what is compared, in words (`mrfhw.applications.options.common_options`)."""
        one_way = self.one_way
        energies = {name: f"{value} of census{f', {one_way[name]} one way' if name in one_way else ''}, {grey} of grey"
                    for name, value in self.census.items() if (grey := default(problem, name)) != value or name in one_way}
        sweeps = f"{self.sweeps}" if self.census_sweeps == self.sweeps else f"{self.census_sweeps} of census, {self.sweeps} of grey"
        return {"sweeps": sweeps,
                "initial": f"{START_FOUND}, of census{' both ways' if one_way else ''}; else {COMMON['initial']}", **energies}


@dataclass(frozen=True, kw_only=True)
class Matching:
    """A pair as its field takes it.

    data: (H, W) descriptors or greys of both pictures, then what else is cut to the window. pictures: what is shown of them, by
    caption. energy: arguments of the application's problem, without the schedule. edges: weights by the first picture's contrast,
    None of greys and on a machine that holds none. known: which pixels something is known of.
    """

    common: Common
    by_census: bool
    inputs: Inputs
    data: list[np.ndarray]
    pictures: dict[str, np.ndarray]
    schedule: Schedule
    energy: dict[str, Any]
    edges: np.ndarray | None
    known: Known
    told: tuple[str, ...] = ()  # of the choice of data, one line each

    @classmethod
    def of(cls, tuned: MatchingTuned, problem: Callable[..., Any], pair: Mapping[str, Any], captions: tuple[str, str],
           others: dict[str, Any], data: str | None, needed: dict[str, Any], more: Mapping[str, np.ndarray],
           given: Given, mask: GivenMask, finest: Inputs | None = None, changes: Mapping[str, Any] | None = None) -> Matching:
        """Of an application's options. Raises ProblemError or ConfigError.

        problem: the application's function from data to a Problem. pair: paths or arrays by what messages call
        the pictures.
        needed: parameters of the machine for whatever is compared. more: further images of the pictures' size, by what messages
        call them. mask: what is known of the first. finest: the pictures at 8 bits, where they have
        been read. changes: what differs from the energies of census.
        """
        check_choice("data", data, DATA.choices)
        wanted = others["singleton"]

        def by_census_on(config: Config) -> bool:
            return data == "census" or (data is None and wanted in (None, "hamming") and takes_census(config))

        differs = wanted in ("absolute", "squared")  # descriptors are compared bit by bit
        if differs and data == "census":
            raise ProblemError(f"data is census and singleton is {wanted}, which compares greys: drop one of the two")
        if wanted == "hamming" and data == "grey":
            raise ProblemError("data is grey and singleton is hamming, which compares descriptors: drop one of the two")
        by_grey = data == "grey" or differs
        told = (f"Note: singleton {wanted} compares greys, so that data is grey",) if differs and data is None else ()
        common = Common.of(others, lambda config: tuned.census_sweeps if by_census_on(config) else tuned.sweeps,
                           needed | ({} if by_grey else dict(tuned.needs)), given)
        by_census, widths = by_census_on(common.widths), common.widths
        inputs = finest if by_census and finest is not None else load_inputs(
            pair, 8 if by_census else widths.data_bits, common.reading, seen=_seen(pair, mask))
        known = Known.of(mask, inputs, common.window)
        whole = known.filled(*inputs.data)
        images = dict(zip(pair, map(census, whole) if by_census else whole, strict=True))
        cut = same_size({**images, **more}, common.window)
        shown = same_size(dict(zip(captions, inputs.pictures, strict=True)), common.window)
        standard = {**tuned.census, **(changes or {})} if by_census else {"temperature": default(problem, "temperature")}
        energy = {**{name: value for name, value in standard.items() if name != "temperature"}, **common.energy}
        if by_census and widths.singleton_cap:
            energy["singleton_max"] = tuned.singleton_max
        return cls(common=common, by_census=by_census, inputs=inputs, data=cut, pictures=dict(zip(captions, shown, strict=True)),
                   schedule=common.schedule(standard["temperature"], tuned.cooling), energy=energy,
                   edges=contrast_weights(tuned.contrast, widths, filled_beside(shown[0], known.cut[0])) if by_census else None,
                   known=known, told=told)

    @staticmethod
    def finest_of(pair: Mapping[str, Any], others: dict[str, Any], mask: GivenMask) -> tuple[Inputs, np.ndarray, np.ndarray, Masks]:
        """The pictures at 8 bits, as `of` takes them, and the greys of both in the window, of which a range of labels is found,
        with `Known.cut`."""
        finest, window = load_inputs(pair, 8, Common.reading_of(others), seen=_seen(pair, mask)), Common.window_of(others)
        known = Known.of(mask, finest, window)
        one, other = same_size(dict(zip(pair, known.filled(*finest.data), strict=True)), window)
        return finest, one, other, known.cut

    def notes(self, *pictures: Any) -> tuple[str, ...]:
        """What is to be said of the pictures' greys, and of what is not known of them."""
        names = [name_of(given, name) for given, name in zip(pictures, self.pictures, strict=True)]
        return self.told + picture_notes(names, self.inputs) + self.known.notes(*names)

    def unlike(self, share: float, *pictures: Any) -> Unlike:
        """What says why the other picture does not confirm such a share of the pixels. pictures: as they are given."""
        one, other = (crop(grey, self.common.window) for grey in self.known.filled(*self.inputs.data))
        names = [name_of(given, name) for given, name in zip(pictures, self.pictures, strict=True)]
        return Unlike(share, names, one, other, self.known.cut)

    @property
    def greys(self) -> tuple[np.ndarray, np.ndarray]:
        """(H, W) float64, greys of 0..255 of both pictures, filled from beside where nothing is known."""
        one, other = (filled_beside(np.asarray(picture @ LUMA if picture.ndim == 3 else picture, np.float64), known)
                      for picture, known in zip(self.pictures.values(), self.known.cut, strict=True))
        return one, other

    @property
    def shown(self) -> dict[str, np.ndarray]:
        """What a page shows of the inputs, by caption."""
        seen = self.known.cut[0]
        return self.pictures | ({} if seen is None else {"mask": np.where(seen, 255, 0).astype(np.uint8)})

    def settings(self, verb: str, problem: Problem, **others: Any) -> dict[str, Any]:
        """Every option and the whole energy, for the report; `others` are the application's own."""
        return self.common.settings(verb, problem, data="census" if self.by_census else "grey",
                                    stretched_from=self.inputs.stretched_from, **others)


def _seen(pair: Mapping[str, Any], mask: GivenMask) -> dict[str, np.ndarray]:
    """What a mask says of the first picture, as `load_inputs` takes it."""
    return {} if mask.known is None else {next(iter(pair)): mask.known}
