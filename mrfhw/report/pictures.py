"""Pictures of maps and curves, as PNG files in memory. Matplotlib without its global state, so nothing is shown."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfhw.jobs.label_scale import LabelScale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mrfhw.analysis.calibration import Sparsification
    from mrfhw.analysis.trace import Trace

__all__ = ["at_most", "class_colours", "energy_by_sweep", "errors", "flow_colours", "in_colours", "input_picture", "labelled",
           "mapped", "measure", "sparsification", "wheel_legend"]

WIDTH = 6.4  # inches
DPI = 130
WIDEST = 1100  # pixels of a figure in the page; the files may have more
UNKNOWN = "0.72"  # a grey that no colour map of labels has but the grey one
UNKNOWN_AMONG_GREYS = "#8fb8dc"
CHAIN_COLOURS = ("#0b5fa5", "#c8102e", "#2e7d32", "#8e44ad", "#b8860b", "#008b8b", "#555555", "#d2691e")


def _figure(shape: tuple[int, int], panels: int = 1, bar: float = 0.0) -> Figure:
    """A figure for `panels` maps of shape (H, W) side by side, each with `bar` inches beside it for its legend."""
    # Imported here because it takes most of a second.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, cols = shape
    width = WIDTH if panels == 1 else 1.6 * WIDTH
    each = max(1.0, width / panels - bar - 0.2)
    figure = Figure(figsize=(width, min(12.0, max(2.2, each * rows / cols + 0.5))), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _png(figure: Figure, dpi: float = DPI) -> bytes:
    buffer = io.BytesIO()
    # Without the version of the software: the same answer gives the same file. Compressed less than as usual, which takes three
    # times as long for files a twentieth smaller.
    figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None}, pil_kwargs={"compress_level": 3})
    return buffer.getvalue()


def _dots(shape: tuple[int, int], panels: int = 1) -> float:
    """Dots an inch that give each site of a large image a dot of its own, within reason."""
    return float(min(300.0, max(DPI, shape[1] * panels / (WIDTH * (1.0 if panels == 1 else 1.6)) * 1.15)))


def _plain_axes(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_linewidth(0.5)
        spine.set_color("0.4")


def _limits(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low - 0.5, low + 0.5)


# -- flow


def _wheel_colours() -> np.ndarray:
    """(55, 3) float64 in 0..1: hues of the colour wheel, clockwise from red at angle 0 in a picture (row down)."""
    # Steps, the channel that changes, up or down: red to yellow, to green, to cyan, to blue, to magenta, to red.
    steps = ((15, 1, 1), (6, 0, -1), (4, 2, 1), (11, 1, -1), (13, 0, 1), (6, 2, -1))
    wheel, colour = [], np.array([1.0, 0.0, 0.0])
    for count, moving, sign in steps:
        for n in range(count):
            now = colour.copy()
            now[moving] += sign * n / count
            wheel.append(now)
        colour[moving] += sign
    return np.clip(np.array(wheel), 0, 1)


def flow_colours(vectors: np.ndarray, longest: float | None = None) -> np.ndarray:
    """Middlebury's colours of motion: the hue is the direction, the saturation the length. uint8 (H, W, 3).

    vectors: (H, W, 2) float, (row, column), pixels; grey where NaN. longest: the length of full saturation, the
    longest vector's if None; longer ones are darker. Still pixels are white.
    Source: Baker et al., A Database and Evaluation Methodology for Optical Flow, IJCV 92 (2011), figure 4 and the
    code published with it (after S. Casillas).
    """
    vectors = np.asarray(vectors, np.float64)
    known = np.isfinite(vectors).all(-1)
    row, col = (np.where(known, vectors[..., k], 0.0) for k in (0, 1))
    length = np.hypot(row, col)
    if longest is None:
        longest = float(length.max(initial=0.0))
    radius = length / longest if longest > 0 else length
    wheel = _wheel_colours()
    position = (np.arctan2(-row, -col) / np.pi + 1) / 2 * (len(wheel) - 1)
    first = np.floor(position).astype(int)
    part = (position - first)[..., None]
    hue = (1 - part) * wheel[first] + part * wheel[(first + 1) % len(wheel)]
    inside = (radius <= 1)[..., None]
    colour = np.where(inside, 1 - radius[..., None] * (1 - hue), hue * 0.75)
    return np.where(known[..., None], np.floor(255 * colour), 255 * float(UNKNOWN)).astype(np.uint8)


def wheel_legend(axes: Axes, longest: float, name: str) -> None:
    """On axes of its own, what the colours of `flow_colours` mean, up to `longest`."""
    size = 101
    row, col = np.mgrid[-1:1:size * 1j, -1:1:size * 1j]
    outside = np.hypot(row, col) > 1
    colours = flow_colours(np.stack([row, col], -1), 1.0)
    colours[outside] = 255
    axes.imshow(colours, extent=(-longest, longest, longest, -longest), interpolation="bilinear")
    axes.set_title(name, fontsize=8)
    axes.set_xlabel("column", fontsize=7)
    axes.set_ylabel("row", fontsize=7)
    ticks = [-longest, 0.0, longest] if longest > 0 else [0.0]
    axes.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])
    axes.set_yticks(ticks, [f"{tick:.3g}" for tick in ticks])
    axes.tick_params(labelsize=7, length=2)
    axes.set_frame_on(False)


# -- maps


def class_colours(classes: int) -> np.ndarray:
    """(classes, 4) colours, of which neighbours in number differ well."""
    import matplotlib

    chosen = [0, 1, 2, 3, 4, 5, 6, 8, 9]  # without the grey, which means unknown
    if classes <= len(chosen):
        return np.asarray(matplotlib.colormaps["tab10"](chosen[:classes]))
    # Many by the golden angle in hue and three steps of lightness.
    number = np.arange(classes)
    hue, value = (number * 0.618034) % 1, 0.95 - 0.22 * (number % 3)
    saturation = 0.85 - 0.25 * (number // 3 % 2)
    from matplotlib.colors import hsv_to_rgb

    colours = hsv_to_rgb(np.stack([hue, saturation, value], -1))
    return np.concatenate([colours, np.ones((classes, 1))], -1)


def labelled(panels: Mapping[str, np.ndarray], scale: LabelScale) -> bytes:
    """Maps of label values side by side, with one legend of what the colours mean: a PNG file.

    panels: by title, (H, W, D) float64 in the units of scale.values, NaN where unknown (grey; blue in pictures of greys).
    """
    colour = "blue" if scale.kind == "grey" else "grey"
    panels = {f"{title} ({colour}: unknown)" if np.isnan(values).any() else title: values for title, values in panels.items()}
    shape = next(iter(panels.values())).shape[:2]
    figure = _figure(shape, len(panels), 1.3 if len(panels) == 1 else 0.7)
    wide = [1.0] * len(panels)
    if scale.kind == "flow":
        grid = figure.add_gridspec(1, len(panels) + 1, width_ratios=[*wide, 0.3 if len(panels) == 1 else 0.35])
        longest = float(np.hypot(*scale.values.T).max())
        for place, (title, values) in enumerate(panels.items()):
            axes = figure.add_subplot(grid[place])
            axes.imshow(flow_colours(values, longest), interpolation="nearest")
            _plain_axes(axes, title)
        wheel_legend(figure.add_subplot(grid[len(panels)]), longest, scale.name)
        return _png(figure, _dots(shape, len(panels)))
    if scale.kind == "colour":
        for place, (title, values) in enumerate(panels.items()):
            axes = figure.add_subplot(1, len(panels), place + 1)
            axes.imshow(np.rint(values.clip(0, 255)).astype(np.uint8), interpolation="nearest")
            _plain_axes(axes, title)
        return _png(figure, _dots(shape, len(panels)))
    every = []
    shown = None
    options = _scalar_options(scale)
    for place, (title, values) in enumerate(panels.items()):
        axes = figure.add_subplot(1, len(panels), place + 1)
        shown = axes.imshow(_drawn(values[..., 0], scale), interpolation="nearest", **options)
        _plain_axes(axes, title)
        every.append(axes)
    assert shown is not None
    bar = figure.colorbar(shown, ax=every, label=scale.name)
    if scale.kind == "classes":
        count = len(scale.values)
        step = max(1, -(-count // 16))
        bar.set_ticks(list(range(0, count, step)), labels=[f"{scale.values[k, 0]:.4g}" for k in range(0, count, step)])
        bar.ax.minorticks_off()
    return _png(figure, _dots(shape, len(panels)))


def _scalar_options(scale: LabelScale) -> dict[str, Any]:
    if scale.kind == "classes":
        from matplotlib.colors import BoundaryNorm, ListedColormap

        count = len(scale.values)
        colours = ListedColormap(class_colours(count)).with_extremes(bad=UNKNOWN)
        return {"cmap": colours, "norm": BoundaryNorm(np.arange(count + 1) - 0.5, count)}
    low, high = (0.0, 255.0) if scale.kind == "grey" else _limits(scale.values)
    from matplotlib import colormaps

    grey = scale.kind == "grey"
    colours = colormaps["gray" if grey else "turbo"].with_extremes(bad=UNKNOWN_AMONG_GREYS if grey else UNKNOWN)
    return {"cmap": colours, "vmin": low, "vmax": high}


def in_colours(values: np.ndarray, scale: LabelScale) -> np.ndarray:
    """(H, W, 3) uint8: an answer (H, W, D) in the colours of `labelled`, without a legend."""
    if scale.kind == "flow":
        return flow_colours(values, float(np.hypot(*scale.values.T).max()))
    if scale.kind == "colour":
        return np.asarray(np.rint(values.clip(0, 255)).astype(np.uint8))
    options = _scalar_options(scale)
    return mapped(_drawn(values[..., 0], scale), options["cmap"], options.get("norm"), options.get("vmin"), options.get("vmax"))


def mapped(values: np.ndarray, colours: Any, norm: Any = None, low: float | None = None, high: float | None = None) -> np.ndarray:
    """(H, W, 3) uint8: numbers (H, W) by a colour map or its name, from low to high."""
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    colours = colormaps[colours] if isinstance(colours, str) else colours
    return np.asarray(colours((norm or Normalize(low, high))(values), bytes=True)[..., :3])


def _drawn(values: np.ndarray, scale: LabelScale) -> np.ndarray:
    """Class values as the number of the nearest class; others as they are. NaN stays."""
    if scale.kind != "classes":
        return np.ma.masked_invalid(values)
    order = np.argsort(scale.values[:, 0], kind="stable")
    middles = (scale.values[order, 0][1:] + scale.values[order, 0][:-1]) / 2
    known = np.isfinite(values)
    return np.ma.masked_array(order[np.searchsorted(middles, np.where(known, values, 0.0))], ~known)


def numbers(values: np.ndarray) -> bytes | None:
    """A map (H, W) as a PNG file of the same size: booleans black and white, whole numbers from 0 to 65535 as 16-bit grey. None for
    greater ones, which no PNG file has."""
    from PIL import Image

    if int(values.max(initial=0)) > np.iinfo(np.uint16).max:
        return None

    image = values.astype(np.uint8) * 255 if values.dtype == bool else values.astype(np.uint16)
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return file.getvalue()


def measure(values: np.ndarray, title: str, name: str, *, low: float = 0.0, high: float | None = None,
            colours: str = "magma") -> bytes:
    """A map of a quantity of at least `low` with its colour bar: a PNG file.

    values: (H, W) float64, NaN (hatched grey) where unknown. name: with its unit. high: the end of the colour bar,
    None for the largest value; what is above it has the last colour.
    """
    known = np.isfinite(values)
    largest = float(values[known].max()) if known.any() else low
    high = largest if high is None else high
    if high <= low:
        high = low + 1.0
    figure = _figure(values.shape[:2], 1, 1.3)  # type: ignore[arg-type]
    axes = figure.add_subplot()
    if not known.all():
        axes.set_facecolor(UNKNOWN)
        axes.patch.set(hatch="////", edgecolor="0.55")
    from matplotlib import colormaps

    # Unknown sites are transparent: the hatched background shows.
    shown = axes.imshow(np.ma.masked_invalid(values), cmap=colormaps[colours].with_extremes(bad=(0, 0, 0, 0)), vmin=low,
                        vmax=high, interpolation="nearest")
    _plain_axes(axes, title if known.all() else f"{title} (hatched: truth unknown)")
    figure.colorbar(shown, ax=axes, label=name, extend="max" if largest > high * (1 + 1e-9) else "neither")
    return _png(figure, _dots(values.shape[:2]))  # type: ignore[arg-type]


def mixing(shape: tuple[int, int], apart: np.ndarray | None, sites: np.ndarray, not_mixed: np.ndarray) -> bytes:
    """Where chains do not agree: the watched sites, and behind them how far the chains' histograms are apart: a PNG file.

    apart: (H, W) total variations, or None where the histograms are not known. sites: (m, 2) of (row, column). not_mixed: (k, 2),
    those of them that have not mixed.
    """
    figure = _figure(shape, 1, 0.0 if apart is None else 1.3)
    axes = figure.add_subplot()
    behind = np.full(shape, 0.0) if apart is None else apart
    shown = axes.imshow(behind, cmap="Greys" if apart is None else "viridis", vmin=0, vmax=1, interpolation="nearest")
    _plain_axes(axes, f"Sites that have not mixed: {len(not_mixed)} of {len(sites)} watched ones")
    if len(sites):
        axes.scatter(sites[:, 1], sites[:, 0], label="watched", marker=".", s=8, color="0.6", linewidths=0)
    if len(not_mixed):
        axes.scatter(not_mixed[:, 1], not_mixed[:, 0], label="not mixed", marker="o", s=30, facecolors="none", edgecolors="red",
                     linewidths=1.3)
    if apart is not None:
        figure.colorbar(shown, ax=axes, label="total variation between chains")
    if len(sites):
        figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return _png(figure, _dots(shape))


def _error_limit(values: np.ndarray, wrong_above: float) -> float | None:
    known = values[np.isfinite(values)]
    return min(3.0 * wrong_above, float(known.max())) if wrong_above > 0 and known.size else None


def errors(values: np.ndarray, title: str, name: str, wrong_above: float) -> bytes:
    """A map of errors (H, W), NaN where unknown, up to three times the error that makes a pixel wrong: a PNG file."""
    return measure(values, title, name, high=_error_limit(values, wrong_above), colours="inferno")


def input_picture(pixels: np.ndarray, longest: int = 1600) -> bytes:
    """A PNG file of uint8 (H, W) or (H, W, 3), made smaller where a side is longer than `longest` pixels."""
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(pixels))
    image.thumbnail((longest, longest))
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()


def at_most(png: bytes, widest: int = WIDEST) -> bytes:
    """A PNG file, made smaller where it is wider than `widest` pixels."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        if image.width <= widest:
            return png
        small = image.convert("RGB").resize((widest, round(image.height * widest / image.width)), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.quantize(256).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


# -- curves


def _style_curves(axes: Axes, title: str, across: str, up: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def energy_by_sweep(trace: Trace) -> bytes:
    """The energy of every chain after each look, the burn-in shaded, and again the counted looks on their own scale: a PNG file."""
    from matplotlib.ticker import EngFormatter

    counted = trace.counted
    zoom = bool(counted.any() and not counted.all())
    figure = _figure((38, 100), 2 if zoom else 1)
    figure.set_figheight(3.5)
    parts = [(slice(None), "Energy by sweep")] + ([(counted, "Energy after the burn-in")] if zoom else [])
    for place, (looks, title) in enumerate(parts):
        axes = figure.add_subplot(1, len(parts), place + 1)
        _style_curves(axes, title, "sweep", "" if place else "energy (units of the energy function)")
        if place == 0 and trace.burn_in > 0:
            axes.axvspan(0, trace.burn_in, color="0.93", linewidth=0, label="burn-in (not counted)")
        for chain, energy in enumerate(trace.energy):
            axes.plot(trace.sweeps[looks], energy[looks], linewidth=1.0, marker="." if len(trace.sweeps[looks]) <= 20 else None,
                      alpha=0.85, color=CHAIN_COLOURS[chain % len(CHAIN_COLOURS)],
                      label=f"chain {chain + 1}" if len(trace.energy) <= 8 else None)
        axes.yaxis.set_major_formatter(EngFormatter(sep=" "))
        axes.margins(x=0.01)
    # Beside the curves, which may be everywhere in the axes.
    handles, names = figure.axes[0].get_legend_handles_labels()
    if names:
        figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 9 if zoom else 5), fontsize=8,
                      frameon=False)
    return _png(figure, min(DPI, WIDEST / figure.get_figwidth()))


def sparsification(curves: Mapping[str, Sparsification | None], error_name: str) -> bytes:
    """Sparsification curves by the measure of uncertainty, with the oracle's and a random order's: a PNG file."""
    figure = _figure((46, 100))
    axes = figure.add_subplot()
    _style_curves(axes, "Sparsification: error of what remains", "share of pixels removed, most uncertain first",
                  f"mean {error_name}")
    names = {"entropy": "by entropy", "std": "by standard deviation", "confidence": "by confidence"}
    known = {name: curve for name, curve in curves.items() if curve is not None}
    for number, (name, curve) in enumerate(known.items()):
        area = "" if curve.ause is None else f" (AUSE {curve.ause:.3f})"
        axes.plot(curve.removed, curve.by_score, linewidth=1.5, color=CHAIN_COLOURS[number], label=names.get(name, name) + area)
    for curve in list(known.values())[:1]:
        axes.plot(curve.removed, curve.oracle, "--", linewidth=1.3, color="0.25", label="by the true error (oracle)")
        axes.axhline(curve.mean_error, linestyle=":", linewidth=1.3, color="0.45", label="in random order")
        axes.legend(fontsize=8, frameon=False)
    if not known:
        axes.text(0.5, 0.5, "no pixel of known truth was counted", ha="center", transform=axes.transAxes)
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)
    return _png(figure)
