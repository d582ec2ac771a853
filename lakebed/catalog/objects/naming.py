"""Errors that name the table they are about."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import LakebedError


@contextmanager
def about(work: Work, table: str) -> Iterator[None]:
    """Put the table's name before the subject of an error that comes from inside, unless it is already there."""
    try:
        yield
    except LakebedError as error:
        with suppress(LakebedError):  # a dropped table has no name, and the error says so
            _add_name(error, spelled(name_of(work, table)))
        raise


@contextmanager
def about_table(name: str) -> Iterator[None]:
    """The same by the name, where no work is at hand to look it up."""
    try:
        yield
    except LakebedError as error:
        _add_name(error, name)
        raise


def _add_name(error: LakebedError, name: str) -> None:
    subject = error.subject.removeprefix("table ")
    if subject == name or subject.startswith((f"{name},", f"{name}:")):
        return
    error.subject = f"table {name}, {error.subject}" if error.subject else f"table {name}"
