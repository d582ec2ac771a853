"""The tests of `pruning` and `partitions` for all files at once, on columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import numpy
import pyarrow

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


def prune_partitions(filter: Filter, columns: FileColumns, schema: Schema, specs: Mapping[int, PartitionSpec]) -> Mask:
    """For each file, what `may_match_partition` answers with its own spec; True if that is not among the specs."""
    kept = numpy.ones(columns.num_rows, bool)
    if not any(spec.fields for spec in specs.values()):
        return kept
    spec_ids = columns.column("spec_id").fill_null(0).to_numpy()  # unset is 0, as it is in an entry
    values = _Values(columns)
    for spec in specs.values():
        if spec.fields:
            of_spec = spec_ids == spec.id
            if of_spec.any():
                kept &= ~of_spec | _may(filter, bound_fields(spec, schema), values)
    return kept


@dataclass(frozen=True, slots=True)
class _Values:
    """The files' partition values: the distinct ones, and for each file which it has. Null is one of them."""

    columns: FileColumns
    made: dict[int, tuple[list[Value | None], Numeric]] = field(default_factory=dict)

    def of(self, bound: BoundField) -> tuple[list[Value | None], Numeric]:
        field_id = bound.field.field_id  # which has one transform of one column, in whatever spec it is
        if field_id not in self.made:
            distinct, places = _encoded(self.columns.column(f"partition.{field_id}"))
            self.made[field_id] = [None if one is None else decode_bound(bound.type, one) for one in distinct], places
        return self.made[field_id]


def _may(filter: Filter, bound: tuple[BoundField, ...], values: _Values) -> Mask:
    """Where the filter may match, told as if all files were of one spec."""
    kept: Mask
    match filter:
        case And(parts):
            kept = numpy.ones(values.columns.num_rows, bool)
            for part in parts:
                kept &= _may(part, bound, values)
        case Or(parts):
            kept = numpy.zeros(values.columns.num_rows, bool)
            for part in parts:
                kept |= _may(part, bound, values)
        case leaf:
            kept = numpy.ones(values.columns.num_rows, bool)
            for one in bound:
                if one.source.id == leaf.field.id and one.field.transform.name != "void":
                    kept &= _leaf_may(leaf, one, values)
    return kept


def _leaf_may(leaf: Leaf, bound: BoundField, values: _Values) -> Mask:
    distinct, places = values.of(bound)
    answers = numpy.array([leaf_may_match_partition(leaf, bound, one) for one in distinct], bool)
    kept: Mask = answers[places] | ~values.columns.has_partition(bound.field.field_id)
    return kept


def _encoded(column: pyarrow.Array) -> tuple[list[bytes | None], Numeric]:
    """The distinct values of a column of bytes, and for each row which it has."""
    whole = whole_numbers(column)  # twice as fast as bytes
    encoded = (column if whole is None else whole).dictionary_encode(null_encoding="encode")
    distinct: list[Any] = encoded.dictionary.to_pylist()
    if whole is not None:
        distinct = [
            None if one is None else one.to_bytes(whole.type.byte_width, "little", signed=True) for one in distinct
        ]
    return distinct, encoded.indices.to_numpy()


@dataclass(frozen=True, slots=True)
class FileRows:
    """Files by their places among the columns' rows; None for all of them."""

    columns: FileColumns
    places: Numeric | None = None

    def __len__(self) -> int:
        return self.columns.num_rows if self.places is None else len(self.places)

    def at(self, places: Numeric) -> "FileRows":
        """Of these files those in these places."""
        return FileRows(self.columns, places if self.places is None else self.places[places])

    def files(self) -> list[LiveFile]:
        """The files as objects."""
        return self.columns.files(range(len(self)) if self.places is None else self.places.tolist())

    def column(self, name: str) -> pyarrow.Array:
        """One column of these files; null is unset."""
        if not self.columns.has(name):
            return self.columns.column(name).slice(0, len(self))  # nothing but nulls
        found = self.columns.column(name)
        return found if self.places is None else found.take(pyarrow.array(self.places))

    def is_count(self, name: str, count: int) -> Mask:
        """Where a count is known and is this."""
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
        found: Mask = values != nulls
        for known in (counted, null_counted):
            if known is not None:
                found |= ~known
        return found

    def bounds(self, side: str, test: ColumnTest) -> Bounds | None:
        """The bounds, `lower` or `upper`, of the column that a leaf tests; None if its type has none that compare."""
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
        """The places of files of these schemas that have no statistics of the column, those that are alike together."""
        of_schema = self.column("schema_id").fill_null(0).to_numpy()
        has = self.columns.has_statistics(field_id)
        rows = numpy.flatnonzero(
            numpy.isin(of_schema, schema_ids) & ~(has if self.places is None else has[self.places])
        )
        layouts = self.column("statistics").indices.to_numpy()[rows]
        empty = self.column("num_rows").take(pyarrow.array(rows)).to_numpy() == 0
        keys = numpy.stack([of_schema[rows], layouts, empty], axis=1)
        _, group = numpy.unique(keys, axis=0, return_inverse=True)
        for one in range(group.max(initial=-1) + 1):
            yield rows[group == one]


def _counts(column: pyarrow.Array) -> tuple[Numeric, Mask | None]:
    """Counts, and where they are known, None for everywhere."""
    if column.null_count == 0:
        return column.to_numpy(), None
    return column.fill_null(0).to_numpy(), column.is_valid().to_numpy(zero_copy_only=False)


_LOWER = (Operator.LESS, Operator.LESS_OR_EQUAL)


def leaf_may_match(leaf: Leaf, files: FileRows) -> Mask | None:
    """Where the leaf may match by the files' own statistics; None if its column's bounds don't compare here."""
    match leaf:
        case IsNull(field):
            return ~files.is_count(f"nulls.{field.id}", 0)
        case IsNan(field):
            return ~files.is_count(f"nans.{field.id}", 0) & files.may_have_values(field.id)
        case NotNull(field) | NotNan(field):
            return files.may_have_values(field.id)
        case _:
            found = _by_bounds(leaf, files)
            return None if found is None else found & files.may_have_values(leaf.field.id)


def _by_bounds(leaf: Comparison | OneOf | NoneOf | Like | NotLike, files: FileRows) -> Mask | None:
    match leaf:
        case Comparison(_, Operator.EQUAL, value):
            return _one_of(leaf, (value,), files)
        case Comparison(_, Operator.NOT_EQUAL, value):
            return _none_of(leaf, (value,), files)
        case Comparison(_, operator, value):
            bound = files.bounds("lower" if operator in _LOWER else "upper", leaf)
            return None if bound is None else bound.may_hold(operator, value)
        case OneOf(_, values):
            return _one_of(leaf, values, files)
        case NoneOf(_, values):
            return _none_of(leaf, values, files)
        case Like(_, pattern):
            return _like(leaf, pattern, files)
        case NotLike(_, pattern):
            return _not_like(leaf, pattern, files)


def _both(leaf: Leaf, files: FileRows) -> tuple[Bounds, Bounds] | None:
    lower, upper = files.bounds("lower", leaf), files.bounds("upper", leaf)
    return None if lower is None or upper is None else (lower, upper)


def _one_of(leaf: Leaf, values: tuple[Value, ...], files: FileRows) -> Mask | None:
    bounds = _both(leaf, files)
    return None if bounds is None else within_any(values, *bounds)


def _none_of(leaf: Leaf, values: tuple[Value, ...], files: FileRows) -> Mask | None:
    """Where not all rows have one and the same of these values."""
    bounds = _both(leaf, files)
    if bounds is None:
        return None
    single = numpy.zeros(len(files), bool)
    for value in values:
        single |= bounds[0].holds(Operator.EQUAL, value) & bounds[1].holds(Operator.EQUAL, value)
    return ~single


def _texts(leaf: Leaf, files: FileRows) -> tuple[Texts, Texts] | None:
    match _both(leaf, files):
        case (Texts() as lower, Texts() as upper):
            return lower, upper
        case _:
            return None


def _like(leaf: Leaf, pattern: Pattern, files: FileRows) -> Mask | None:
    """Where what the texts begin with lets one match; a file that has one text alone is told by that."""
    bounds = _texts(leaf, files)
    if bounds is None:
        return None
    lower, upper = bounds
    beyond = lower.holds(Operator.GREATER, pattern.prefix) & ~lower.starts_with(pattern.prefix)
    found = upper.may_hold(Operator.GREATER_OR_EQUAL, pattern.prefix) & ~beyond
    if not pattern.is_prefix:
        single = lower.same(upper) & found
        found &= ~single | lower.passes(single, pattern.matches)
    return found


def _not_like(leaf: Leaf, pattern: Pattern, files: FileRows) -> Mask | None:
    """Where not every text between the bounds matches: what lies between two of one prefix has it too."""
    bounds = _texts(leaf, files)
    if bounds is None:
        return None
    lower, upper = bounds
    if pattern.is_prefix:
        return ~(lower.starts_with(pattern.prefix) & upper.starts_with(pattern.prefix))
    return ~lower.passes(lower.same(upper), pattern.matches)


_SPARSE: Final = 4  # files are set apart once there are so many times fewer: before, the copy of a column costs more
_TEXTS: Final = (STRING, BINARY, UUID)
_NONE: Final[Mapping[int, Schema]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Pruned:
    """For each file, whether it is left after pruning by its partition, and then by its statistics.

    `reason` says what could only be looked at file by file, "" if there was no such thing.
    """

    by_partition: Mask
    kept: Mask
    reason: str = ""


def prune(
    filter: Filter,
    columns: FileColumns,
    schema: Schema,
    specs: Mapping[int, PartitionSpec],
    written: Mapping[int, Schema] = _NONE,
) -> Pruned:
    """Which files can have a row that the filter keeps. `specs` and `written` are the table's specs and schemas by id.

    A file of a spec or schema that is not among them is judged without. `Corrupt` if a bound of one of the filter's
    columns is no value of its type.
    """
    by_partition = prune_partitions(filter, columns, schema, specs)
    judge = _Judge(written, set())
    kept = judge.folded(numpy.logical_and, (by_partition, filter), FileRows(columns))
    return Pruned(by_partition, kept, "; ".join(sorted(judge.slow)))


@dataclass(frozen=True, slots=True)
class _Judge:
    """Looks at statistics, and notes what was slow."""

    written: Mapping[int, Schema]
    slow: set[str]

    def may_match(self, filter: Filter | Mask, files: FileRows) -> Mask:
        """Where the filter may match; a mask is what is known already of a part of it."""
        if isinstance(filter, numpy.ndarray):
            return filter
        match filter:
            case And(parts):
                return self.folded(numpy.logical_and, _cheap_first(parts), files)
            case Or(parts):
                return self.folded(numpy.logical_or, _cheap_first(parts), files)
            case leaf:
                return self.leaf(leaf, files)

    def folded(self, combine: Any, parts: Iterable[Filter | Mask], files: FileRows) -> Mask:
        """What all parts say together. Once few files are undecided, the other parts look at these alone."""
        answer, undecided = numpy.full(len(files), bool(combine.identity)), bool(combine.identity)
        asked = files
        places: Any = slice(None)
        for part in parts:
            answer[places] = combine(answer[places], self.may_match(part, asked))
            left = answer == undecided
            if numpy.count_nonzero(left) * _SPARSE < len(asked):
                places = numpy.flatnonzero(left)
                asked = files.at(places)
        return answer

    def leaf(self, leaf: Leaf, files: FileRows) -> Mask:
        """Where the leaf may match; files that are older than its column have its default in every row."""
        found = leaf_may_match(leaf, files)
        if found is None:
            self.slow.add(f"{leaf.field.name} ({leaf.field.type}) is looked at file by file")
            return self.one_by_one(leaf, files)
        lacking = [id for id, schema in self.written.items() if any(one.id not in schema.ways for one in leaf.way)]
        if lacking:
            for older in files.without_statistics(leaf.field.id, lacking):
                found[older] = self.one_by_one(leaf, files.at(older[:1]))
        return found

    def one_by_one(self, leaf: Leaf, files: FileRows) -> Mask:
        return numpy.array([may_match(leaf, one.file, self.written.get(one.schema_id)) for one in files.files()], bool)


def _cheap_first(parts: Iterable[Filter]) -> list[Filter]:
    return sorted(parts, key=_cost)


def _cost(filter: Filter) -> int:
    """How late among its neighbours a part is looked at: numbers are ten times faster than text."""
    match filter:
        case And(parts) | Or(parts):
            return max(map(_cost, parts), default=0)
        case IsNull() | NotNull() | IsNan() | NotNan():
            return 0
        case leaf:
            return 1 if isinstance(leaf.field.type, Primitive) and leaf.field.type not in _TEXTS else 2
