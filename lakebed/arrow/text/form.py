"""Rows that are written as text: what could be read of them, and what could not."""

from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import pyarrow

from lakebed.catalog.data.foreign import BadRow
from lakebed.errors import Invalid
from lakebed.files import Files
from lakebed.files.os_errors import error_for

NULLS: Final = ("", "#N/A", "N/A", "NA", "NULL", "NaN", "null", "n/a", "nan")
"""Texts that mean null in columns of other types than text, unless the caller says otherwise. Text stays as it is."""

TEXT_CHARACTERS: Final = 10_000
"""How much of a row that can't be read is kept: after a quote that never ends, the rest of the file is one row."""


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Some rows of a file: those that could be read, in the columns of a table, and the others."""

    good: pyarrow.RecordBatch
    bad: tuple[BadRow, ...] = ()


class OpenedText:
    """The bytes of a file, decompressed as its name says; `Invalid` where they can't be."""

    def __init__(self, location: str, path: str) -> None:
        self._path = path
        try:
            self._source = pyarrow.input_stream(location, compression="detect")
        except OSError as error:
            raise self._error(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def read(self, size: int | None = None) -> bytes:
        """At most so many of the next bytes; all of them without a size."""
        try:
            data: bytes = self._source.read(size)
        except OSError as error:
            raise self._error(error) from error
        return data

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def _error(self, error: OSError) -> Exception:
        if error.errno is not None:  # an error of the system; Arrow's errors have no number
            return error_for(error, self._path)
        found = str(error).splitlines()[0]
        advice = "Get the file again. If it is not compressed, rename it: its name says that it is."
        return Invalid("the file can't be decompressed", subject=self._path, found=found, advice=advice)


def opened_text(files: Files, path: str) -> OpenedText:
    """A file of text, to be read from its beginning."""
    return OpenedText(files.location(path), path)


def cut(text: str) -> str:
    """A text of a length that can be kept."""
    return text if len(text) <= TEXT_CHARACTERS else f"{text[:TEXT_CHARACTERS]}…"
