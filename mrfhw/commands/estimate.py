"""`mrfhw estimate`: memory, multipliers, logic and cycles of a machine, and whether a device holds it, without synthesis."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import click
import numpy as np

from mrfhw.commands.job_options import DELAY_MAX
from mrfhw.commands.machine_options import OneLineCommand, machine_options, of_board
from mrfhw.cost.cost import Cost
from mrfhw.cost.devices import FAMILIES, Device, device_named
from mrfhw.cost.picture import PICTURE, PictureTime
from mrfhw.cost.seconds import Delays, RunTime
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.fpga.boards import Board, board_named
from mrfhw.fpga.clocks import rates_for
from mrfhw.fpga.report import kept_clock, kept_record, picture_of
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.manifest import config_from_options

__all__ = ["command"]

SITES_MAX = 1 << 24  # of a picture that is asked for


@click.command("estimate", cls=OneLineCommand)
@click.option("--labels", type=int, metavar="L", help="Labels of the problem.  [default: as many as the machine has]")
@click.option("--rows", type=int, metavar="H", help="Rows of the grid.  [default: as many as the machine holds]")
@click.option("--cols", type=int, metavar="W", help="Columns of the grid.  [default: as many as the machine holds]")
@click.option("--sweeps", type=int, default=100, show_default=True, metavar="N", help="Sweeps of the run, 1 to 100000.")
@click.option("--board", metavar="NAME", help="Whether the board's device holds the machine, and the largest that it would.")
@click.option("--device", metavar="NAME", help="The same of a device, such as LFE5U-45F.")
@click.option("--delay", type=float, default=0.0, show_default=True, metavar="MS",
              help="Milliseconds that bytes of the board's link are under way each way, beside their own time.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@partial(machine_options, preset="default, or with --board the board's own")
def command(labels: int | None, rows: int | None, cols: int | None, sweeps: int, board: str | None, device: str | None,
            delay: float, as_json: bool, **options: Any) -> None:
    """Print a machine's memory and multipliers by use, and the cycles of a problem, without synthesis.

    The cycles are the machine's where its log never waits; a problem of constants for labels is loaded and read. With --board or
    --device, what it takes of that FPGA: memory blocks, multipliers, and logic by a model that was fitted to synthesized machines.
    With --board the seconds of that problem for the mean and of a whole stereo picture as well, at the clock that the board's PLL
    makes, with what its link carries.
    """
    place, machine, found = _place_and_machine(board, device, options)
    link = None if found is None else found.link()
    config = Derived.of(machine)
    shape = (config.mesh_rows * config.tile_rows if rows is None else rows,
             config.mesh_cols * config.tile_cols if cols is None else cols)
    labels = config.max_labels if labels is None else labels
    if min(shape) < 1 or shape[0] * shape[1] > SITES_MAX:
        raise ProblemError(f"the grid is {shape[0]}x{shape[1]}; it has 1 to {SITES_MAX} sites: give rows and cols for that")
    if not 2 <= labels <= config.max_labels:
        raise ProblemError(f"labels is {labels}; the limits are 2 to {config.max_labels}: give a number between them")
    if not 1 <= sweeps <= 100_000:
        raise ProblemError(f"sweeps is {sweeps}; the limits are 1 to 100000: give a number between them")
    if not 0 <= delay <= 1000 * DELAY_MAX:
        raise ProblemError(f"delay is {delay:g}; a byte is 0 to {1000 * DELAY_MAX:g} ms under way: give a number between them")
    if delay and found is None:
        raise ProblemError(f"delay is {delay:g}; it is that of a board's link: give --board, or leave it out")
    problem = Problem(labels=labels, singleton1=np.zeros(shape, np.int64), constants=np.zeros(labels, np.int64),
                      singleton=config.singletons[0], tau=config.doubleton_max)
    cost = Cost.of(config, problem, place, run=Run(sweeps=sweeps), link=link)
    cycles = {name: getattr(cost.cycles, name) for name in ("running", "loading", "reading")}
    memories, products = cost.memory_bits, cost.multipliers
    delays = Delays(delay / 1000)
    picture = None if found is None or cost.too_much is not None else _picture(found, config, delays)
    time = None if found is None or cost.too_much is not None else _seconds(found, cost, delays)
    if as_json:
        click.echo(json.dumps({
            "parameters": config.to_dict(), "problem": {"rows": shape[0], "cols": shape[1], "labels": labels, "sweeps": sweeps},
            "cycles": cycles, "memory_bits": memories,
            **({} if place is None else {"device": _on(cost)}),
            "picture_s": None if picture is None or isinstance(picture[0], str) else picture[0].seconds,
            "run_s": None if time is None else time.record,
            "multipliers": {use: {"count": count, "bits": [a, b]} for use, (count, a, b) in products.items()}}, indent=1))
        return
    on_it = None if place is None else _text(cost)
    click.echo(f"{shape[1]}x{shape[0]} sites, {labels} labels, {sweeps} sweeps: {cycles['running']} cycles without stalls, "
               f"{cycles['loading']} to load, {cycles['reading']} to read")
    click.echo(f"memory: {sum(memories.values())} bits")
    for use, bits in memories.items():
        click.echo(f"  {use:18} {bits:>12}")
    click.echo(f"multipliers: {sum(of[0] for of in products.values())}")
    for use, (count, a, b) in products.items():
        click.echo(f"  {use:24} {count:>6} of {a} x {b} bits")
    if on_it is not None:
        click.echo(on_it)
    if time is not None:
        click.echo(f"for the mean, from its loading to the answer: {time.seconds:.3g} s ({time.said})")
    if picture is not None:
        whole, hz = picture
        click.echo(f"no picture of {PICTURE}: {whole}" if isinstance(whole, str) else whole.said(hz))


def _place_and_machine(board: str | None, device: str | None,
                       options: dict[str, Any]) -> tuple[Device | None, Config, Board | None]:
    """Where the machine is to be, which it is, that of the options or a board's own, and a board."""
    if board is None:
        return None if device is None else device_named(device), config_from_options(**options), None
    if device is not None:
        raise ProblemError("board and device are both given; a machine is estimated on one device: drop one of them")
    found = board_named(board)
    return device_named(found.device), config_from_options(**of_board(options, found.preset)), found


def _seconds(board: Board, cost: Cost, delays: Delays) -> RunTime:
    """The time of the problem on a board's machine, for the mean, at the clock of the kept build or that the board's PLL makes."""
    rates = rates_for(board, board.clock_hz, board.baud)
    clock = kept_clock(board.name, cost.config) or rates.hz
    assert cost.problem is not None
    return RunTime.of(cost.config, cost.problem, replace(cost.run, estimate="mean"), board.link(rates.baud, rates.link_hz), clock,
                      delays=delays, link_hz=rates.link_hz)


def _picture(board: Board, config: Derived, delays: Delays) -> tuple[PictureTime | str, float]:
    """The time of a picture on a board's machine, or why there is none, and the machine's clock.

    Both are those of the kept build; where none is kept, the clock is the board's, as its PLL makes it, and no log is counted.
    """
    if (record := kept_record(board.name, config)) is not None:
        return picture_of(record, delays), float(record["clock_hz"])
    rates = rates_for(board, board.clock_hz, board.baud)
    try:
        link = board.link(rates.baud, rates.link_hz)
        return PictureTime.of(config, rates.hz, link, None, delays, rates.link_hz), rates.hz
    except ProblemError as error:
        return str(error), rates.hz


def _on(cost: Cost) -> dict[str, Any]:
    """What the machine takes of its device, with the memories of its link, for --json."""
    needs, most = cost.needs, cost.largest
    return {
        "name": needs.device.name, "family": needs.device.family,
        "needed": {kind: {"used": used, "available": there} for kind, (used, there) in needs.shares.items()},
        "logic_error": {"median": needs.logic.median_error, "largest": needs.logic.largest_error},
        "too_much": cost.too_much, "perhaps_too_much": cost.perhaps_too_much,
        "largest_mesh": None if most is None else [most.mesh_rows, most.mesh_cols]}


NAMES = {"ff": "flip-flops", "ram": "memory blocks", "dsp": "multipliers"}


def _text(cost: Cost) -> str:
    found, config = _on(cost), cost.config
    names = {**NAMES, "lut": FAMILIES[found["family"]].logic}
    lines = [f"{found['name']}, {'with the memories of the link and without its logic' if cost.link else 'without a link'}:"]
    for kind, share in found["needed"].items():
        about = "~" if kind in ("lut", "ff") else " "
        lines.append(f"  {names[kind]:18} {about}{share['used']:>7} of {share['available']:>7}")
    error = found["logic_error"]
    lines.append("  (logic: fitted to synthesized machines; of others it was wrong by "
                 f"{error['median']:.0%} in the median, at most {error['largest']:.0%})")
    if config.contexts > 1:
        lines.append("  (the logic of one context: what the second takes is not in it, see docs/machine.md)")
    lines.append(f"it does not fit: {found['too_much']}" if found["too_much"] is not None else "it fits by count"
                 if found["perhaps_too_much"] is None else f"it may not fit: {found['perhaps_too_much']}")
    mesh, several = found["largest_mesh"], f" in each of {config.clusters} clusters" if config.clusters > 1 else ""
    lanes = 0 if mesh is None else config.clusters * mesh[0] * mesh[1] * config.spus * config.lanes
    lines.append("not even one tile of these parameters is estimated to fit" if mesh is None else
                 f"largest mesh of these tiles: {mesh[0]}x{mesh[1]}{several}, {lanes} lane{'s' * (lanes > 1)}")
    return "\n".join(lines)
