"""The files of a lake: each has a new name, and nobody looks for it before a commit refers to it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from lakebed.errors import LakebedError, OutcomeUnknown, Unavailable
from lakebed.files.files import Data
from lakebed.files.local import LocalFiles


class LakeFiles(LocalFiles):
    """As `LocalFiles`, but a new file that may not be durable is removed, and reported as not written.

    Whether it is there is unknown, but not whether something was committed: no commit was tried yet.
    """

    def put_if_absent(self, path: str, data: Data) -> None:
        with self._removed_if_unknown(path):
            super().put_if_absent(path, data)

    @contextmanager
    def create(self, path: str) -> Iterator[BinaryIO]:
        with self._removed_if_unknown(path), super().create(path) as file:
            yield file

    @contextmanager
    def _removed_if_unknown(self, path: str) -> Iterator[None]:
        try:
            yield
        except OutcomeUnknown as error:
            with suppress(LakebedError):  # what can't be removed is left for garbage collection
                self.delete(path)
            raise Unavailable(
                "the disk failed to make a new file durable; nothing was committed",
                subject=path,
                expected=error.expected,
                found=error.found,
                advice="Check the system's log, fix the disk, and run again.",
            ) from error
