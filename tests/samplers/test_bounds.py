"""The compiled loops with numba's check of bounds, which they run without: no index leaves its array on the fields of these tests.

The vector parts have no such check; `test_cpu_vectors` compares them with NumPy's twins, which have.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.checkout import ROOT

FIELDS = ("samplers/test_limits.py", "samplers/test_cpu.py", "samplers/test_exact.py", "samplers/test_events.py",
          "twin/test_recorded_bits.py", "twin/test_paired.py")
BEYOND = """
import numpy as np
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.samplers.exact import FloatChain
field = Problem(labels=4, unary=np.zeros((6, 6, 4), int), alpha=1, beta=1, schedule=Schedule.constant(2.0))
chain = FloatChain(field, Run(sweeps=2))
chain.labels[0] = 255
try:
    chain.sweep()
except IndexError:
    print("noticed")
"""


@pytest.mark.slow
@pytest.mark.claim("model", "no compiled loop leaves its arrays: numba's check of bounds on the samplers' and the model's fields")
def test_no_index_leaves_its_array(tmp_path: Path) -> None:
    """Seen to notice: a label that there is not, which no state that is checked brings."""
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    noticed = subprocess.run([sys.executable, "-c", BEYOND], env=environment, capture_output=True, text=True, check=False)
    assert noticed.stdout == "noticed\n", noticed.stderr
    files = [str(ROOT / "tests" / name) for name in FIELDS]
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow and not tools", *files],
                          env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
