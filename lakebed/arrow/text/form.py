"""Rows that are written as text: what could be read of them, and what could not."""

from dataclasses import dataclass
from typing import Final

import pyarrow

from lakebed.catalog.data.foreign import BadRow
from lakebed.files import Files

NULLS: Final = ("", "#N/A", "N/A", "NA", "NULL", "NaN", "null", "n/a", "nan")
"""Texts that are no value of a column that is not text, unless the caller says otherwise. Text stays as it is."""

TEXT_CHARACTERS: Final = 10_000
"""How much of a row that can't be read is kept: after a quote that never ends, the rest of the file is one row."""


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Some rows of a file: those that could be read, in the columns of a table, and the others."""

    good: pyarrow.RecordBatch
    bad: tuple[BadRow, ...] = ()


def opened_text(files: Files, path: str) -> pyarrow.NativeFile:
    """The bytes of a file, decompressed as its name says."""
    return pyarrow.input_stream(files.location(path), compression="detect")


def cut(text: str) -> str:
    """A text of a length that can be kept."""
    return text if len(text) <= TEXT_CHARACTERS else f"{text[:TEXT_CHARACTERS]}…"
