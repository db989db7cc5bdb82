"""The option of commands that have their work done on a Dask cluster."""

from __future__ import annotations

import sys

import click
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.system.cluster import check_address
from mrfhw.system.errors import ProblemError

__all__ = ["CLUSTER", "check_cluster", "say_above_bar"]

CLUSTER = click.option("--cluster", metavar="ADDRESS", help="Have the workers of a Dask cluster do it: tls://HOST:PORT of its "
                       "scheduler, or tcp://127.0.0.1:PORT on this computer. Files go there and come back.")


def check_cluster(cluster: str | None, workers: int | None) -> None:
    """Raise ProblemError for an address that is none, and for workers of both kinds."""
    if cluster is not None:
        check_address(cluster)
        if workers is not None:
            raise ProblemError(f"workers is {workers}, and a cluster has its own: drop one of the two")


def say_above_bar(line: str) -> None:
    """A line on stderr, without harm to a bar."""
    tqdm.write(line, file=sys.stderr)
