"""How a batch is written in a transaction: handles of catalogs, which stand above those of tables, say so."""

from collections.abc import Callable
from typing import Any

from lakebed.catalog.transaction.context import Context, Ref

Run = Callable[[Context, Ref, Callable[[Any], object], str, str], None]
"""Runs a function in transactions on a line, until one commits, with a message and an event id."""

_runs: list[Run] = []


def run_by(run: Run) -> None:
    """Run batches so."""
    _runs[:] = [run]


def run_in_transaction(context: Context, ref: Ref, function: Callable[[Any], object], message: str, event: str) -> None:
    """Run a function in a transaction that commits by an event id; again on the newest state after a `Conflict`."""
    _runs[0](context, ref, function, message, event)
