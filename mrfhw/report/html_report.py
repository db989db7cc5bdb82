"""report.html: one page with all of a run, which needs nothing else to be read, on a screen of any size or on paper."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import numpy as np

from mrfhw.analysis.convergence import verdict
from mrfhw.analysis.uncertainty import Uncertainty
from mrfhw.jobs.job import Job
from mrfhw.machine.derived import Derived
from mrfhw.report.figures import MIXING, WIDTH, Figure, energy_name, input_name, width_title

__all__ = ["page"]

NOTHING = "\N{EN DASH}"

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; color: #1b1b1b; background: #fff;
  max-width: 62rem; margin: 0 auto; padding: 1rem 1rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .6rem 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; padding-bottom: .15rem; border-bottom: 1px solid #ccc; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .4rem 0; }
.lead { font-size: 1.1rem; }
.verdict { border-left: .25rem solid #0b5fa5; padding: .2rem .8rem; background: #f2f6fa; }
.note { color: #555; font-size: .9rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1rem; align-items: start; }
figure { margin: .5rem 0; break-inside: avoid; }
figure img { width: 100%; height: auto; display: block; }
figure.pixels img { image-rendering: pixelated; }
figcaption { font-size: .85rem; color: #555; }
.scroll { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid #e4e4e4; vertical-align: top; }
th { font-weight: 600; }
tbody th { font-weight: 400; color: #444; }
td.number, th.number { text-align: right; }
td.number { white-space: nowrap; }
.columns { columns: 18rem; column-gap: 2rem; font-size: .85rem; }
.columns div { break-inside: avoid; display: flex; justify-content: space-between; gap: 1rem; border-bottom: 1px solid #eee; }
.columns span:last-child { text-align: right; overflow-wrap: anywhere; }
pre { background: #f5f5f5; padding: .7rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
@media print { body { font-size: 10.5pt; max-width: none; padding: 0; } h2, h3 { break-after: avoid; }
  table, .verdict { break-inside: avoid; }
  .figures { grid-template-columns: 1fr 1fr; } figure.wide { max-width: 85%; } }
"""


def _number(value: Any, digits: int = 4) -> str:
    """A number for people: thousands apart, `digits` significant ones of a fraction; a dash for None and NaN."""
    if value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)):
        return NOTHING
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return f"{int(value):,}"
    if isinstance(value, (float, np.floating)):
        if math.isinf(value):
            return "∞" if value > 0 else "-∞"
        value = float(f"{value:.{digits}g}") if abs(value) < 10 ** digits else value  # 9999.7 is 10,000
        size = abs(float(value))
        return f"{value:,.0f}" if size >= 10 ** digits else f"{value:.{digits}g}" if size >= 1e-4 or size == 0 else f"{value:.2e}"
    return str(value)


def _percent(share: float | None) -> str:
    return NOTHING if share is None else f"{100 * share:.3g} %"


def _percents(shares: Any) -> str:
    """Of one component, or several."""
    several = shares if isinstance(shares, list | tuple) else [shares]
    return " and ".join(_percent(share) for share in several if share is not None)


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _table(rows: Iterable[tuple[Any, ...]], head: tuple[str, ...] = ()) -> str:
    """Rows of a name, a number as text and further text; what is empty is left out by the caller."""
    def cells(row: tuple[Any, ...]) -> str:
        # Under a head all are numbers; without one the first is a number and the next a remark.
        first = f'<th scope="row">{escape(str(row[0]))}</th>'
        return first + "".join(f"<td{' class=number' if place == 0 or head else ''}>{escape(str(cell))}</td>"
                               for place, cell in enumerate(row[1:]))

    top = "<thead><tr>" + "".join(f'<th{" class=number" if place else ""}>{escape(cell)}</th>'
                                  for place, cell in enumerate(head)) + "</tr></thead>" if head else ""
    body = "".join(f"<tr>{cells(row)}</tr>" for row in rows)
    return f'<div class="scroll"><table>{top}<tbody>{body}</tbody></table></div>'


def _figure(figure: Figure, caption: str, kind: str = "") -> str:
    data = base64.b64encode(figure.small).decode("ascii")
    return (f'<figure class="{kind}"><img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
            f"<figcaption>{escape(caption)}</figcaption></figure>")


def _figures(items: Iterable[str]) -> str:
    return f'<div class="figures">{"".join(items)}</div>'


def _section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def _estimate_name(job: Job) -> str:
    if job.run.estimate == "last":
        return "last sample of annealing" if job.annealing else "last sample"
    return {"mode": "most frequent label", "mean": "mean of the counted labels"}[job.run.estimate]


def _answer(job: Job, report: Mapping[str, Any]) -> str:
    """The run in one sentence."""
    chains = len(report["chains"]) // len(job.problems)
    how = f"{_count(report['sweeps'], 'sweep')}" + (f" in each of {chains} chains" if chains > 1 else "")
    if (few := job.settings.get("sweeps_too_few")) is not None:
        how += f" ({few} were too few, by R-hat)"
    found_name = report["answer"] or f"the {_estimate_name(job)}"
    words = (f"{found_name[0].upper()}{found_name[1:]} at {_count(job.problem.sites, 'site')} "
             f"({report['columns']}x{report['rows']}), of {report['labels']} labels, after {how} by the backend "
             f"\N{LEFT DOUBLE QUOTATION MARK}{report['backend']}\N{RIGHT DOUBLE QUOTATION MARK}")
    found = report["calibration"]
    if found is not None and found["wrong"] is not None:
        words += (f": {_percent(found['wrong'])} of the {_count(found['pixels'], 'pixel')} of known truth are wrong"
                  + (f" ({job.truth.wrong})" if job.truth is not None else ""))
        by, what = ("confidence", "lesser confidence") if "confidence" in found["auroc"] else ("entropy", "larger entropy")
        area = found["auroc"].get(by)
        if area is not None:
            words += f", and a wrong one has the {what} in {_percent(area)} of the pairs with a right one"
    elif report["uncertainty"] is not None:
        mean = report["uncertainty"]["mean_entropy"]
        words += "" if mean is None else f", with {mean:.3g} bits of entropy a site on average"
    return f'<p class="lead">{escape(words)}.</p>'


def _estimate(job: Job, report: Mapping[str, Any], drawn: Mapping[str, Figure]) -> str:
    between = "" if report["answer"] is None else f", {report['answer']}"
    parts = [_figure(drawn["estimate.png"], f"Estimate: {job.scale.name}{between}.")]
    if "truth.png" in drawn:
        parts.append(_figure(drawn["error.png"], "Error of the estimate; the last colour stands for all larger errors."))
    parts += [_figure(drawn[f"{name}.png"], shown) for name, shown in job.application.maps.items() if f"{name}.png" in drawn]
    caption = f"Truth beside the estimate, in the same colours. {'' if job.truth is None else job.truth.note}".strip()
    wide = _figure(drawn["truth.png"], caption, "wide") if "truth.png" in drawn else ""
    return _section("Estimate", _figures(parts), wide)


def _uncertainty(job: Job, report: Mapping[str, Any], drawn: Mapping[str, Figure], found: Uncertainty | None) -> str:
    if found is None:
        return ""
    numbers, level = report["uncertainty"], f"{100 * found.level:g} %"
    of = "histogram of labels" if job.doubt is None else "histogram of labels, with its share of doubt where it may be anything"
    of_entropy, of_std, of_width = ((f", the mean of {len(job.problems)} fields", *2 * (", of the channels' mean square",))
                                    if job.fields is not None
                                    else ("", "", " (of motion: the diagonal)" if job.scale.kind == "flow" else ""))
    shown = [_figure(drawn["entropy.png"], f"Entropy of each site's {of}{of_entropy}; 0 where a site never moved.")]
    if WIDTH in drawn:
        shown.append(_figure(drawn["std.png"], f"Standard deviation of each site's {of}{of_std}."))
        shown.append(_figure(drawn[WIDTH], f"{width_title(found.level)}{of_width}."))
    rows = [("counted sites", _number(numbers["sites"]), ""), ("mean entropy", _number(numbers["mean_entropy"]), "bits"),
            ("sites of one label only", _percent(numbers["certain"]), ""),
            (f"labels that hold {level}", _number(numbers["mean_set_size"]), "on average"),
            ("mean standard deviation", _number(numbers["mean_std"]), job.scale.name),
            (f"mean width of the {level} interval", _number(numbers["mean_interval_width"]), job.scale.name)]
    warning = ("<p>The temperature changed while labels were counted, so their frequencies are no posterior probabilities.</p>"
               if job.cooled else "")
    if report["shared"]:
        warning += (f"<p>Of histograms that pixels of like colours share: {', '.join(report['shared'])}. Labels and histogram.npz "
                    "are what was drawn.</p>")
    return _section("Uncertainty", warning, _figures(shown), _table(row for row in rows if row[1] != NOTHING))


def _quality(job: Job, report: Mapping[str, Any]) -> str:
    if not report["metrics"]:
        return ""
    rows = []
    for name, value in report["metrics"].items():
        known = job.application.measures.get(name)
        rows.append((name.replace("_", " "), _number(value), "") if known is None else
                    (known.what, _number(value) if value is None else f"{value:.{known.decimals}f}", known.unit))
    doubt = job.application.doubt(report["metrics"])
    said = "" if doubt is None else f'<p class="verdict">{escape(doubt[0].upper() + doubt[1:])}.</p>'
    return _section("Quality against the truth", _table(rows), said)


def _calibration(job: Job, report: Mapping[str, Any], drawn: Mapping[str, Figure]) -> str:
    found = report["calibration"]
    if found is None:
        return ""
    names = {"entropy": "entropy", "std": "standard deviation", "confidence": "confidence", "width": "width of the interval"}
    rows = [(names.get(name, name), _number(found["auroc"][name]), _number(found["ause"][name])) for name in found["auroc"]]
    words = ["<p>AUROC: how often a wrong pixel is more uncertain than a right one (0.5 by chance, 1 at best). AUSE: how far "
             "removal by uncertainty is from removal by the true error (0 at best), in units of the mean error.</p>"]
    if found["coverage"] is not None:
        words.append(f"<p>The {100 * found['level']:g} % credible interval holds the truth at {_percents(found['coverage'])} of "
                     f"{_count(found['pixels'], 'pixel')}"
                     + (f", the {100 * found['inner_level']:g} % one at {_percents(found['inner_coverage'])}"
                        if found.get("inner_coverage") is not None else "") + ".</p>")
    return _section("Does uncertainty tell of error?", _table(rows, ("measure", "AUROC", "AUSE")), *words,
                    _figure(drawn["sparsification.png"], "Mean error of what remains when the most uncertain pixels are removed.",
                            "wide"))


def _convergence(report: Mapping[str, Any], drawn: Mapping[str, Figure]) -> str:
    found = report["convergence"]
    if found is None:
        return ""
    parts = [f'<p class="verdict">{escape(verdict(found))}</p>']
    for number, one in enumerate(report.get("fields", [{"name": ""}])):
        if energy_name(number) in drawn:
            whose = f", {one['name']}" if one["name"] else ""
            parts.append(_figure(drawn[energy_name(number)], f"Energy of each chain{whose}.", "wide"))
    energy, sites = found["energy"], found["sites"]
    if MIXING in drawn:
        parts.append(_figure(drawn[MIXING], "Watched sites, with a ring where they have not mixed; behind them, where each chain's "
                             "histogram is known, how far these are apart, some of it by chance.", "wide"))
    if energy is not None and sites is not None:
        if "fields" in report:
            parts.append("<p>Of the field whose chains agree least:</p>")
        rows = [
            ("R-hat", _number(energy["rhat"]), _number(sites["rhat_median"]), _number(sites["rhat_worst"])),
            ("ESS, bulk", _number(energy["ess_bulk"]), _number(sites["ess_median"]), _number(sites["ess_least"])),
            ("ESS, tail", _number(energy["ess_tail"]), _number(sites["ess_tail_median"]), _number(sites["ess_tail_least"])),
            ("ESS a sweep", _number(energy["ess_per_sweep"]), _number(sites["ess_per_sweep"]), ""),
        ]
        parts.append(_table(rows, ("", "energy", "sites, median", "sites, worst")))
        parts.append(_table([
            ("watched sites", _number(sites["sites"]), ""),
            ("of these, never moved", _percent(sites["constant"]), "left out of the above"),
            ("of those that moved, R-hat above 1.01", _percent(sites["rhat_above_1.01"]), ""),
            ("R-hat above 1.05", _percent(sites["rhat_above_1.05"]), ""),
            ("R-hat infinite", _percent(sites["rhat_infinite"]), "each chain stays at a label of its own"),
            ("of all watched, not mixed", _percent(sites["not_mixed"]),
             f"R-hat of their labels {_number(sites['not_mixed_rhat'])} or more; a converged run leaves "
             f"{_percent(sites['not_mixed_limit'])} at most"),
        ]))
        parts.append(f'<p class="note">Rank-normalised split R-hat and effective sample size (ESS) of '
                     f"{_count(found['looks'], 'look')} after the burn-in in each of {_count(found['chains'], 'chain')} "
                     f"({_count(found['sweeps'], 'counted sweep')} in all).</p>")
    return _section("Convergence", *parts)


def _by_a_machine(report: Mapping[str, Any]) -> bool:
    """Whether a machine, or a model of one, drew the labels."""
    return report["cycles"] is not None


def _hardware(job: Job, report: Mapping[str, Any], clock_hz: float | None) -> str:
    extra, rows = report["extra"], list[tuple[Any, ...]]()
    if _by_a_machine(report):
        config = Derived.of(job.machine)
        rows.append(("machine", config.size, f"{config.mesh_rows}x{config.mesh_cols} tiles of {config.spus} sampling units each"
                     f"{f' of {config.lanes} lanes' if config.lanes > 1 else ''}, sampler {config.sampler.name}"))
    rows += [
        ("lanes", _number(report["lanes"]), "label evaluations a cycle at most"),
        ("label evaluations", _number(report["label_evaluations"]), ""), ("cycles", _number(report["cycles"]), "stalls included"),
        ("utilization", _number(report["utilization"], 6), "label evaluations / (lanes x cycles)"),
        ("stall cycles", _number(report["stall_cycles"]), "waiting for the log"),
        ("gap cycles", _number(report["gap_cycles"]), "without labels, at start, end and between colours"),
        ("log messages", _number(report["log_messages"]), ""),
        ("loading cycles", _number(extra.get("loading_cycles")), "writing the problem over the bus"),
        ("reading cycles", _number(extra.get("reading_cycles")), "reading the answer back"),
        ("windows", _number(extra.get("windows")), "parts of the image that the machine holds one at a time"),
        ("visits", _number(extra.get("visits")), "loads of a window"),
        ("replication", _number(extra.get("replication")), "words of the second image stored for each of its own"),
        ("reconnections", _number(extra.get("reconnections")), "times that the link to the board was made again"),
        ("repeated requests", _number(extra.get("repeated_requests")), "over that link"),
        ("damaged frames", _number(extra.get("damaged_frames")), "over that link"),
    ]
    if clock_hz and report["cycles"] is not None:
        rows.append((f"time at {clock_hz / 1e6:g} MHz", _number(1e3 * report["cycles"] / clock_hz),
                     "ms, without loading and reading"))
        moved = [extra.get(key) for key in ("loading_cycles", "reading_cycles")]
        if None not in moved:
            rows.append(("loading and reading at that", _number(1e3 * sum(moved) / clock_hz), "ms"))
    rows.append(("wall-clock time", _number(report["wall_seconds"]), f"s, of the backend \"{report['backend']}\" on its host"))
    parts = [_table(row for row in rows if row[1] != NOTHING)]
    if len(report["chains"]) > 1:
        parts.append("<h3>By chain</h3>")
        of_field = len(report["chains"]) // len(job.problems)
        names = [f"{number % of_field + 1}{', ' + one['field'] if 'field' in one else ''}"
                 for number, one in enumerate(report["chains"])]
        parts.append(_table(((name, str(one["seed"]), _number(one["cycles"]), _number(one["utilization"], 6),
                              _number(one["log_messages"]), _number(one["wall_seconds"]))
                             for name, one in zip(names, report["chains"], strict=True)),
                            ("chain", "seed", "cycles", "utilization", "log messages", "seconds")))
    return _section("Hardware" if _by_a_machine(report) else "Computation",
                    "<p>Sums over all chains.</p>" if len(report["chains"]) > 1 else "", *parts)


def _listing(values: Mapping[str, Any]) -> str:
    def text(value: Any) -> str:
        if isinstance(value, Mapping):
            return ", ".join(f"{key} {text(item)}" for key, item in value.items())
        if isinstance(value, (list, tuple)):
            return ", ".join(text(item) for item in value) or "none"
        return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    return '<div class="columns">' + "".join(f"<div><span>{escape(str(key))}</span><span>{escape(text(value))}</span></div>"
                                             for key, value in values.items()) + "</div>"


def _settings(report: Mapping[str, Any]) -> str:
    settings, machine = {**report["settings"]}, report["settings"]["machine"]
    del settings["machine"]
    if machine is None:
        return _section("Settings", _listing(settings))
    note = "" if _by_a_machine(report) else ('<p class="note">No machine drew the labels: the pictures have the widths of this '
                                             "one.</p>")
    return _section("Settings", _listing(settings), "<h3>Machine</h3>", note, _listing(machine))


def _reproduce(report: Mapping[str, Any], command: str | None) -> str:
    line, digest = f"<pre>{escape(command)}</pre>" if command else "", report["config_digest"]
    of_machine = "</p>" if digest is None else f" Digest of the machine's configuration:</p><pre>{escape(digest)}</pre>"
    return _section("How to reproduce", line,
                    f"<p>mrfhw {escape(report['version'])}; the same version, settings and seed give the same bits.{of_machine}"
                    f"<p>Files beside this one: {escape(', '.join(report['files']))}.</p>")


def page(job: Job, report: Mapping[str, Any], drawn: Mapping[str, Figure], uncertainty: Uncertainty | None, *,
         command: str | None = None, clock_hz: float | None = None) -> str:
    """The page. report: of `outputs.report`, infinities allowed, with "files". drawn: of `drawings` and `answer_drawings`, and
    those of the application's maps that have a caption."""
    title = f"{job.application.title}: {job.scale.name}"
    inputs = [_figure(drawn[input_name(caption)], caption, "pixels") for caption in job.inputs]
    parts = [
        f"<h1>{escape(title)}</h1>", _answer(job, report),
        _section("Inputs", _figures(inputs)) if inputs else "", _estimate(job, report, drawn), _quality(job, report),
        _uncertainty(job, report, drawn, uncertainty), _calibration(job, report, drawn),
        _convergence(report, drawn), _hardware(job, report, clock_hz), _settings(report), _reproduce(report, command),
    ]
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width, initial-scale=1"><title>{escape(title)}</title><style>{STYLE}</style></head>\n'
            f"<body>\n{chr(10).join(part for part in parts if part)}\n</body></html>\n")
