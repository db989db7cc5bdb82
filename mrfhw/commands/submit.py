"""`mrfhw submit`, the group of what every application has: a run as `mrfhw run` takes it, done by a service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.backends.plan import BACKENDS
from mrfhw.backends.registry import AUTO
from mrfhw.commands.application import VISIT, options_on, request_of
from mrfhw.commands.applications import Applications
from mrfhw.commands.folder import Folder
from mrfhw.commands.machine_options import OneLineCommand, given_options
from mrfhw.jobs.application import Application
from mrfhw.report.outputs import files_of
from mrfhw.report.targets import check_folder
from mrfhw.runs.choice import check_useful, chosen_backend
from mrfhw.service.client import Client
from mrfhw.system.errors import ProblemError
from mrfhw.system.input_files import read_plain

__all__ = ["command"]

_CLIENT = "mrfhw.client"  # in a context's `meta`


class _Line:
    """One line of how a job gets on, on a terminal's stderr."""

    def __init__(self) -> None:
        self._bar = tqdm(total=0, unit="sweep", leave=False, disable=None, mininterval=0.2)

    def show(self, status: dict[str, Any]) -> None:
        self._bar.set_description({"leased": "at work"}.get(status["state"], status["state"]))
        if status["progress"] is not None:
            self._bar.total = status["progress"]["total"]
            self._bar.update(status["progress"]["done"] - self._bar.n)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


def _submit_command(app: Application) -> click.Command:
    """`mrfhw submit VERB`."""

    def command(backend: str, chains: int | None, visit: int | None, output: Path, no_report: bool, no_wait: bool, key: str | None,
                weight: float | None, **options: Any) -> None:
        client: Client = click.get_current_context().meta[_CLIENT]
        request = request_of(app, chosen_backend(backend, given_options()), chains, visit)
        check_useful(request.backend, given_options(), visit, None)
        if not no_wait:
            check_folder(output, files_of(app), ())
        job = client.submit(request, key=key, weight=weight, report=not no_report)
        if no_wait:
            click.echo(job)
            return
        line = _Line()
        try:
            status = client.wait(job, callback=line.show)
        finally:
            line.close()
        if status["state"] != "done":
            raise ProblemError(status["error"] or f"job {job} was cancelled")
        paths = client.fetch(job, output)
        click.echo(f"wrote {', '.join(path.name for path in paths)} to {output}")
        for warning in json.loads((output / "report.json").read_bytes())["warnings"]:
            click.echo(warning)

    return click.command(app.verb, cls=OneLineCommand, help=app.summary)(options_on(app, command, (
        click.option("--backend", default=AUTO, show_default=True, help=f"Who solves it: {', '.join(BACKENDS)}. {AUTO}: model "
                     "where anything of a machine is given, else cpu."),
        click.option("--chains", type=int, metavar="N",
                     help="Independent chains.  [default: 2; 1 where the last labels are the answer]"),
        VISIT,
        click.option("-o", "--output", type=Folder(), default=Path("out") / app.verb, show_default=True,
                     metavar="DIR", help="Directory for the files; made where it is missing."),
        click.option("--no-report", is_flag=True, help="Have numbers and arrays alone, without figures and report.html."),
        click.option("--no-wait", is_flag=True, help="Print the job's id, and do not wait for its files."),
        click.option("--key", metavar="TEXT", help="What makes it one job.  [default: all that decides the answer]"),
        click.option("--weight", type=float, metavar="W",
                     help="Share in the workers, relative to that of other owners.  [default: 1]"),
    )))


@click.group("submit", cls=Applications, made=_submit_command)
@click.option("--server", default="http://127.0.0.1:8765", show_default=True, envvar="MRFHW_SERVER", metavar="URL",
              help="http://HOST:PORT, https://HOST:PORT or unix:PATH; also the variable MRFHW_SERVER.")
@click.option("--token", type=click.Path(path_type=Path), metavar="FILE",
              help="A file with your token, of a service that has some.")
@click.option("--owner", metavar="NAME", help="Whose job it is, where the service has no tokens.")
@click.option("--certificate", type=click.Path(path_type=Path), metavar="FILE",
              help="A certificate, in PEM, to be trusted as the service's.")
@click.pass_context
def command(context: click.Context, server: str, token: Path | None, owner: str | None, certificate: Path | None) -> None:
    """Have a service solve a problem, and write what mrfhw run would. Pictures are sent as they are."""
    secret = None if token is None else read_plain(token, "give a file with your token", 1 << 16).decode(errors="replace").strip()
    context.meta[_CLIENT] = Client(server, secret, owner=owner, certificate=certificate)
