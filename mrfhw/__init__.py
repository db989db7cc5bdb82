"""Generator, models and host side of an accelerator for Gibbs sampling on Markov random fields."""

import time

IMPORTED = time.time()  # seconds since 1970: modules on disk that are newer may not be those that run

__version__ = "0.1.0"
