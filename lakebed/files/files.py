"""The interface of every place that files can be in; docs/internals/files.md says what it promises."""

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


# Inside the class below, `list` is its method.
Contents = list[bytes]
DeleteFailures = list[DeleteFailure]


class Files(ABC):
    """Whole files under relative paths; safe for many threads and processes, and can be pickled.

    What only reads (`location`, `read`, `read_ranges`, `head`, `size`, `exists`, `sync`) also takes the URL of a file
    outside the root, as `path_of` gives it.
    """

    @property
    @abstractmethod
    def url(self) -> str:
        """The root as a URL."""

    @abstractmethod
    def location(self, path: str) -> str:
        """The address under which Spark, DuckDB or pyarrow open the file."""

    @abstractmethod
    def path_of(self, location: str) -> str:
        """The path of a file, there or not, that is named by its address: relative below the root, else a URL.

        An address is a URL, or a path as this process would open it. `Invalid` for one that can't be read from here.
        """

    @abstractmethod
    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """Exactly `length` bytes from `start` on, or all of them.

        `Invalid` if `start` is beyond the end, `Corrupt` if the file ends before `length`, `NotFound`.
        """

    @abstractmethod
    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> Contents:
        """The bytes of each `(start, length)`, in the order asked; the errors of `read`."""

    @abstractmethod
    def head(self, path: str) -> FileInfo:
        """Size and time of the file, or `NotFound`."""

    def size(self, path: str) -> int:
        """The file's size in bytes, or `NotFound`."""
        return self.head(path).size

    def exists(self, path: str) -> bool:
        """Whether there is such a file; a folder is none."""
        try:
            self.head(path)
        except NotFound:
            return False
        return True

    @abstractmethod
    def put(self, path: str, data: Data) -> None:
        """Write the file, or replace it: readers see the old one or the new one, whole. Durable on return."""

    @abstractmethod
    def put_if_absent(self, path: str, data: Data) -> None:
        """Write the file unless the path is taken: `AlreadyExists`. Of many callers one wins. Durable on return."""

    @abstractmethod
    def create(self, path: str) -> AbstractContextManager[BinaryIO]:
        """A new file to write forward in a `with`, durable after it, removed if an error ends it; or `AlreadyExists`.

        The path may show a part of the file meanwhile, and after a kill: only for names that nobody else knows.
        """

    @abstractmethod
    def list(self, prefix: str = "", *, after: str | None = None, limit: int | None = None) -> Iterator[FileInfo]:
        """The files whose path begins with `prefix` and comes behind `after`, in byte order of the whole path."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete the file, durably; fine if it is not there."""

    @abstractmethod
    def delete_many(self, paths: Iterable[str]) -> DeleteFailures:
        """Delete each file as `delete` does, and answer those that could not be."""

    def delete_folder(self, folder: str) -> DeleteFailures:
        """Delete the files below a folder that nobody else writes to, and answer those that could not be.

        Where folders are there without files too, it goes with all that are in it.
        """
        return self.delete_many([info.path for info in self.list(f"{folder}/")])

    @abstractmethod
    def sync(self, paths: Iterable[str]) -> None:
        """Make files that others wrote durable, or `NotFound` before any is."""

    @abstractmethod
    def sweep_temporaries(self, older_than_seconds: float) -> int:
        """Remove what killed writers left, and folders that stayed empty, and answer how many files went.

        A put that takes longer than this age fails with `Unavailable`: a day is a good one.
        """


def pieces(path: str, data: Data) -> Iterator[memoryview]:
    """The data as flat views, none of them copied unless it is strided; `Invalid` for what has no bytes."""
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
            expected="something bytes-like, or an iterable of such",
            found=type(piece).__name__,
            advice="Encode text before it is put.",
        ) from None
    return view.cast("B") if view.c_contiguous else memoryview(view.tobytes())
