"""What a machine of several clusters has beside their registers: the turn of a cluster's log, and the line that names a cluster.
Contexts are told apart as clusters are, by the addresses of their words and by the lines that name them.

The register lies in each cluster's words below the log registers of a machine with AXI ports, where the cluster itself has none.
"""

from __future__ import annotations

from mrfhw.machine.log_registers import LOG_PAGE
from mrfhw.machine.numbers import Numbers
from mrfhw.machine.registers import REGISTERS, Register
from mrfhw.machine.words import log_message

__all__ = ["CLUSTER_REGISTERS", "LOG_TURN", "SWITCH_LABEL", "TURN_BITS", "TURN_LINES", "switch_line"]

TURN_BITS = 8
TURN_LINES = 16  # of a cluster, after reset
LOG_TURN = LOG_PAGE - 1
assert len(REGISTERS) <= LOG_TURN
SWITCH_LABEL = 1  # of a message without a count, which no tile sends

CLUSTER_REGISTERS = {
    "log_turn": Register(
        "log_turn", LOG_TURN, "rw", f"Lines that this cluster's log sends before those of others that wait, 1 to "
        f"{(1 << TURN_BITS) - 1}, {TURN_LINES} after reset: the clusters' shares of a log that is full. err for 0.",
        reset=TURN_LINES),
}


def switch_line(c: Numbers, cluster: int) -> int:
    """The line before the first one of a cluster's run, and wherever another cluster's lines go on: all behind it, up to the next
    such line, are that cluster's. Its first message has no count, the label SWITCH_LABEL, and the cluster's number for an address.
    """
    fields = log_message(c)
    return SWITCH_LABEL << fields["label"].low | cluster << fields["address"].low
