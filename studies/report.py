"""What a study found: its table, its picture, and its numbers beside the published ones, in one form and one list of colours."""

from __future__ import annotations

import csv
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Report", "bars", "published", "span", "write_report", "write_table"]

# Colours that remain apart in grey and for the colour-blind (Okabe and Ito).
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")


@dataclass(frozen=True)
class Report:
    """What one of the commands found.

    name: as asked for, such as "figure-3.8". columns: of the table, name and meaning with its unit. rows: by those
    names. lines: ours beside the published numbers, and what differs. draw: draws on a matplotlib Figure.
    size: of the picture in inches.
    """

    name: str
    title: str
    columns: dict[str, str]
    rows: list[dict[str, Any]]
    draw: Callable[[Any], None]
    lines: list[str] = field(default_factory=list)
    size: tuple[float, float] = (8.0, 4.2)

    @property
    def text(self) -> str:
        """The title and the lines."""
        return "\n".join([f"{self.name}: {self.title}", *(f"  {line}" for line in self.lines)])


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else value


def write_table(path: Path, columns: dict[str, str], rows: list[dict[str, Any]]) -> None:
    """A CSV file of the columns by name."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _cell(row[name]) for name in columns} for row in rows)


def write_report(directory: Path, report: Report) -> list[str]:
    """Write NAME.csv, NAME.png and NAME.txt (the lines, and what the columns mean); returns the names."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [f"{report.name}.{kind}" for kind in ("csv", "png", "txt")]
    write_table(directory / names[0], report.columns, report.rows)
    figure = Figure(figsize=report.size, layout="constrained")
    FigureCanvasAgg(figure)
    report.draw(figure)
    figure.savefig(directory / names[1], dpi=130)
    meanings = [f"  {name}: {meaning}" for name, meaning in report.columns.items()]
    text = "\n".join([report.text, "", f"Columns of {names[0]}:", *meanings])
    (directory / names[2]).write_text(text + "\n", encoding="utf-8")
    return names


def bars(axes: Any, groups: list[str], series: dict[str, list[float]], *, label: str, form: str = "%.3g",
         errors: dict[str, list[list[float]]] | None = None, inside: bool = False) -> None:
    """Bars side by side: a group for each of `groups`, a colour for each of `series`, each with its number.

    errors: of each series, the lengths of whiskers below and above. inside: the numbers are in the bars, not above.
    """
    width = 0.84 / len(series)
    for index, (name, values) in enumerate(series.items()):
        at = [group + (index - (len(series) - 1) / 2) * width for group in range(len(groups))]
        drawn = axes.bar(at, values, width * 0.94, label=name, color=COLOURS[index % len(COLOURS)],
                         yerr=None if errors is None else errors[name], capsize=2, error_kw={"linewidth": 0.8})
        axes.bar_label(drawn, fmt=form, fontsize=7, **({"label_type": "center", "color": "white"} if inside else {"padding": 2}))
    axes.set_xticks(range(len(groups)), [wrapped(group) for group in groups], fontsize=7)
    axes.set_ylabel(label)
    axes.margins(y=0.14)
    if len(series) > 1:
        axes.legend(fontsize=8, ncols=min(len(series), 4), loc="upper center", bbox_to_anchor=(0.5, -0.14), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def span(values: Iterable[float], form: str) -> str:
    """The least and the greatest of some values, each by `form`, such as "3.0 to 4.5"; one number where both read the same."""
    values = list(values)
    ends = [format(end, form) for end in (min(values), max(values))]
    return " to ".join(dict.fromkeys(ends))


def wrapped(text: str, width: int = 16) -> str:
    """`text` on lines of about `width` characters; what is in brackets begins a line."""
    return "\n".join(line for part in text.replace(" (", "\n(").split("\n") for line in textwrap.wrap(part, width))


def published(axes: Any, value: float, text: str) -> None:
    """A dashed line at a published value."""
    axes.axhline(value, color="#444444", linestyle="--", linewidth=1)
    axes.annotate(text, (1.0, value), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8,
                  color="#444444")
