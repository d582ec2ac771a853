"""Errors of jobs that could not read: a damaged data file, or rows that were lost with an executor."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from lakebed.errors import Corrupt, LakebedError, Unavailable
from lakebed.files import Files

_UNREAD: Final = re.compile(r"\[FAILED_READ_FILE\.?(\w*)\].*?reading file (\S+?)\.(?=\s|$)")
_CAUSE: Final = re.compile(r"^Caused by: (.*)$", re.MULTILINE)
_MISSING: Final = "FILE_NOT_EXIST"
_LOST: Final = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"


@contextmanager
def file_errors(files: Files) -> Iterator[None]:
    """Raise Spark's error about a file that it could not read as `Corrupt` with its path; lost rows as `Unavailable`.

    Other errors go through. Only for jobs that read a table's own files, and rows that executors hold for Lakebed: it
    can't judge what a caller's DataFrame reads.
    """
    try:
        yield
    except LakebedError:
        raise
    except Exception as error:  # PySpark's over Connect, py4j's from a session in this process
        read_error = _read_error(files, str(error))
        if read_error is None:
            raise
        raise read_error from error


def _read_error(files: Files, message: str) -> LakebedError | None:
    if (found := _UNREAD.search(message)) is not None:
        return _damaged_file(files.path_of(found.group(2)), found.group(1), message)
    if _LOST in message:
        return Unavailable("an executor was lost with rows that it held", advice="Run it again. Nothing was changed.")
    return None


def _damaged_file(path: str, kind: str, message: str) -> Corrupt:
    causes = _CAUSE.findall(message)
    return Corrupt(
        "the data file is damaged",
        subject=path,
        expected="rows that can be read",
        found="no file" if kind == _MISSING else causes[-1] if causes else None,
        advice="Restore it from a copy, or write the rows again. Nothing was changed.",
    )
