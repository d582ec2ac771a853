"""The deletion vectors of a table's files: read through a cache, and written many to one Puffin file."""

from collections.abc import Sequence
from typing import Final
from uuid import uuid4

from pyroaring import BitMap64, FrozenBitMap64

from lakebed.caches import SingleFlight
from lakebed.catalog.data.row_sources import location_of
from lakebed.errors import Corrupt, Invalid, NotFound
from lakebed.files import Files
from lakebed.table.manifest.deletion_vectors import LEAST, Positions, blob_length, damaged, decode_vector, vector_of
from lakebed.table.manifest.delta import EXISTING, replaced
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.manifest.puffin import encode_puffin

CACHE_BYTES: Final = 32 << 20  # of blobs, which are about as large in memory

_PLACE = ("dv_path", "dv_offset", "dv_length")
_Sized = tuple[FrozenBitMap64, int]  # a vector, and the bytes that it takes
_cache: SingleFlight[_Sized] = SingleFlight(CACHE_BYTES, lambda sized: sized[1])  # a Puffin file never changes


def read_vector(files: Files, file: DataFileRef) -> FrozenBitMap64 | None:
    """The positions of the file's deleted rows, None if it has no vector.

    All readers of the file share the answer, which is immutable: `BitMap64(vector)` is a copy to work on. `Corrupt` if
    the vector is not the one that was written, or belongs to another file.
    """
    if not any(file.HasField(name) for name in _PLACE):
        return None
    _check_place(file)
    vector = _loaded(files, file.dv_path, file.dv_offset, file.dv_length, _subject(file))
    return _checked(file, vector)


def check_vector(files: Files, file: DataFileRef) -> None:
    """Read the file's vector again, whatever is cached; `Corrupt` if it is damaged."""
    _check_place(file)
    subject = _subject(file)
    _checked(file, decode_vector(_read(files, file.dv_path, file.dv_offset, file.dv_length, subject), subject))


def _check_place(file: DataFileRef) -> None:
    if not all(file.HasField(name) for name in _PLACE) or not file.dv_path:
        raise damaged(_subject(file), "place", "a path, an offset and a length", _place(file))
    if file.dv_offset < 0 or file.dv_length < 0:
        raise damaged(_subject(file), "place", "an offset and a length of at least 0", _place(file))


def _checked(file: DataFileRef, vector: FrozenBitMap64) -> FrozenBitMap64:
    subject = _subject(file)
    if vector and vector.max() >= file.num_rows:
        raise damaged(subject, "positions", f"rows of a file of {file.num_rows}", vector.max())
    if file.HasField("deleted_rows") and file.deleted_rows != len(vector):
        raise damaged(subject, "number of positions", file.deleted_rows, len(vector))
    return vector


def check_same_rows(files: Files, before: Sequence[DataFileRef], after: Sequence[DataFileRef]) -> None:
    """Refuse files `after` that don't have as many rows as the files `before` have live rows."""
    expected = sum(live_rows(files, file) for file in before)
    found = sum(file.num_rows for file in after)
    if found != expected:
        subject = ", ".join(file.path for file in before[:3])
        raise Corrupt("files have other rows than their entries say", subject=subject, expected=expected, found=found)


def live_rows(files: Files, file: DataFileRef) -> int:
    """How many of the file's rows are not deleted; the vector is read only if the entry has no count of it."""
    if file.HasField("deleted_rows"):
        return file.num_rows - file.deleted_rows
    return file.num_rows - len(read_vector(files, file) or ())


def write_vectors(files: Files, folder: str, deletes: Sequence[tuple[DataFileRef, Positions]]) -> list[DataFileRef]:
    """Delete rows of files by their positions; return copies of the changed entries, whose vectors are durable.

    A vector only grows: rows deleted before stay deleted. All vectors are in one new Puffin file in the folder; there
    is none if every row was deleted before. Nothing refers to it yet: the entries are for a commit.
    """
    _check_once([file.path for file, _ in deletes])
    grown = [
        (file, vector) for file, positions in deletes if (vector := _grown_vector(files, file, positions)) is not None
    ]
    return put_vectors(files, folder, grown)


def put_vectors(files: Files, folder: str, vectors: Sequence[tuple[DataFileRef, BitMap64]]) -> list[DataFileRef]:
    """Give files these vectors, whatever they had; an empty one is none. For merges and reverts, which may shrink them.

    All vectors are in one new Puffin file in the folder.
    """
    filled = [(file, vector) for file, vector in vectors if vector]
    emptied = [_without_vector(file) for file, vector in vectors if not vector]
    if not filled:
        return emptied
    path = f"{folder}/{uuid4()}.puffin"
    data, blobs = encode_puffin([(location_of(files, file), vector) for file, vector in filled])
    with files.create(path) as puffin:
        puffin.write(data)
    return emptied + [
        _with_vector(file, path, blob.offset, blob.length, len(vector))
        for (file, vector), blob in zip(filled, blobs, strict=True)
    ]


def _grown_vector(files: Files, file: DataFileRef, positions: Positions) -> BitMap64 | None:
    """The file's vector with these positions added, None if it has them all."""
    added = vector_of(positions)
    if added and added.max() >= file.num_rows:
        raise Invalid(
            "a file has no row at this position",
            subject=file.path,
            expected=f"a position below {file.num_rows}",
            found=added.max(),
        )
    before = read_vector(files, file) or FrozenBitMap64()
    return None if added <= before else added | before


def _with_vector(file: DataFileRef, path: str, offset: int, length: int, count: int) -> DataFileRef:
    return replaced(file, dv_path=path, dv_offset=offset, dv_length=length, deleted_rows=count, status=EXISTING)


def _without_vector(file: DataFileRef) -> DataFileRef:
    return replaced(file, **dict.fromkeys(_PLACE), deleted_rows=None, status=EXISTING)


def _check_once(paths: Sequence[str]) -> None:
    seen: set[str] = set()
    for path in paths:
        if path in seen:
            raise Invalid("a file's deletes are given twice", subject=path, advice="Give all of its positions at once.")
        seen.add(path)


def _loaded(files: Files, path: str, offset: int, length: int, subject: str) -> FrozenBitMap64:
    def load() -> _Sized:
        blob = _read(files, path, offset, length, subject)
        return decode_vector(blob, subject), len(blob)

    return _cache.get((files.url, path, offset, length), load)[0]


def _read(files: Files, path: str, offset: int, length: int, subject: str) -> bytes:
    if length < LEAST - 8:
        raise damaged(subject, "length", f"at least {LEAST} bytes", f"{length} bytes")
    try:
        blob = files.read(path, offset, length)
        whole = blob_length(blob, length)
        return blob if whole == length else files.read(path, offset, whole)
    except (NotFound, Invalid, Corrupt) as error:
        raise damaged(subject, "place", f"{length} bytes from offset {offset}", str(error)) from error


def _subject(file: DataFileRef) -> str:
    return f"{file.dv_path} at {file.dv_offset}, {file.dv_length} bytes, of {file.path}"


def _place(file: DataFileRef) -> str:
    fields = [f"{name} {getattr(file, name)!r}" for name in _PLACE if file.HasField(name)]
    return ", ".join(fields) or "none"
