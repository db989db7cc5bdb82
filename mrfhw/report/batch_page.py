"""index.html of a batch or a video: each run with its picture, what was found, what it took, and the way to its page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Protocol
from urllib.parse import quote

from mrfhw.jobs.registry import application
from mrfhw.report.html_report import STYLE

__all__ = ["Job", "page"]

_GRID = """
.jobs { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: 1rem; }
.jobs article { border: 1px solid #ddd; padding: .6rem; overflow-wrap: anywhere; }
.jobs img { width: 100%; height: 11rem; object-fit: contain; background: #f5f5f5; }
.jobs p { margin: .2rem 0; font-size: .85rem; }
.film { max-width: 100%; }
.failed { border-color: #b00020 !important; }
"""


class Job(Protocol):
    """A job that has ended: the name of its folder, the words behind `mrfhw run`, its exit status, what it said and took."""

    @property
    def name(self) -> str: ...
    @property
    def words(self) -> list[str]: ...
    @property
    def code(self) -> int: ...
    @property
    def said(self) -> str: ...
    @property
    def seconds(self) -> float: ...


def page(ended: Sequence[tuple[Job, dict[str, Any] | None]], jobs: int, title: str = "Batch", film: str = "",
         picture: Callable[[str], str] = lambda name: f"{name}/estimate.png") -> str:
    """The page.

    ended: what has ended, each with the report of its run. jobs: how many there are in all, counted as `title` says. film: a file
    that is shown before them, or "". picture: from the name of a run to the file that shows it, where its report lists one or a
    film is shown.
    """
    failed = sum(job.code != 0 for job, _ in ended)
    head = f"{len(ended) - failed} of {jobs} are done" + (f", {failed} failed" if failed else "")
    shown = f'<p><img class="film" alt="{escape(title)}" src="{quote(film)}"></p>' if film else ""
    entries = "".join(_entry(job, report, picture(job.name), bool(film)) for job, report in ended)
    return (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, '
            f'initial-scale=1"><title>{escape(title)}: {escape(head)}</title><style>{STYLE}{_GRID}</style></head><body>'
            f'<h1>{escape(title)}</h1><p class="lead">{escape(head)}.</p>{shown}<div class="jobs">{entries}</div></body></html>\n')


def _entry(job: Job, report: dict[str, Any] | None, picture: str, always: bool) -> str:
    name, folder = escape(job.name), quote(job.name)
    words = f"<p><code>{escape(' '.join(job.words))}</code></p>"
    if report is None:
        return f'<article class="failed"><h3>{name}</h3>{words}<p>{escape(job.said)}</p></article>'
    files = report["files"]
    there = next((one for one in ("report.html", "estimate.png", "report.json") if one in files), "report.json")
    image = f'<img loading="lazy" alt="{name}" src="{quote(picture)}">' if always or "estimate.png" in files else ""
    app = application(report["application"])
    measured = [app.describe(measure, value) for measure, value in report["metrics"].items() if value is not None]
    lines = [f"{job.seconds:.1f} s", *measured, *report["warnings"]]
    return (f'<article><a href="{folder}/{there}">{image}<h3>{name}</h3></a>{words}'
            f'{"".join(f"<p>{escape(line)}</p>" for line in lines)}</article>')
