"""Conditions that were cut from a statement, and how they stand there."""

from typing import Self


class StatementText(str):
    """A condition as it is evaluated, with names of ours for tables; `written` is how the statement has it."""

    written: str

    def __new__(cls, text: str, written: str) -> Self:
        made = super().__new__(cls, text)
        made.written = written
        return made


def as_written(condition: object) -> str:
    """A condition as people wrote it, for the log and for errors."""
    return condition.written if isinstance(condition, StatementText) else str(condition)
