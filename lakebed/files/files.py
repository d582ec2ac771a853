"""The interface of every place that holds files. docs/internals/files.md states what it guarantees."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO

from lakebed.errors import Invalid, LakebedError, NotFound

BytesLike = bytes | bytearray | memoryview
Data = BytesLike | Iterable[BytesLike]


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file as a listing shows it; `modified` is UTC."""

    path: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class DeleteFailure:
    """A file that `delete_many` could not delete, and why."""

    path: str
    error: LakebedError


# Inside the class below, `list` is a method.
Contents = list[bytes]
DeleteFailures = list[DeleteFailure]


class Files(ABC):
    """Whole files under relative paths; safe for many threads and processes, and can be pickled.

    Calls that only read (`location`, `read`, `read_ranges`, `head`, `size`, `exists`, `sync`) also take the URL of a
    file outside the root, as `path_of` returns it.
    """

    @property
    @abstractmethod
    def url(self) -> str:
        """The root as a URL."""

    @abstractmethod
    def location(self, path: str) -> str:
        """The address under which Spark, DuckDB and pyarrow open the file."""

    @abstractmethod
    def path_of(self, location: str) -> str:
        """The path of a file, existing or not, by its address: relative below the root, otherwise a URL.

        An address is a URL, or a path as this process would open it. `Invalid` if it can't be read from here.
        """

    @abstractmethod
    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """Exactly `length` bytes from `start` on, or all of them.

        `Invalid` if `start` is beyond the end, `Corrupt` if fewer than `length` bytes follow, or `NotFound`.
        """

    @abstractmethod
    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> Contents:
        """The bytes of each `(start, length)`, in the given order; raises the errors of `read`."""

    @abstractmethod
    def head(self, path: str) -> FileInfo:
        """The file's size and time, or `NotFound`."""

    def size(self, path: str) -> int:
        """The file's size in bytes, or `NotFound`."""
        return self.head(path).size

    def exists(self, path: str) -> bool:
        """Whether there is such a file; a folder does not count."""
        try:
            self.head(path)
        except NotFound:
            return False
        return True

    @abstractmethod
    def put(self, path: str, data: Data) -> None:
        """Write the file, or replace it: readers see the whole old one or the whole new one. Durable on return."""

    @abstractmethod
    def put_if_absent(self, path: str, data: Data) -> None:
        """Write the file, or `AlreadyExists` if the path is taken. Of many callers one wins. Durable on return."""

    @abstractmethod
    def create(self, path: str) -> AbstractContextManager[BinaryIO]:
        """A new file to write sequentially in a `with` block, durable after it; or `AlreadyExists`.

        An error in the block removes the file. Readers may see a part of it while it is written, and after the process
        was killed: use only names that nobody else knows.
        """

    @abstractmethod
    def list(self, prefix: str = "", *, after: str | None = None, limit: int | None = None) -> Iterator[FileInfo]:
        """The files whose path starts with `prefix` and sorts after `after`, in byte order of the whole path."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete the file, durably; a missing one is fine."""

    @abstractmethod
    def delete_many(self, paths: Iterable[str]) -> DeleteFailures:
        """Delete each file as `delete` does, and return those that could not be deleted."""

    def delete_folder(self, folder: str) -> DeleteFailures:
        """Delete the files below a folder that nobody else writes to, and return those that could not be deleted.

        Where folders exist without files, the folder and those inside it are deleted too.
        """
        return self.delete_many([info.path for info in self.list(f"{folder}/")])

    @abstractmethod
    def sync(self, paths: Iterable[str]) -> None:
        """Make files durable that other programs wrote; `NotFound`, before any is synced, if one is missing."""

    @abstractmethod
    def sweep_temporaries(self, older_than_seconds: float) -> int:
        """Remove old leftovers of killed writers, and empty folders; return how many files were removed.

        A put that takes longer than this age fails with `Unavailable`: a day is a good choice.
        """


def pieces(path: str, data: Data) -> Iterator[memoryview]:
    """The data as flat views, copied only if it is strided; `Invalid` if it is not bytes."""
    try:
        several: Iterable[BytesLike] = (memoryview(data),)  # type: ignore[arg-type]
    except TypeError:
        several = data if isinstance(data, Iterable) else (data,)  # type: ignore[assignment]
    for piece in several:
        yield _flat(path, piece)


def _flat(path: str, piece: BytesLike) -> memoryview:
    try:
        view = memoryview(piece)
    except TypeError:
        raise Invalid(
            "the data is not bytes",
            subject=path,
            expected="a bytes-like object, or an iterable of them",
            found=type(piece).__name__,
            advice="Encode text first.",
        ) from None
    return view.cast("B") if view.c_contiguous else memoryview(view.tobytes())
