"""Label evaluations a second of a built machine, and how many of them its log lets through."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.applications.stereo.scene import stereo_scene
from mrfhw.field.problem import Run
from mrfhw.gateware.board.ethernet_top import ETHERNET_HZ
from mrfhw.gateware.link.uart import FRAME_BITS
from mrfhw.gateware.link.usb_core import PACKET_BYTES
from mrfhw.machine.config import Config
from mrfhw.machine.derived import BUS_BITS, Derived
from mrfhw.machine.link_protocol import DATAGRAM_LOG_CHUNK, HEAD_WORDS, LOG_CHUNK, UDP_BYTES, WIRE_BYTES
from mrfhw.machine.registers import LMEM_WORDS
from mrfhw.twin.machine import Machine

__all__ = ["RUN_SWEEPS", "Workload", "ethernet_bytes_per_s", "link_bytes_per_s", "read_out", "usb_bytes_per_s",
           "workload"]

SWEEPS = 60  # of the run that is measured, half of them logged
USB_PACKETS = 19  # of an endpoint's that USB 2.0 (5.8.4) counts in a millisecond
ESCAPED = 2 / 256  # of random bytes that are sent as two
LEAST_SIDE = 16  # of a scene
RUN_SWEEPS = 200  # of a run whose answer is read out


@dataclass(frozen=True)
class Workload:
    """What a run of the built-in stereo scene, as large as the machine, takes.

    rows, cols, labels: of the scene. utilization: label evaluations / (lanes x cycles) of a log that is always taken.
    log_bytes_per_evaluation: bytes of log lines for each label evaluation of a counted sweep. evaluated: labels that a visit
    evaluates: all, or those of a subset.
    """

    rows: int
    cols: int
    labels: int
    utilization: float
    log_bytes_per_evaluation: float
    evaluated: int


def workload(config: Config) -> Workload:
    """The bit-exact model's cycles and log messages of `SWEEPS` sweeps, half of them counted.

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
    run = Run(sweeps=SWEEPS, burn_in=SWEEPS // 2)
    shift = max(0, 8 - config.data_bits)
    left, right = (image[:rows, :cols] >> shift for image in (scene.left, scene.right))
    problem = stereo_problem(left, right, labels=labels)
    problem = dataclasses.replace(problem, singleton=config.singletons[0], beta=min(problem.beta, config.weight_max),
                                  alpha=min(problem.channels[0].alpha, config.weight_max),
                                  out_of_range=min(problem.out_of_range, (1 << config.singleton_bits) - 1))
    machine = Machine(config, problem, run)
    for _ in range(SWEEPS):
        machine.sweep()
    machine.timing.finish()
    sweep = machine.placement.order.label_evaluations(rows * cols, 1)
    lines = machine.log_messages / config.line_messages
    return Workload(rows, cols, labels, SWEEPS * sweep / (config.all_lanes * machine.timing.cycles),
                    lines * config.line_bits / 8 / ((SWEEPS - run.burn_in) * sweep), sweep // (rows * cols))


def read_out(labels_per_s: float, sites: int, labels: float, bytes_per_s: float) -> float:
    """Label evaluations a second of a run of `RUN_SWEEPS` sweeps for the mean, the time to read LMem over the link included.

    labels_per_s: of the machine alone. labels: evaluated at a visit to a site. bytes_per_s: of the link, of the answers to reads as
    of the log.
    """
    made = RUN_SWEEPS * sites * labels
    return made / (made / labels_per_s + sites * LMEM_WORDS * BUS_BITS / 8 / bytes_per_s)


def link_bytes_per_s(baud: int) -> float:
    """Bytes of log lines that a serial port carries."""
    return _of_frames(baud / FRAME_BITS)


def usb_bytes_per_s() -> float:
    """The same of full-speed USB that has no other device."""
    return _of_frames(1000 * USB_PACKETS * PACKET_BYTES)


def _of_frames(bytes_per_s: float) -> float:
    """What frames of `LOG_CHUNK` bytes leave of that: their heads, flags and escapes."""
    frame = (LOG_CHUNK + 4 * (HEAD_WORDS + 1)) * (1 + ESCAPED) + 1
    return bytes_per_s * LOG_CHUNK / frame


def ethernet_bytes_per_s() -> float:
    """The same of gigabit Ethernet: frames of `DATAGRAM_LOG_CHUNK` bytes in a datagram each."""
    return ETHERNET_HZ * DATAGRAM_LOG_CHUNK / (DATAGRAM_LOG_CHUNK + 4 * (HEAD_WORDS + 1) + UDP_BYTES + WIRE_BYTES)
