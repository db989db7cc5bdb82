"""Peak memory of a command and of the processes that it starts: `python -m studies.memory mrfhw run denoise PICTURE`.

From /proc (Linux), ten times a second. A page that several processes share counts once. Pages of files are memory that the system
takes back when it needs room; all others are not.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path

FIELDS = {"Pss_Anon": "memory", "Pss_File": "pages of files", "Pss": "both"}
SECONDS = 0.1


def tree(process: int) -> list[int]:
    """The process and those below it."""
    found = [process]
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += tree(int(child))
    return found


def used(process: int) -> dict[str, int]:
    """Bytes by FIELDS of the process and those below it."""
    total = dict.fromkeys(FIELDS, 0)
    for one in tree(process):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                name, _, rest = line.partition(":")
                if name in total:
                    total[name] += 1024 * int(rest.split()[0])
    return total


def main() -> None:
    began, peak = time.monotonic(), dict.fromkeys(FIELDS, 0)
    with subprocess.Popen(sys.argv[1:]) as process:
        while process.poll() is None:
            peak = {name: max(most, now) for (name, most), now in zip(peak.items(), used(process.pid).values(), strict=True)}
            time.sleep(SECONDS)
    print(", ".join(f"{what} {peak[name] / 1e9:.2f} GB" for name, what in FIELDS.items()), f"in {time.monotonic() - began:.1f} s")
    sys.exit(process.returncode)


if __name__ == "__main__":
    main()
