"""A problem whose chains do not agree at the end of their run, and how far they may go on."""

from __future__ import annotations

import numpy as np

from mrfhw.field.problem import Problem, Run, Schedule

# Labels that differ in nothing, whose domains grow slowly: with this seed the chains of no backend agree before 80 sweeps.
SLOW = Problem(labels=4, singleton1=np.full((12, 14), 20), constants=np.full(4, 20), doubleton="potts", beta=9,
               schedule=Schedule.constant(4.0), clamped=np.arange(12 * 14).reshape(12, 14) == 5)
RUN, MOST = Run(sweeps=20, burn_in=10, seed=8), 80
