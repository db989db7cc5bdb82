"""`mrfhw build`: a bitstream for a board, or the vendor's project."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.applications.stereo.scene import stereo_scene
from mrfhw.commands.folder import Folder
from mrfhw.commands.machine_options import OneLineCommand, Rare, clock_hz, machine_options, of_board
from mrfhw.cost.cost import Cost
from mrfhw.cost.devices import device_of
from mrfhw.cost.picture import PICTURE
from mrfhw.cost.rates import Workload
from mrfhw.cost.workload import workload
from mrfhw.fpga.boards import BOARDS, Board, board_named
from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.flow import BITSTREAMS, Flow
from mrfhw.fpga.records import RECORD, record_of
from mrfhw.fpga.report import critical_path, picture_of, seed_range
from mrfhw.generation.files import MANIFEST, beside, check_folder, left_by_another
from mrfhw.generation.identity import circuit_digest
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.known import remember
from mrfhw.machine.link_protocol import MEMORY_WORDS
from mrfhw.machine.manifest import config_from_options
from mrfhw.system.files import check_writable, staged, write_files
from mrfhw.system.progress import working

__all__ = ["command", "stereo_workload"]

MINUTES_MAX = 10_000  # of a seed
LEAST_SIDE = 16  # of a scene


def _write_project(flow: Flow, directory: Path) -> list[str]:
    """The tools' project, and manifest and header beside it, from which a host knows the machine; their names.

    The files of an earlier project of the folder, its record and its bitstream are removed, unless it was the same.
    Raises ConfigError where a file of theirs is somebody else's.
    """
    project = flow.files()
    files = beside(flow.config, project)
    check_folder(directory, [*project, *files])
    manifest, built = directory / MANIFEST, [directory / name for name in (RECORD, *BITSTREAMS.values())]
    another = manifest.is_file() and manifest.read_bytes() != files[MANIFEST].encode()
    former = [*left_by_another(directory, {*project, *files}), *built] if another else []
    with staged(directory) as scratch:
        write_files(scratch, project | files)
    for path in former:
        path.unlink(missing_ok=True)
    return [*project, *sorted(files)]


def _check_room(config: Config, board: Board) -> None:
    """Refuse what is estimated to be more than the board's device has, by more than the estimate may be wrong; say where it is more
    by less."""
    device = device_of(board.device)
    if device is None:
        return
    cost = Cost.of(config, device=device, link=board.link())
    if cost.refusal is not None:
        raise BuildError(f"{cost.refusal}, or --force to try")
    if cost.perhaps_too_much is not None:
        click.echo(f"machine and link may not fit: {cost.perhaps_too_much}", err=True)


def stereo_workload(config: Config) -> Workload:
    """Of the built-in stereo scene, as large as the machine.

    A machine whose lanes share a site has as many labels as keep them busy, one that evaluates subsets as many as it can have. One
    that is smaller than the scene's least takes a part of it, one of few labels or small weights fewer or smaller ones.
    Raises ProblemError for a machine that cannot take the scene all the same.
    """
    config = Derived.of(config)
    rows, cols = config.mesh_rows * config.tile_rows, config.mesh_cols * config.tile_cols
    labels = max(4, cols // 4)
    if config.holds_reach:  # with fewer labels a site would take its least cycles with idle lanes
        labels = max(labels, config.max_labels if config.subset_slots else config.lanes * config.latency.least_interval)
    labels = min(config.max_labels, labels)
    scene = stereo_scene(max(LEAST_SIDE, rows), max(LEAST_SIDE, cols, 4 * labels), max(4, labels))
    shift = max(0, 8 - config.data_bits)
    left, right = (image[:rows, :cols] >> shift for image in (scene.left, scene.right))
    problem = stereo_problem(left, right, labels=labels)
    problem = replace(problem, singleton=config.singletons[0], beta=min(problem.beta, config.weight_max),
                      alpha=min(problem.channels[0].alpha, config.weight_max),
                      out_of_range=min(problem.out_of_range, (1 << config.singleton_bits) - 1))
    return workload(config, problem)


def _with_link(board: Board, baud: int | None, ip: str | None, words: int | None, response_words: int | None,
               log_bytes: int | None, outstanding: int | None) -> Board:
    """The board with its end of the link as asked for."""
    if board.ethernet is None and ip is not None:
        raise BuildError(f"ip is {ip}; {board.name} has {'USB' if board.usb else 'a serial port'} and no Ethernet: leave it out")
    if board.ethernet is not None and baud is not None:
        raise BuildError(f"baud is {baud}; {board.name} has Ethernet: leave it out, or give --ip")
    if board.usb and baud is not None:
        raise BuildError(f"baud is {baud}; {board.name} has USB, which is as fast as it is: leave it out")
    if words is not None:
        board = replace(board, words=words, response_words=None)
    if response_words is not None:
        board = replace(board, response_words=response_words)
    if log_bytes is not None:
        board = replace(board, log_bytes=log_bytes)
    if outstanding is not None:
        board = replace(board, outstanding=outstanding)
        if board.at_once != outstanding:
            way = f", or {MEMORY_WORDS[0]} --words or more" if board.short_elements else ", or take a board of short elements"
            raise BuildError(f"outstanding is {outstanding}; {board.name} has one request outstanding with these memories: give 1"
                             f"{way}")
    return board if board.ethernet is None or ip is None else replace(board, ethernet=replace(board.ethernet, ip=ip))


@click.command("build", cls=OneLineCommand)
@click.option("--board", "name", required=True, metavar="NAME",
              help=f"The board: {', '.join(BOARDS)}, or the path of a Python file with another (docs/boards.md).")
@click.option("--clock", type=float, metavar="MHZ", help="Clock of the machine.  [default: the board's]")
@click.option("--baud", type=int, metavar="N", help="Rate of the serial port.  [default: the board's]")
@click.option("--ip", metavar="ADDRESS", help="IPv4 address of a board with Ethernet.  [default: the board's]")
@click.option("--words", type=int, metavar="N", cls=Rare,
              help="Words of the link's memories for requests and for responses, a power of two.  [default: the board's]")
@click.option("--response-words", type=int, metavar="N", cls=Rare,
              help="Words of the memory for responses alone, where it is to have others than --words.")
@click.option("--outstanding", type=int, metavar="N", cls=Rare,
              help="Requests that the host may have outstanding, a power of two.  [default: the board's]")
@click.option("--log-bytes", type=int, metavar="N",
              help="Bytes of log that wait for the link in block RAM, a power of two.  [default: the board's]")
@click.option("--seeds", type=int, default=3, show_default=True, metavar="N",
              help="Seeds of place and route to try at most, until the clock is met.")
@click.option("--every-seed", is_flag=True,
              help="Try all of them, to see what they come to; the bitstream is that of the first that meets the clock.")
@click.option("--minutes", type=float, default=30, show_default=True, metavar="N",
              help="Time of place and route after which a seed is given up.")
@click.option("--force", is_flag=True, help="Also where the estimate says that the device cannot hold the machine.")
@click.option("--no-build", is_flag=True, help="Write the tools' project and do not run them.")
@click.option("-o", "--output", type=Folder(), default=None, metavar="DIR",
              help="Directory for project and bitstream.  [default: build/NAME, and a digest of a machine that is not its own]")
@partial(machine_options, preset="the board's own")
def command(name: str, clock: float | None, baud: int | None, ip: str | None, words: int | None, response_words: int | None,
            outstanding: int | None, log_bytes: int | None, seeds: int, every_seed: bool, minutes: float, force: bool,
            no_build: bool, output: Path | None, **options: Any) -> None:
    """Build a board's bitstream with the open tools and record what it came to in build.json.

    Without options of the machine it is the board's own. For boards of Intel and AMD the vendor's project is written
    (--no-build).
    """
    board = _with_link(board_named(name), baud, ip, words, response_words, log_bytes, outstanding)
    config = Derived.of(config_from_options(**of_board(options, board.preset)))
    if not 1 <= seeds <= 100:
        raise BuildError(f"seeds is {seeds}; place and route is tried with 1 to 100: give a number between them")
    if not 0 < minutes <= MINUTES_MAX:
        raise BuildError(f"minutes is {minutes:g}; a seed has more than 0 to {MINUTES_MAX}: give a number between them")
    if not no_build and not board.open_flow:
        raise BuildError(f"board is {name}; open tools make no bitstream for its {board.device}: give --no-build and run the "
                         "vendor's tool in the project that it writes")
    rate = board.baud if baud is None else baud
    directory = output or Path("build") / _folder(board, config)
    check_writable(directory)
    flow = Flow(board, config, board.clock_hz if clock is None else clock_hz(clock), rate, directory)
    if not force:
        _check_room(config, board)
    if not no_build:
        with working("measuring utilization with the model"):
            work = stereo_workload(config)  # before anything is written, as it may refuse the machine
    files = _write_project(flow, directory)
    remember(config, circuit_digest(config))
    click.echo(f"wrote the project of {config.size} at {flow.rates.hz / 1e6:g} MHz to {directory}: "
               f"{', '.join(files)}")
    if no_build:
        return
    (directory / RECORD).unlink(missing_ok=True)
    placed = flow.run(seeds, 60 * minutes, lambda text: click.echo(text, err=True), every_seed)
    record = record_of(board, config, flow.rates, placed, work)
    (directory / RECORD).write_text(json.dumps(record, indent=1) + "\n")
    _summary(record, directory)
    if not record["timing_met"]:
        raise BuildError(missed(record))


def missed(record: dict[str, Any]) -> str:
    """Which clock a design does not reach, the machine's or one of its link's, in one line."""
    hz, reached, link = (f"{record[name] / 1e6:.4g} MHz" for name in ("clock_hz", "machine_fmax_hz", "link_clock_hz"))
    after = f"after {len(record['seeds'])} seed{'s' * (len(record['seeds']) > 1)}"
    if record["machine_fmax_hz"] < record["clock_hz"]:
        return f"clock is {hz}; the design reaches {reached} {after}: give a slower --clock, or more --seeds"
    return (f"clock is {hz}, and the machine reaches {reached}, but its link misses a clock of its own, which goes with the "
            f"machine's ({link}), {after}: give another --clock, or more --seeds")


def _folder(board: Board, config: Derived) -> str:
    """The board's name, and for another machine than its own the beginning of that one's digest."""
    own = config.digest == Derived.preset(board.preset).digest
    return board.name if own else f"{board.name}-{config.digest[:8]}"


def _summary(record: dict[str, Any], directory: Path) -> None:
    click.echo(f"fmax {record['machine_fmax_hz'] / 1e6:.1f} MHz, {record['labels_per_s'] / 1e6:.1f} M labels/s at it, "
               f"{record['log']['labels_per_s'] / 1e6:.1f} M with the log ({record['log']['binds']} binds)")
    picture = picture_of(record)
    click.echo(f"no picture of {PICTURE}: {picture}" if isinstance(picture, str) else picture.said(record["clock_hz"]))
    for line in filter(None, (critical_path(record), seed_range(record))):
        click.echo(line)
    used = sorted(record["resources"].items(), key=lambda item: -item[1]["share"])
    click.echo(", ".join(f"{kind} {cell['used']} ({cell['share']:.0%})" for kind, cell in used if cell["share"] >= 0.01))
    click.echo(f"{record['seconds']:.0f} s, {record['peak_bytes'] / 1e9:.2f} GB at most; wrote {record['bitstream']} and {RECORD} "
               f"to {directory}")
