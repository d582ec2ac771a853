"""Which rows of a table and of a source match: those with equal keys that are not null."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy
import pyarrow
import pyarrow.compute as compute

from lakebed.arrow.expression.evaluate import Rows, evaluate
from lakebed.arrow.types import shown_value
from lakebed.table.expression.expression import Expression
from lakebed.table.expression.merge_clauses import KeyPair
from lakebed.table.expression.scope import SOURCE, TARGET
from lakebed.table.keys.errors import matched_twice


@dataclass(frozen=True, slots=True)
class Pairs:
    """The places of matching rows: as many of the table as of the source, in the order of the table's rows."""

    target: pyarrow.Array
    source: pyarrow.Array


def matched_pairs(keys: Sequence[KeyPair], target: pyarrow.RecordBatch, source: pyarrow.RecordBatch) -> Pairs:
    """All pairs of rows whose keys are equal."""
    ours = _key_table([pair.target for pair in keys], TARGET, target)
    theirs = _key_table([pair.source for pair in keys], SOURCE, source)
    names = [name for name in ours.column_names if name != TARGET]
    joined = ours.join(theirs, names, join_type="inner", use_threads=False).combine_chunks()
    joined = joined.sort_by([(TARGET, "ascending"), (SOURCE, "ascending")]).combine_chunks()
    return Pairs(_whole(joined[TARGET]), _whole(joined[SOURCE]))


def check_single(keys: Sequence[KeyPair], pairs: Pairs, target: pyarrow.RecordBatch) -> None:
    """Refuse a row of the table that more than one row of the source matches."""
    places = pairs.target.to_numpy(zero_copy_only=False)
    again = numpy.flatnonzero(places[1:] == places[:-1])  # they are in order
    if len(again) == 0:
        return
    row = Rows({TARGET: target.slice(places[again[0]], 1)}, 1)
    key = ", ".join(f"{pair.column.way[-1].name} = {shown_value(evaluate(pair.column, row)[0])}" for pair in keys)
    raise matched_twice(key, int((places == places[again[0]]).sum()))


def _key_table(keys: Sequence[Expression], side: str, batch: pyarrow.RecordBatch) -> pyarrow.Table:
    rows = Rows({side: batch}, batch.num_rows)
    columns = {f"key{index}": _by_bits(evaluate(key, rows)) for index, key in enumerate(keys)}
    return pyarrow.table({**columns, side: pyarrow.array(numpy.arange(batch.num_rows), pyarrow.int64())})


def _by_bits(key: pyarrow.Array) -> pyarrow.Array:
    """A key as a join compares it: NaN equals NaN, and the two zeros are equal, as everywhere in SQL here."""
    if not pyarrow.types.is_floating(key.type):
        return key
    one_nan = compute.if_else(compute.is_nan(key), pyarrow.scalar(float("nan"), key.type), key)
    return compute.add(one_nan, pyarrow.scalar(0.0, key.type)).view(f"int{key.type.bit_width}")


def _whole(column: pyarrow.ChunkedArray) -> pyarrow.Array:
    return column.chunk(0) if column.num_chunks else pyarrow.array([], pyarrow.int64())
