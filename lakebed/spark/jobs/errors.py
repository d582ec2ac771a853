"""What a job could not read: a damaged data file, or rows that were lost with an executor."""

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
    """What Spark says of a file that it could not read, as `Corrupt` that names it; of lost rows, as `Unavailable`.

    Other errors go through. For jobs that read a table's own files, and rows that Lakebed has given to executors to
    hold: what somebody else's DataFrame reads is not Lakebed's to judge.
    """
    try:
        yield
    except LakebedError:
        raise
    except Exception as error:  # PySpark's own over Connect, py4j's of a session in this process
        meant = _meant(files, str(error))
        if meant is None:
            raise
        raise meant from error


def _meant(files: Files, said: str) -> LakebedError | None:
    if (found := _UNREAD.search(said)) is not None:
        return _damaged(files.path_of(found.group(2)), found.group(1), said)
    if _LOST in said:
        return Unavailable(
            "an executor was lost, and with it rows that it held", advice="Run it again. Nothing was changed."
        )
    return None


def _damaged(path: str, kind: str, said: str) -> Corrupt:
    causes = _CAUSE.findall(said)
    return Corrupt(
        "the data file is damaged",
        subject=path,
        expected="rows that can be read",
        found="no file" if kind == _MISSING else causes[-1] if causes else None,
        advice="Restore it from a copy, or write the rows again. Nothing was changed.",
    )
