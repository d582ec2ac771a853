"""Files in a local folder that are only read."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from lakebed.errors import Forbidden
from lakebed.files.files import Data, DeleteFailures
from lakebed.files.local import LocalFiles, permissions_of_folder
from lakebed.files.os_errors import os_errors_translated


class ReadOnlyFiles(LocalFiles):
    """The files below an existing folder; `Forbidden` for every change, and nothing is created."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.realpath(root)
        with os_errors_translated(self.root):
            self.permissions = permissions_of_folder(self.root)

    def put(self, path: str, data: Data) -> None:
        raise _read_only(path)

    def put_if_absent(self, path: str, data: Data) -> None:
        raise _read_only(path)

    @contextmanager
    def create(self, path: str) -> Iterator[BinaryIO]:
        raise _read_only(path)
        yield  # what makes it a generator

    def delete(self, path: str) -> None:
        raise _read_only(path)

    def delete_many(self, paths: Iterable[str]) -> DeleteFailures:
        for path in paths:
            raise _read_only(path)
        return []

    def delete_folder(self, folder: str) -> DeleteFailures:
        raise _read_only(folder)

    def sweep_temporaries(self, older_than_seconds: float) -> int:
        raise _read_only("")


def _read_only(path: str) -> Forbidden:
    return Forbidden("the lake is open for reading only", subject=path, advice="Connect without read_only=True.")
