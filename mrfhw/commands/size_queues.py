"""`mrfhw size-queues`: how large the memories of a board's link and the queues of a machine's log are to be."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import Any

import click

from mrfhw.commands.job_options import delays_of, job_of, job_options
from mrfhw.commands.machine_options import OneLineCommand, machine_options, of_board
from mrfhw.cost.cost import Cost
from mrfhw.cost.devices import device_named
from mrfhw.cost.estimate import Cycles
from mrfhw.cost.traffic import messages
from mrfhw.fpga.boards import board_named
from mrfhw.fpga.clocks import rates_for
from mrfhw.machine.derived import Derived
from mrfhw.machine.manifest import config_from_options
from mrfhw.tuning.hub_queues import LOST, Hubs, chosen_hubs
from mrfhw.tuning.link_queues import LinkQueues, Sizes

__all__ = ["command"]


@click.command("size-queues", cls=OneLineCommand)
@job_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@partial(machine_options, preset="the board's own")
def command(name: str, job_name: str, sites: str | None, labels: int | None, sweeps: int, estimate: str, delay: str, as_json: bool,
            **options: Any) -> None:
    """Say how large the link's memories for requests, responses and log are to be, and the queues of the log's hubs.

    The link's are filled and emptied in turns, each at the cost of a round trip. They have what the device's memory blocks leave;
    of more blocks, as many as bring 1 % of the run's seconds each. The hubs' are emptied in each cycle, so that a run is replayed
    with each network: fan-in, depth and levels of lines.
    """
    board = board_named(name)
    config = Derived.of(config_from_options(**of_board(options, board.preset)))
    job = job_of(board, job_name, sites, labels, sweeps, estimate)
    rates = rates_for(board, board.clock_hz, board.baud)
    device = device_named(board.device)
    cycles = Cycles.of(config, job.problem, job.run)
    logged = job.share * messages(job.labels, config.counter_bits, job.run.counted) if estimate == "mode" else 0.0
    queues = LinkQueues(board.link(rates.baud, rates.link_hz if board.sdram else None), device, cycles, job.run, logged, rates.hz,
                        rates.link_hz, delays_of(delay))
    free = device.ram - Cost.of(config, device=device).needs.ram
    tried: list[Sizes] = []
    best = queues.chosen(free, tried.append)
    own, hubs = chosen_hubs(config, job.problem) if estimate == "mode" else (None, None)
    if as_json:
        click.echo(json.dumps({"now": asdict(queues.now), "tried": [asdict(one) for one in tried], "chosen": asdict(best),
                               "hubs": _record(own), "chosen_hubs": _record(hubs)}, indent=1))
        return
    click.echo(f"{job.said}, on {board.name}; {free} memory blocks for the link")
    click.echo(f"now: {_said(queues.now)}")
    for one in tried:
        click.echo(f"  {_said(one)}")
    better = best.seconds < queues.now.seconds * 0.99
    click.echo(f"link: {_said(best)}: mrfhw build --board {name} --words {best.words} --response-words {best.response_words} "
               f"--log-bytes {best.log_bytes}" if better else "link: nothing to size")
    if own is None:
        click.echo("hubs: nothing to size, as the run has no log of labels")
    elif hubs is None:
        click.echo(f"hubs: nothing to size ({own.said})")
    else:
        short = "" if hubs.lost <= LOST else "; no network of these tiles loses less"
        click.echo(f"hubs: {own.said}; {hubs.said}{short}")


def _said(one: Sizes) -> str:
    return (f"{one.words} words of requests, {one.response_words} of responses, {one.log_bytes} bytes of log, {one.blocks} blocks: "
            f"{one.seconds:.4g} s")


def _record(hubs: Hubs | None) -> dict[str, Any] | None:
    if hubs is None:
        return None
    return {"line_levels": hubs.config.line_levels, "hub_fan_in": hubs.config.hub_fan_in, "hub_depth": hubs.config.hub_depth,
            "lost": hubs.lost, "bits": hubs.bits, "cycles": hubs.cycles, "stalls": hubs.stalls}
