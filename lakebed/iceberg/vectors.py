"""Where the deletion vectors of files are, as Iceberg's delete manifests say it.

PyIceberg (0.12) goes not by the manifests but by the footers of their Puffin files: it takes every vector in there, for
the data file that the footer names. Such a file can mislead it: after a merge one may have a vector that another took
the place of, and in a lake that was moved the names are old. Then the vectors are written again, beside the manifests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyroaring import FrozenBitMap64

from lakebed.catalog.data.deletion_vectors import live_rows, read_vector
from lakebed.catalog.data.row_sources import location_of
from lakebed.errors import Corrupt, NotFound
from lakebed.files import Files
from lakebed.table.manifest.deletion_vectors import blob_length, decode_vector
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.manifest.puffin import DATA_FILE, DELETION_VECTOR, Blob, encode_puffin, parse_puffin


@dataclass(frozen=True, slots=True)
class VectorPlace:
    """A vector in a Puffin file of `file_size` bytes; `count` are the rows that it deletes."""

    location: str
    file_size: int
    offset: int
    length: int
    count: int


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a table's files, by the files' paths; those of `rewritten` are to be written again."""

    places: Mapping[str, VectorPlace]
    rewritten: tuple[DataFileRef, ...] = ()


def find_vectors(files: Files, live: Sequence[DataFileRef]) -> Vectors:
    """The vectors of a table's live files; every Puffin file is read once. `Corrupt` if one is not there."""
    by_puffin: dict[str, list[DataFileRef]] = {}
    for one in live:
        if one.HasField("dv_path"):
            by_puffin.setdefault(one.dv_path, []).append(one)
    by_location = {location_of(files, one): one for one in live} if by_puffin else {}
    places, rewritten = dict[str, VectorPlace](), list[DataFileRef]()
    for path, held in by_puffin.items():
        data = _read(files, path)
        places |= {one.path: _place(files, one, data) for one in held}
        if _misleads(files, path, data, held, by_location):
            rewritten += held
    return Vectors(places, tuple(rewritten))


def encode_rewritten(files: Files, vectors: Vectors) -> tuple[bytes, list[Blob]]:
    """A Puffin file with the vectors that are to be rewritten, and where they are in it."""
    return encode_puffin([(location_of(files, one), _vector(files, one)) for one in vectors.rewritten])


def with_rewritten(vectors: Vectors, location: str, size: int, blobs: Sequence[Blob]) -> Vectors:
    """The vectors after they were rewritten to a Puffin file."""
    moved = {
        one.path: VectorPlace(location, size, blob.offset, blob.length, vectors.places[one.path].count)
        for one, blob in zip(vectors.rewritten, blobs, strict=True)
    }
    return Vectors({**vectors.places, **moved})


def _read(files: Files, puffin: str) -> bytes:
    try:
        return files.read(puffin)
    except NotFound as error:
        problem = "a file of deletion vectors is not there"
        raise Corrupt(problem, subject=puffin, advice="Restore the file from a copy.") from error


def _place(files: Files, file: DataFileRef, data: bytes) -> VectorPlace:
    offset = file.dv_offset
    length = blob_length(data[offset : offset + 4], file.dv_length)
    return VectorPlace(files.location(file.dv_path), len(data), offset, length, file.num_rows - live_rows(files, file))


def _misleads(
    files: Files, puffin: str, data: bytes, held: Sequence[DataFileRef], by_location: Mapping[str, DataFileRef]
) -> bool:
    """Whether who takes all vectors of a Puffin file, for the files that it names, would delete other rows."""
    blobs = [one for one in parse_puffin(data, puffin) if one.type == DELETION_VECTOR]
    named = {(one.properties.get(DATA_FILE), one.offset) for one in blobs}
    if any((location_of(files, one), one.dv_offset) not in named for one in held):
        return True
    own = {one.dv_offset for one in held}
    others = ((by_location.get(one.properties.get(DATA_FILE, "")), one) for one in blobs if one.offset not in own)
    return any(
        file is not None
        and not decode_vector(data[blob.offset : blob.offset + blob.length], puffin) <= _vector(files, file)
        for file, blob in others
    )


def _vector(files: Files, file: DataFileRef) -> FrozenBitMap64:
    return read_vector(files, file) or FrozenBitMap64()
