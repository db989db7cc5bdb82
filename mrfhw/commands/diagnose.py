"""`mrfhw diagnose`: whether a board is the machine that it should be, part by part."""

from __future__ import annotations

from typing import Any

import click

from mrfhw.commands.machine_options import OneLineCommand, board_machine, machine_options
from mrfhw.machine.manifest import config_from_options

__all__ = ["command"]


@click.command("diagnose", cls=OneLineCommand)
@click.argument("address")
@click.option("--every", type=int, default=1, show_default=True, metavar="N",
              help="Test every Nth word of the memories, for slow links.")
@machine_options
def command(address: str, every: int, **options: Any) -> None:
    """Test the board at ADDRESS: identity, registers, memories, generators, and a small field against the model.

    Give the options that the machine was generated with, or its --machine; a machine that was generated on this computer is known
    by its digest. Exit code 1 where a part fails.
    """
    from mrfhw.host.diagnosis import check_every, diagnose

    failed = False
    check_every(every)
    config = config_from_options(**board_machine(options, address))
    for check in diagnose(address, config, every):
        click.echo(f"{'pass' if check.passed else 'FAIL'}  {check.part:<18} {check.text}")
        failed |= not check.passed
    click.get_current_context().exit(int(failed))
