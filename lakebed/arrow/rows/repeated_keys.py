"""Rows that would have one primary key after a merge, found by the local engine."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy
import pyarrow

from lakebed.arrow.from_numpy import int64_array
from lakebed.arrow.read.pieces import Numbers, read_pieces, row_values, rows_at, with_bodies
from lakebed.arrow.read.read import read_except
from lakebed.arrow.rows.keys import filter_of_keys, key_columns, keys_in
from lakebed.arrow.rows.source import tables_to_join
from lakebed.catalog.feed.steps import Piece
from lakebed.catalog.merge.rows import WRITTEN, DisputedRow, KeyCheck, Place, Row
from lakebed.table.filter.filter import Filter
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.metadata_columns import POSITION, ROW_ID
from lakebed.table.schema.schema import Schema

_FILE, _POSITION, _OTHER_FILE, _OTHER_POSITION = "file", "position", "other file", "other position"


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """Rows that a merge is to write, with their ids; `rekeyed` are the places of those whose keys are looked for."""

    rows: pyarrow.Table
    ids: Numbers
    rekeyed: Numbers

    def keys(self, schema: Schema, rows: Numbers) -> pyarrow.Table:
        return _placed(keys_in(self.rows.take(int64_array(rows)), schema), WRITTEN, self.ids[rows])

    def row(self, id: int) -> Row:
        [place] = numpy.flatnonzero(self.ids == id).tolist()
        return row_values(self.rows, place)


def repeated_keys(check: KeyCheck, written: WrittenRows) -> list[DisputedRow]:
    """Each pair of rows with one key, of which one is looked for. All keys that are looked for are held in memory."""
    asked = [written.keys(check.schema, written.rekeyed), *_asked(check)]
    keys = pyarrow.concat_tables(asked)
    if not keys.num_rows:
        return []
    filter = filter_of_keys(check.schema, keys.drop_columns([_FILE, _POSITION]))
    holders = check.holders(filter)
    rekeyed = set(written.ids[written.rekeyed].tolist())
    pairs = check.each_once(rekeyed, _pairs(keys, _others(check, holders, filter, written)))
    shown = _shown(check, holders, [place for pair in pairs for place in pair], written)
    return [check.disputed(one, *shown[one], other, shown[other][1]) for one, other in pairs]


def _asked(check: KeyCheck) -> Iterator[pyarrow.Table]:
    for piece in check.pieces:
        for batch in read_pieces(check.sources, [piece], _key_form(check.schema)):
            yield _of_file(pyarrow.Table.from_batches([batch]), check.schema, piece)


def _others(
    check: KeyCheck, holders: Sequence[Piece], filter: Filter | None, written: WrittenRows
) -> Iterator[pyarrow.Table]:
    """The keys of all rows that may have one that is looked for."""
    yield written.keys(check.schema, numpy.arange(written.rows.num_rows))
    sources, form = with_bodies(check.sources, holders), _key_form(check.schema)
    for piece in holders:
        batches = read_except(sources, PlannedFile(piece.file), form, filter, piece.left_out or None)
        for rows in tables_to_join(batches):
            yield _of_file(rows, check.schema, piece)


def _key_form(schema: Schema) -> Schema:
    return Schema([*schema.select(key_columns(schema)).fields, POSITION])


def _of_file(rows: pyarrow.Table, schema: Schema, piece: Piece) -> pyarrow.Table:
    return _placed(keys_in(rows, schema), piece.file.path, rows[POSITION.name].to_numpy())


def _placed(keys: pyarrow.Table, file: str, positions: Numbers) -> pyarrow.Table:
    files = pyarrow.repeat(file, keys.num_rows)
    return keys.append_column(_FILE, files).append_column(_POSITION, int64_array(positions))


def _pairs(keys: pyarrow.Table, others: Iterator[pyarrow.Table]) -> Iterator[tuple[Place, Place]]:
    names = keys.column_names[:-2]
    for found in others:
        named = found.rename_columns([*names, _OTHER_FILE, _OTHER_POSITION])
        pairs = keys.join(named, keys=names, join_type="inner", use_threads=False)
        columns = (pairs[name].to_pylist() for name in (_FILE, _POSITION, _OTHER_FILE, _OTHER_POSITION))
        for file, position, other_file, other_position in zip(*columns, strict=True):
            yield (file, position), (other_file, other_position)


def _shown(
    check: KeyCheck, holders: Sequence[Piece], places: Sequence[Place], written: WrittenRows
) -> Mapping[Place, tuple[int, Row]]:
    """The ids and the values of rows."""
    found = {place: (place[1], written.row(place[1])) for place in places if place[0] == WRITTEN}
    stored = sorted({place for place in places if place[0] != WRITTEN})
    numbers = {piece.file.path: number for number, piece in enumerate(holders)}
    where = numpy.array([[numbers[path], position] for path, position in stored], numpy.int64).reshape(-1, 2)
    read = rows_at(check.sources, holders, Schema([*check.schema.fields, ROW_ID]), where[:, 0], where[:, 1])
    ids, rows = read.column(ROW_ID.name).to_pylist(), read.select(list(check.schema.names))
    return found | {place: (ids[row], row_values(rows, row)) for row, place in enumerate(stored)}
