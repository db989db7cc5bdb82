"""`mrfhw serve`: a service on which runs wait, are done and are kept."""

from __future__ import annotations

from pathlib import Path

import click

from mrfhw.commands.folder import Folder
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.service.listening import Address, Settings, serve
from mrfhw.service.queue import Quota
from mrfhw.service.tokens import read_tokens
from mrfhw.sharing.tenant import TenantBackend
from mrfhw.system.errors import ProblemError
from mrfhw.system.processors import processors

__all__ = ["command"]

_MOST_WORKERS = 1000


@click.command("serve", cls=OneLineCommand)
@click.option("--folder", type=Folder(), default=Path("out") / "serve", show_default=True, metavar="DIR",
              help="Directory of the queue and the results, of this service alone; made where it is missing.")
@click.option("--listen", default="127.0.0.1:8765", show_default=True, metavar="HOST:PORT|unix:PATH",
              help="Where it listens. Beyond this computer it needs --token, --tls-cert and --tls-key.")
@click.option("--workers", type=int, metavar="N", help="Runs at a time, of one thread each.  [default: one for each processor]")
@click.option("--token", type=click.Path(path_type=Path), metavar="FILE",
              help="Who may ask: a line NAME TOKEN for each, which may end with the greatest weight of NAME's jobs, 1 by default.")
@click.option("--tls-cert", type=click.Path(path_type=Path), metavar="FILE", help="Certificate, in PEM.")
@click.option("--tls-key", type=click.Path(path_type=Path), metavar="FILE", help="Its key, in PEM.")
@click.option("--request-bytes", type=int, default=64 << 20, show_default=True, metavar="N", help="Bytes of a request at most.")
@click.option("--quota-jobs", type=int, default=Quota.jobs, show_default=True, metavar="N", help="Queued jobs of an owner at most.")
@click.option("--quota-bytes", type=int, default=Quota.total, show_default=True, metavar="N",
              help="Bytes of an owner's requests and results at most.")
@click.option("--lease", type=float, default=60.0, show_default=True, metavar="SECONDS",
              help="A worker that says nothing for so long is replaced.")
@click.option("--deaths", type=int, default=3, show_default=True, metavar="N",
              help="A job at which so many workers died has failed.")
@click.option("--board", metavar="ADDRESS", help="What mrfhw share has said: jobs that ask for the model of the board's machine "
              "are sampled there, with the same bits, their owners by weight.")
def command(folder: Path, listen: str, workers: int | None, token: Path | None, tls_cert: Path | None, tls_key: Path | None,
            request_bytes: int, quota_jobs: int, quota_bytes: int, lease: float, deaths: int, board: str | None) -> None:
    """Have runs that others send wait, be done and be kept, until Ctrl-C. A job that is taken is done once, whatever is killed."""
    address, workers = Address.of(listen), processors() if workers is None else workers
    for name, value, most in (("workers", workers, _MOST_WORKERS), ("request-bytes", request_bytes, 1 << 32),
                              ("deaths", deaths, 1 << 20), ("quota-jobs", quota_jobs, 1 << 40),
                              ("quota-bytes", quota_bytes, 1 << 60)):
        if not 1 <= value <= most:
            raise ProblemError(f"{name} is {value}; the limits are 1 to {most}: give a number between them")
    if not 2 <= lease <= 86400:
        raise ProblemError(f"lease is {lease:g} s; the limits are 2 to 86400: give a number between them")
    if (tls_cert is None) != (tls_key is None):
        raise ProblemError("one of tls-cert and tls-key is given; TLS needs both: give the other as well")
    if not address.is_local and (token is None or tls_cert is None):
        raise ProblemError(f"listen is {listen}, which others reach; there a service needs tokens and TLS: give token, tls-cert "
                           "and tls-key, or listen at 127.0.0.1")
    if address.path is not None and tls_cert is not None:
        raise ProblemError("tls-cert is given, and listen is a Unix socket, which has no TLS: leave tls-cert and tls-key out")
    if board is not None:
        TenantBackend.machine_at(board)  # said before the service begins, where it is not there
    tokens = () if token is None else read_tokens(token)
    settings = Settings(address=address, workers=workers, tokens=tokens, certificate=tls_cert, key=tls_key,
                        request_bytes=request_bytes, lease_seconds=lease, deaths=deaths, quota=Quota(quota_jobs, quota_bytes),
                        board=board)
    serve(folder.absolute(), settings, lambda line: click.echo(line))
