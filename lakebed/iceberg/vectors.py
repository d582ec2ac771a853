"""Where the deletion vectors of files are, for Iceberg's delete manifests.

PyIceberg (0.12) ignores the manifests and reads the footers of the Puffin files: it applies every vector there to the
data file that the footer names. That can mislead it: after a merge, a Puffin file may have a vector that was replaced,
and in a lake that was moved, the names are old. Such vectors are written again, beside the manifests.
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
    """A vector in a Puffin file of `file_size` bytes; it deletes `count` rows."""

    location: str
    file_size: int
    offset: int
    length: int
    count: int


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a table's files, by the files' paths; those of the files in `rewritten` have to be rewritten."""

    places: Mapping[str, VectorPlace]
    rewritten: tuple[DataFileRef, ...] = ()


def find_vectors(files: Files, live: Sequence[DataFileRef]) -> Vectors:
    """The vectors of a table's live files; every Puffin file is read once. `Corrupt` if one is missing."""
    by_puffin: dict[str, list[DataFileRef]] = {}
    for file in live:
        if file.HasField("dv_path"):
            by_puffin.setdefault(file.dv_path, []).append(file)
    by_location = {location_of(files, file): file for file in live} if by_puffin else {}
    places, rewritten = dict[str, VectorPlace](), list[DataFileRef]()
    for path, users in by_puffin.items():
        data = _read_puffin(files, path)
        places |= {file.path: _place(files, file, data) for file in users}
        if _misleads(files, path, data, users, by_location):
            rewritten += users
    return Vectors(places, tuple(rewritten))


def encode_rewritten(files: Files, vectors: Vectors) -> tuple[bytes, list[Blob]]:
    """A Puffin file with the vectors that have to be rewritten, and their places in it."""
    return encode_puffin([(location_of(files, file), _vector(files, file)) for file in vectors.rewritten])


def with_rewritten(vectors: Vectors, location: str, size: int, blobs: Sequence[Blob]) -> Vectors:
    """The vectors after some were rewritten to a Puffin file."""
    moved = {
        file.path: VectorPlace(location, size, blob.offset, blob.length, vectors.places[file.path].count)
        for file, blob in zip(vectors.rewritten, blobs, strict=True)
    }
    return Vectors({**vectors.places, **moved})


def _read_puffin(files: Files, puffin: str) -> bytes:
    try:
        return files.read(puffin)
    except NotFound as error:
        problem = "a file of deletion vectors is missing"
        raise Corrupt(problem, subject=puffin, advice="Restore the file from a copy.") from error


def _place(files: Files, file: DataFileRef, data: bytes) -> VectorPlace:
    offset = file.dv_offset
    length = blob_length(data[offset : offset + 4], file.dv_length)
    return VectorPlace(files.location(file.dv_path), len(data), offset, length, file.num_rows - live_rows(files, file))


def _misleads(
    files: Files, puffin: str, data: bytes, users: Sequence[DataFileRef], by_location: Mapping[str, DataFileRef]
) -> bool:
    """Whether a reader that applies all vectors of a Puffin file to the files that it names deletes wrong rows."""
    blobs = [blob for blob in parse_puffin(data, puffin) if blob.type == DELETION_VECTOR]
    named = {(blob.properties.get(DATA_FILE), blob.offset) for blob in blobs}
    if any((location_of(files, file), file.dv_offset) not in named for file in users):
        return True
    own = {file.dv_offset for file in users}
    others = ((by_location.get(blob.properties.get(DATA_FILE, "")), blob) for blob in blobs if blob.offset not in own)
    return any(
        file is not None
        and not decode_vector(data[blob.offset : blob.offset + blob.length], puffin) <= _vector(files, file)
        for file, blob in others
    )


def _vector(files: Files, file: DataFileRef) -> FrozenBitMap64:
    return read_vector(files, file) or FrozenBitMap64()
