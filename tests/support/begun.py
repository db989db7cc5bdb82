"""Runs that are on their way."""

from __future__ import annotations

from typing import Any

from mrfhw.backends.backend import ActiveRun, Backend
from mrfhw.backends.plan import Plan
from mrfhw.field.problem import Run

__all__ = ["begun"]


def begun(plan: Plan, backend: Backend, run: Run, **more: Any) -> ActiveRun:
    """A run of the plan's problem at its first pause or its end."""
    active = plan.prepare(backend, run, **more)
    active.advance()
    return active
