"""Pruning of all files at once: the tests of `partitions` and `pruning`, vectorized over columns of files' entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from lakebed.deferred import numpy, pyarrow
from lakebed.errors import Corrupt
from lakebed.table.entries.columns import FileColumns
from lakebed.table.filter.filter import (
    And,
    ColumnTest,
    Comparison,
    Filter,
    IsNan,
    IsNull,
    Leaf,
    Like,
    NoneOf,
    NotLike,
    NotNan,
    NotNull,
    OneOf,
    Operator,
    Or,
    Predicate,
    Value,
)
from lakebed.table.filter.like import Pattern
from lakebed.table.manifest.snapshot import LiveFile
from lakebed.table.partition.spec import BoundField, PartitionSpec, bound_fields
from lakebed.table.plan.partitions import leaf_may_match_partition
from lakebed.table.plan.pruning import may_match
from lakebed.table.schema.schema import Schema, dotted_path
from lakebed.table.statistics.bound_arrays import (
    Bounds,
    Mask,
    Numeric,
    Texts,
    bounds_of,
    whole_numbers,
    within_any,
    wrong_row,
)
from lakebed.table.types.types import BINARY, STRING, UUID, Primitive
from lakebed.table.types.values import decode_bound

_BELOW: Final = (Operator.LESS, Operator.LESS_OR_EQUAL)

_SPARSE: Final = 4  # files are selected once they are this many times fewer: earlier, copying columns costs more
_TEXTS: Final = (STRING, BINARY, UUID)
_NO_SCHEMAS: Final[Mapping[int, Schema]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Pruned:
    """For each file, whether pruning keeps it: by its partition, and then by its statistics too.

    `reason` names the columns that had to be tested file by file; "" if there were none.
    """

    by_partition: Mask
    kept: Mask
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FileRows:
    """Some of the files of the columns, by their rows; None for all."""

    columns: FileColumns
    places: Numeric | None = None

    def __len__(self) -> int:
        return self.columns.num_rows if self.places is None else len(self.places)

    def at(self, places: Numeric) -> FileRows:
        """The files at these places among these files."""
        return FileRows(self.columns, places if self.places is None else self.places[places])

    def files(self) -> list[LiveFile]:
        """The files as objects."""
        return self.columns.files(range(len(self)) if self.places is None else self.places.tolist())

    def column(self, name: str) -> pyarrow.Array:
        """One column of these files; null is unset."""
        if not self.columns.has(name):
            return self.columns.column(name).slice(0, len(self))  # only nulls
        column = self.columns.column(name)
        return column if self.places is None else column.take(pyarrow.array(self.places))

    def is_count(self, name: str, count: int) -> Mask:
        """Where a count is known and equal to this."""
        if not self.columns.has(name):
            return numpy.zeros(len(self), bool)
        values, known = _counts(self.column(name))
        same: Mask = values == count
        return same if known is None else same & known

    def may_have_values(self, field_id: int) -> Mask:
        """Where not every row of the column is known to be null."""
        names = f"values.{field_id}", f"nulls.{field_id}"
        if not all(map(self.columns.has, names)):
            return numpy.ones(len(self), bool)
        if self.places is None:
            return self.columns.remembered(("values", field_id), lambda: self._may_have_values(names))
        return self._may_have_values(names)

    def _may_have_values(self, names: tuple[str, str]) -> Mask:
        (values, counted), (nulls, null_counted) = (_counts(self.column(name)) for name in names)
        mask: Mask = values != nulls
        for known in (counted, null_counted):
            if known is not None:
                mask |= ~known
        return mask

    def bounds(self, side: str, test: ColumnTest) -> Bounds | None:
        """The bounds, `lower` or `upper`, of the column that a leaf tests; None if its type is not supported here."""
        if self.places is None:
            key = ("bounds", side, test.field.id, test.field.type)
            return self.columns.remembered(key, lambda: self._bounds(side, test))
        return self._bounds(side, test)

    def _bounds(self, side: str, test: ColumnTest) -> Bounds | None:
        type, column = test.field.type, self.column(f"{side}.{test.field.id}")
        try:
            return bounds_of(type, column)
        except Corrupt as error:
            path = self.column("path")[wrong_row(type, column)].as_py()
            subject = f"{path}, column {dotted_path(test.way)}"
            raise Corrupt(error.problem, subject=subject, expected=error.expected, found=error.found) from error

    def without_statistics(self, field_id: int, schema_ids: Sequence[int]) -> Iterator[Numeric]:
        """Groups of places: files with these schemas that have no statistics of the column, similar files together."""
        of_schema = self.column("schema_id").fill_null(0).to_numpy()
        has = self.columns.has_statistics(field_id)
        rows = numpy.flatnonzero(
            numpy.isin(of_schema, schema_ids) & ~(has if self.places is None else has[self.places])
        )
        layouts = self.column("statistics").indices.to_numpy()[rows]
        empty = self.column("num_rows").take(pyarrow.array(rows)).to_numpy() == 0
        keys = numpy.stack([of_schema[rows], layouts, empty], axis=1)
        _, groups = numpy.unique(keys, axis=0, return_inverse=True)
        for number in range(groups.max(initial=-1) + 1):
            yield rows[groups == number]


def prune(
    filter: Filter,
    columns: FileColumns,
    schema: Schema,
    specs: Mapping[int, PartitionSpec],
    written: Mapping[int, Schema] = _NO_SCHEMAS,
) -> Pruned:
    """Which files can have a row that the filter keeps. `specs` and `written` are the table's specs and schemas by id.

    A file whose spec or schema is missing there is pruned without it. `Corrupt` if a bound of one of the filter's
    columns is not a value of its type.
    """
    by_partition = _prune_partitions(filter, columns, schema, specs)
    pruning = _StatisticsPruning(written, set())
    kept = pruning.combined(numpy.logical_and, (by_partition, filter), FileRows(columns))
    return Pruned(by_partition, kept, "; ".join(sorted(pruning.slow)))


@dataclass(frozen=True, slots=True)
class _StatisticsPruning:
    """Prunes by statistics, and notes the columns that had to be tested file by file."""

    written: Mapping[int, Schema]
    slow: set[str]

    def may_match(self, filter: Filter | Mask, files: FileRows) -> Mask:
        """Where the filter may match; a mask is an answer that is already known."""
        if isinstance(filter, numpy.ndarray):
            return filter
        match filter:
            case And(parts):
                return self.combined(numpy.logical_and, _cheap_first(parts), files)
            case Or(parts):
                return self.combined(numpy.logical_or, _cheap_first(parts), files)
            case Predicate():
                return numpy.ones(len(files), bool)
            case leaf:
                return self.leaf(leaf, files)

    def combined(self, combine: Any, parts: Iterable[Filter | Mask], files: FileRows) -> Mask:
        """The answers of all parts, combined. Once few files are undecided, the remaining parts test only those."""
        answer, undecided = numpy.full(len(files), bool(combine.identity)), bool(combine.identity)
        tested = files
        places: Any = slice(None)
        for part in parts:
            answer[places] = combine(answer[places], self.may_match(part, tested))
            left = answer == undecided
            if numpy.count_nonzero(left) * _SPARSE < len(tested):
                places = numpy.flatnonzero(left)
                tested = files.at(places)
        return answer

    def leaf(self, leaf: Leaf, files: FileRows) -> Mask:
        """Where the leaf may match; files that are older than its column have its default in every row."""
        mask = _leaf_may_match(leaf, files)
        if mask is None:
            self.slow.add(f"{leaf.field.name} ({leaf.field.type}) is tested file by file")
            return self.one_by_one(leaf, files)
        older = [id for id, schema in self.written.items() if any(part.id not in schema.ways for part in leaf.way)]
        if older:
            for places in files.without_statistics(leaf.field.id, older):
                mask[places] = self.one_by_one(leaf, files.at(places[:1]))
        return mask

    def one_by_one(self, leaf: Leaf, files: FileRows) -> Mask:
        tested = files.files()
        return numpy.array([may_match(leaf, live.file, self.written.get(live.schema_id)) for live in tested], bool)


def _cheap_first(parts: Iterable[Filter]) -> list[Filter]:
    return sorted(parts, key=_cost)


def _cost(filter: Filter) -> int:
    """The cheaper parts are tested first: numbers are ten times as fast as text."""
    match filter:
        case And(parts) | Or(parts):
            return max(map(_cost, parts), default=0)
        case IsNull() | NotNull() | IsNan() | NotNan() | Predicate():
            return 0
        case leaf:
            return 1 if isinstance(leaf.field.type, Primitive) and leaf.field.type not in _TEXTS else 2


def _leaf_may_match(leaf: Leaf, files: FileRows) -> Mask | None:
    """Where the leaf may match by the files' own statistics; None if its column's type is not supported here."""
    match leaf:
        case IsNull(field):
            return ~files.is_count(f"nulls.{field.id}", 0)
        case IsNan(field):
            return ~files.is_count(f"nans.{field.id}", 0) & files.may_have_values(field.id)
        case NotNull(field) | NotNan(field):
            return files.may_have_values(field.id)
        case _:
            mask = _bounds_may_match(leaf, files)
            return None if mask is None else mask & files.may_have_values(leaf.field.id)


def _bounds_may_match(leaf: Comparison | OneOf | NoneOf | Like | NotLike, files: FileRows) -> Mask | None:
    match leaf:
        case Comparison(_, Operator.EQUAL, value):
            return _one_of(leaf, (value,), files)
        case Comparison(_, Operator.NOT_EQUAL, value):
            return _none_of(leaf, (value,), files)
        case Comparison(_, operator, value):
            bound = files.bounds("lower" if operator in _BELOW else "upper", leaf)
            return None if bound is None else bound.may_hold(operator, value)
        case OneOf(_, values):
            return _one_of(leaf, values, files)
        case NoneOf(_, values):
            return _none_of(leaf, values, files)
        case Like(_, pattern):
            return _like(leaf, pattern, files)
        case NotLike(_, pattern):
            return _not_like(leaf, pattern, files)


def _bounds(leaf: Leaf, files: FileRows) -> tuple[Bounds, Bounds] | None:
    lower, upper = files.bounds("lower", leaf), files.bounds("upper", leaf)
    return None if lower is None or upper is None else (lower, upper)


def _one_of(leaf: Leaf, values: tuple[Value, ...], files: FileRows) -> Mask | None:
    bounds = _bounds(leaf, files)
    return None if bounds is None else within_any(values, *bounds)


def _none_of(leaf: Leaf, values: tuple[Value, ...], files: FileRows) -> Mask | None:
    """Where the rows do not all have the same one of these values."""
    bounds = _bounds(leaf, files)
    if bounds is None:
        return None
    single = numpy.zeros(len(files), bool)
    for value in values:
        single |= bounds[0].holds(Operator.EQUAL, value) & bounds[1].holds(Operator.EQUAL, value)
    return ~single


def _texts(leaf: Leaf, files: FileRows) -> tuple[Texts, Texts] | None:
    match _bounds(leaf, files):
        case (Texts() as lower, Texts() as upper):
            return lower, upper
        case _:
            return None


def _like(leaf: Leaf, pattern: Pattern, files: FileRows) -> Mask | None:
    """Where a text may match by its prefix; where all rows have one text, that text is tested."""
    bounds = _texts(leaf, files)
    if bounds is None:
        return None
    lower, upper = bounds
    beyond = lower.holds(Operator.GREATER, pattern.prefix) & ~lower.starts_with(pattern.prefix)
    mask = upper.may_hold(Operator.GREATER_OR_EQUAL, pattern.prefix) & ~beyond
    if not pattern.is_prefix:
        single = lower.same(upper) & mask
        mask &= ~single | lower.passes(single, pattern.matches)
    return mask


def _not_like(leaf: Leaf, pattern: Pattern, files: FileRows) -> Mask | None:
    """Where not every text between the bounds matches: texts between two with a prefix have it too."""
    bounds = _texts(leaf, files)
    if bounds is None:
        return None
    lower, upper = bounds
    if pattern.is_prefix:
        return ~(lower.starts_with(pattern.prefix) & upper.starts_with(pattern.prefix))
    return ~lower.passes(lower.same(upper), pattern.matches)


def _prune_partitions(filter: Filter, columns: FileColumns, schema: Schema, specs: Mapping[int, PartitionSpec]) -> Mask:
    """For each file, the answer of `may_match_partition` with its spec; True if that is not among the specs."""
    kept = numpy.ones(columns.num_rows, bool)
    if not any(spec.fields for spec in specs.values()):
        return kept
    spec_ids = columns.column("spec_id").fill_null(0).to_numpy()  # unset is 0, as in an entry
    values = _Values(columns)
    for spec in specs.values():
        if spec.fields:
            of_spec = spec_ids == spec.id
            if of_spec.any():
                kept &= ~of_spec | _partition_may_match(filter, bound_fields(spec, schema), values)
    return kept


@dataclass(frozen=True, slots=True)
class _Values:
    """The files' partition values by field: the distinct values, null among them, and which of them each file has."""

    columns: FileColumns
    made: dict[int, tuple[list[Value | None], Numeric]] = field(default_factory=dict)

    def of(self, bound: BoundField) -> tuple[list[Value | None], Numeric]:
        field_id = bound.field.field_id  # the same transform of the same column in every spec
        if field_id not in self.made:
            distinct, places = _encoded(self.columns.column(f"partition.{field_id}"))
            values = [None if data is None else decode_bound(bound.type, data) for data in distinct]
            self.made[field_id] = values, places
        return self.made[field_id]


def _partition_may_match(filter: Filter, fields: tuple[BoundField, ...], values: _Values) -> Mask:
    """Where the filter may match if all files had this spec."""
    kept: Mask
    match filter:
        case And(parts):
            kept = numpy.ones(values.columns.num_rows, bool)
            for part in parts:
                kept &= _partition_may_match(part, fields, values)
        case Or(parts):
            kept = numpy.zeros(values.columns.num_rows, bool)
            for part in parts:
                kept |= _partition_may_match(part, fields, values)
        case Predicate():
            kept = numpy.ones(values.columns.num_rows, bool)
        case leaf:
            kept = numpy.ones(values.columns.num_rows, bool)
            for bound in fields:
                if bound.source.id == leaf.field.id and bound.field.transform.name != "void":
                    kept &= _leaf_partition_may_match(leaf, bound, values)
    return kept


def _leaf_partition_may_match(leaf: Leaf, bound: BoundField, values: _Values) -> Mask:
    distinct, places = values.of(bound)
    answers = numpy.array([leaf_may_match_partition(leaf, bound, value) for value in distinct], bool)
    kept: Mask = answers[places] | ~values.columns.has_partition(bound.field.field_id)
    return kept


def _encoded(column: pyarrow.Array) -> tuple[list[bytes | None], Numeric]:
    """The distinct values of a column of bytes, and which of them each row has."""
    whole = whole_numbers(column)  # twice as fast as bytes
    encoded = (column if whole is None else whole).dictionary_encode(null_encoding="encode")
    distinct: list[Any] = encoded.dictionary.to_pylist()
    if whole is not None:
        distinct = [
            None if number is None else number.to_bytes(whole.type.byte_width, "little", signed=True)
            for number in distinct
        ]
    return distinct, encoded.indices.to_numpy()


def _counts(column: pyarrow.Array) -> tuple[Numeric, Mask | None]:
    """Counts, and where they are known; None if everywhere."""
    if column.null_count == 0:
        return column.to_numpy(), None
    return column.fill_null(0).to_numpy(), column.is_valid().to_numpy(zero_copy_only=False)
