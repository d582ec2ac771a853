"""Reading rows of files by their positions, and comparing their values."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray
from pyroaring import BitMap64, FrozenBitMap64

from lakebed.arrow.from_numpy import bool_values, int64_array, int64_values
from lakebed.arrow.read.ahead import in_threads
from lakebed.arrow.read.metadata_columns import holds_lineage
from lakebed.arrow.read.read import read_except
from lakebed.arrow.read.stored import opened
from lakebed.arrow.types import arrow_schema
from lakebed.catalog.data.row_sources import Sources
from lakebed.catalog.feed.steps import Piece
from lakebed.table.manifest.inline import inline_id, is_inline
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.metadata_columns import POSITION, ROW_ID
from lakebed.table.schema.schema import Schema

_PLACES = Schema([ROW_ID, POSITION])

Numbers = NDArray[numpy.int64]
Mask = NDArray[numpy.bool_]


def read_pieces(sources: Sources, pieces: Sequence[Piece], schema: Schema) -> Iterator[pyarrow.RecordBatch]:
    """The rows of pieces, piece by piece in their order; the schema may have metadata columns."""
    whole = with_bodies(sources, pieces)
    for piece in pieces:
        yield from read_except(whole, PlannedFile(piece.file), schema, None, piece.left_out or None)


def with_bodies(sources: Sources, pieces: Sequence[Piece]) -> Sources:
    """The sources with all inline rows of the pieces, fetched at once."""
    inline = [piece.file for piece in pieces if is_inline(piece.file)]
    if not inline:
        return sources
    bodies = zip(map(inline_id, inline), sources.inline_rows(inline), strict=True)
    return replace(sources, pending={**sources.pending, **dict(bodies)})


def row_places(sources: Sources, piece: Piece, ids_within: range | None = None) -> Iterator[tuple[Numbers, Numbers]]:
    """The ids of a piece's rows and their positions. Only a file with ids of its own is read, others are opened.

    Nothing of a file without, whose ids are all outside of `ids_within`.
    """
    if _has_own_ids(sources, piece):
        for batch in read_pieces(sources, [piece], _PLACES):
            ids, positions = map(int64_values, batch.columns)
            yield ids, positions
    elif ids_within is None or _meets(piece, ids_within):
        positions = _positions(piece)
        yield piece.file.first_row_id + positions, positions


def may_have_ids(sources: Sources, piece: Piece, ids: range) -> bool:
    """Whether a piece may have a row with one of these ids."""
    return _meets(piece, ids) or _has_own_ids(sources, piece)


def _meets(piece: Piece, ids: range) -> bool:
    first = piece.file.first_row_id
    return first < ids.stop and ids.start < first + piece.file.num_rows


def _has_own_ids(sources: Sources, piece: Piece) -> bool:
    """Whether a file may have ids for its rows, as it does for rows that were written again."""
    if is_inline(piece.file) or not piece.file.HasField("first_row_id"):
        return True
    with opened(sources, piece.file) as stored:
        return holds_lineage(stored.form, ROW_ID)


def _positions(piece: Piece) -> Numbers:
    positions = BitMap64()
    positions.add_range(0, piece.file.num_rows)
    return positions_in(positions - piece.left_out)


def positions_in(vector: FrozenBitMap64 | BitMap64) -> Numbers:
    """The positions of a vector, in their order."""
    return numpy.frombuffer(vector.to_array(), numpy.uint64).astype(numpy.int64)


def rows_at(
    sources: Sources, pieces: Sequence[Piece], schema: Schema, numbers: Numbers, positions: Numbers
) -> pyarrow.Table:
    """The rows at these positions of the pieces with these numbers, in the order given.

    Only the row groups that have such rows are read.
    """
    order = numpy.lexsort((positions, numbers))
    number, position = numbers[order], positions[order]
    is_first = numpy.ones(len(order), numpy.bool_)  # a row may be asked for more than once, and is read once
    is_first[1:] = (number[1:] != number[:-1]) | (position[1:] != position[:-1])
    chosen = [_only(pieces[one], position[number == one]) for one in numpy.unique(number).tolist()]
    found = pyarrow.Table.from_batches(_read_ahead(sources, chosen, schema), arrow_schema(schema))
    places = numpy.empty(len(order), numpy.int64)
    places[order] = numpy.cumsum(is_first) - 1
    return found.take(int64_array(places))


def _read_ahead(sources: Sources, pieces: Sequence[Piece], schema: Schema) -> Iterator[pyarrow.RecordBatch]:
    """The few rows of many files: each takes the decoding of a row group, which threads share."""
    if len(pieces) == 1:
        return read_pieces(sources, pieces, schema)
    whole = with_bodies(sources, pieces)
    return in_threads(lambda piece: list(read_pieces(whole, [piece], schema)), pieces)


def _only(piece: Piece, positions: Numbers) -> Piece:
    left_out = BitMap64()
    left_out.add_range(0, piece.file.num_rows)
    return Piece(piece.file, FrozenBitMap64(left_out - BitMap64(positions.tolist())))


def same_values(one: pyarrow.ChunkedArray, other: pyarrow.ChunkedArray) -> Mask:
    """Where two columns have the same values; nulls are the same, and so are two NaNs."""
    if pyarrow.types.is_nested(one.type) or isinstance(one.type, pyarrow.BaseExtensionType):
        values = zip(one.to_pylist(), other.to_pylist(), strict=True)
        return numpy.array([repr(before) == repr(after) for before, after in values], numpy.bool_)
    equal = _true(pyarrow.compute.equal(one, other))
    equal = pyarrow.compute.or_(equal, pyarrow.compute.and_(one.is_null(), other.is_null()))
    if pyarrow.types.is_floating(one.type):
        both_nan = _true(pyarrow.compute.and_(pyarrow.compute.is_nan(one), pyarrow.compute.is_nan(other)))
        equal = pyarrow.compute.or_(equal, both_nan)
    return bool_values(equal.combine_chunks())


def _true(flags: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """Null is false. `fill_null` makes a scalar, and so imports pandas."""
    return pyarrow.compute.and_kleene(flags.is_valid(), flags)


def row_values(rows: pyarrow.Table, place: int) -> dict[str, object]:
    """A row's values by the names of its columns, as Python's, or as text where Python has no such value."""
    return {name: _value(rows.column(number)[place]) for number, name in enumerate(rows.column_names)}


def python_rows(rows: pyarrow.RecordBatch) -> list[dict[str, object]]:
    """Rows as dictionaries of Python's values, or text where Python has no such value."""
    try:
        return cast("list[dict[str, object]]", rows.to_pylist())
    except _NOT_PYTHON:
        table = pyarrow.Table.from_batches([rows])
        return [row_values(table, place) for place in range(table.num_rows)]


_NOT_PYTHON = (ValueError, OverflowError, ImportError)  # nanoseconds, years beyond 9999


def _value(scalar: pyarrow.Scalar) -> object:
    try:
        return scalar.as_py()
    except _NOT_PYTHON:
        if isinstance(scalar, pyarrow.StructScalar):
            return {name: _value(scalar[name]) for name in scalar.type.names}
        return str(scalar.cast(pyarrow.string()))
