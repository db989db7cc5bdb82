"""What git knows of the files beside the tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def tracked(*folders: str) -> list[str]:
    """The files that git tracks, or would, in those folders or everywhere; a test of an unpacked release is skipped."""
    if not (ROOT / ".git").exists():  # a file in a work tree; git itself would find a checkout further up
        pytest.skip("an unpacked release and not a checkout: git knows nothing of its files")
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *folders], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and ((ROOT / name).is_symlink() or (ROOT / name).is_file())]
