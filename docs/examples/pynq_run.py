"""PYNQ: a stereo problem on the machine of zynq_block_design.tcl. Run on the board, as root.

    python pynq_run.py soc.bit manifest.json LEFT.png RIGHT.png --labels 24 -o disparity.npy

soc.bit with soc.hwh beside it; manifest.json is that of `mrfhw generate --top axi`.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from mrfhw import Config
from mrfhw.backends.windows import WindowPlan, sweep_windows
from mrfhw.field.problem import Run
from mrfhw.host.axi_session import AxiSession, RingLog

RING_BYTES = 1 << 20
WORD_BYTES = 4


class MmioChip:
    """The machine's registers as a `mrfhw.driver.driver.Chip`. mmio: `pynq.MMIO` over the machine's window.

    One access after the other, in order: some registers are written and read several times at one address.
    """

    def __init__(self, mmio):
        self.mmio = mmio

    def write(self, addresses, data):
        for address, word in zip(addresses.tolist(), data.tolist(), strict=True):
            self.mmio.write(WORD_BYTES * address, word)

    def read(self, addresses):
        return np.array([self.mmio.read(WORD_BYTES * address) for address in addresses.tolist()], np.uint32)


def open_session(bitstream, config, digest):
    """The machine of a bitstream, of that circuit, with a ring in the processor's memory."""
    from pynq import MMIO, Overlay, allocate

    machine = Overlay(str(bitstream)).ip_dict["mrfhw"]
    chip = MmioChip(MMIO(machine["phys_addr"], machine["addr_range"]))
    # Uncached, because the high-performance ports do not see the caches. Pages begin at multiples of any block.
    ring = allocate((RING_BYTES,), np.uint8, cacheable=False)
    return AxiSession(config, chip, RingLog(chip, ring, ring.device_address, RING_BYTES), digest=digest)


def main():
    parser = argparse.ArgumentParser(description="Disparities of a rectified pair, computed on a Zynq.")
    for name in ("bitstream", "manifest", "left", "right"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--labels", type=int, default=24)
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("-o", "--output", type=Path, default=Path("disparity.npy"))
    arguments = parser.parse_args()

    from PIL import Image

    from mrfhw.applications.stereo.field import stereo_problem

    manifest = json.loads(arguments.manifest.read_text())
    config = Config.from_dict(manifest["parameters"])
    left, right = (np.asarray(Image.open(path).convert("L")) >> 8 - config.data_bits for path in (arguments.left, arguments.right))
    problem = stereo_problem(left, right, labels=arguments.labels)
    plan = WindowPlan(config, problem)
    run = Run(sweeps=arguments.sweeps, burn_in=arguments.sweeps // 2)
    session = open_session(arguments.bitstream, config, manifest["digest"])
    result = session.solve(problem, run) if len(plan.windows) == 1 else sweep_windows(session, plan, run, visit=10)
    np.save(arguments.output, result.mode)
    print(f"{result.cycles} cycles, {result.stall_cycles} of them waiting for the log; {arguments.output}")


if __name__ == "__main__":
    main()
