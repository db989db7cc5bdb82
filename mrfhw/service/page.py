"""The page of a service: what waits, who works, and the pictures as they come. Nothing is loaded from elsewhere, no script runs."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from html import escape

from mrfhw.report.html_report import STYLE
from mrfhw.service.crew import Place
from mrfhw.service.queue import Job

__all__ = ["page"]

_EVERY = 5  # seconds from one look of a browser to the next
_GRID = """
.jobs { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); gap: 1rem; }
.jobs article { border: 1px solid #ddd; border-left: .3rem solid #999; padding: .5rem .6rem; overflow-wrap: anywhere; }
.jobs img { width: 100%; height: 10rem; object-fit: contain; background: #f5f5f5; }
.jobs h3 { margin: .2rem 0; }
.jobs p { margin: .1rem 0; font-size: .85rem; }
.jobs .done { border-left-color: #1b7f3b; }
.jobs .failed { border-left-color: #b00020; }
.jobs .leased { border-left-color: #0b5fa5; }
"""
_WORDS = {"leased": "at work"}


def page(counts: Mapping[str, int], jobs: Sequence[Job], places: Sequence[Place], trouble: str | None,
         mine: Collection[str] | None) -> str:
    """The page. counts: of jobs by state; jobs: the latest ones, the latest first; places: of the workers; trouble: what keeps jobs
    from being done; mine: the ids of jobs that may be named, None for all."""
    head = ", ".join(f"{number} {_WORDS.get(state, state)}" for state, number in counts.items() if number) or "no jobs yet"
    at = {place.job: place for place in places if place.job is not None}
    workers = "".join(_row(place, mine) for place in places)
    stop = f'<p class="verdict">{escape(trouble)}</p>' if trouble else ""
    return (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, '
            f'initial-scale=1"><meta http-equiv="refresh" content="{_EVERY}"><title>mrfhw: {escape(head)}</title>'
            f"<style>{STYLE}{_GRID}</style></head><body><h1>mrfhw serve</h1><p class=\"lead\">{escape(head)}.</p>{stop}"
            f'<h2>Jobs</h2><div class="jobs">{"".join(_entry(job, at.get(job.id)) for job in jobs)}</div>'
            '<h2>Workers</h2><div class="scroll"><table><tr><th>worker</th><th>process</th><th>does</th></tr>'
            f"{workers}</table></div></body></html>\n")


def _row(place: Place, mine: Collection[str] | None) -> str:
    does = "waits" if place.job is None else place.job if mine is None or place.job in mine else "another's job"
    return f"<tr><td>{place.number}</td><td>{place.pid or 'starts'}</td><td>{escape(does)}</td></tr>"


def _entry(job: Job, place: Place | None) -> str:
    folder = f"jobs/{job.id}"
    picture = f'<img loading="lazy" alt="estimate" src="{folder}/files/estimate.png">' if "estimate.png" in job.files else ""
    there = next((name for name in ("report.html", "report.json") if name in job.files), None)
    title = f"{picture}<h3>{escape(job.application)}</h3>"
    title = title if there is None else f'<a href="{folder}/files/{there}">{title}</a>'
    lines = [f"{_WORDS.get(job.state, job.state)}, of {job.owner}",
             time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(job.submitted))]
    if place is not None and place.at[1]:
        lines.append(f"{place.at[0]} of {place.at[1]} sweeps")
    if job.state == "done" and job.began is not None and job.ended is not None:
        lines.append(f"{job.ended - job.began:.1f} s")
    if job.error is not None:
        lines.append(job.error)
    return (f'<article class="{job.state}">{title}{"".join(f"<p>{escape(line)}</p>" for line in lines)}'
            f'<p><a href="{folder}">{job.id}</a></p></article>')
