"""Generator, models and host side of an accelerator for Gibbs sampling on Markov random fields."""

__version__ = "0.1.0"
