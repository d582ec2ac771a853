"""A partition spec: how a table's files are partitioned. Specs evolve; each file keeps the spec it was written with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lakebed.errors import Invalid
from lakebed.table.partition.parse import find_source, parse_partition_field, transform_text
from lakebed.table.partition.transforms import Transform
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field, Struct, Type, leaves

FIRST_FIELD_ID = 1000
"""The first id of a table's partition fields, as in Iceberg."""


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A transform of the column with the id `source_id`; the field's own id is the same in every spec of the table."""

    source_id: int
    field_id: int
    name: str
    transform: Transform


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """Partition fields in order; none if the table is not partitioned. `id` is the spec's number in its table."""

    fields: tuple[PartitionField, ...] = ()
    id: int = 0

    def __post_init__(self) -> None:
        for place, field in enumerate(self.fields):
            if field.field_id < FIRST_FIELD_ID:
                expected = f"{FIRST_FIELD_ID} or more"
                raise Invalid(
                    "a partition field has the wrong id", subject=field.name, expected=expected, found=field.field_id
                )
            for other in self.fields[:place]:
                _check_distinct(field, other)

    @property
    def highest_field_id(self) -> int:
        """The highest id of its fields; without fields, the id before the first."""
        return max((field.field_id for field in self.fields), default=FIRST_FIELD_ID - 1)

    @property
    def source_ids(self) -> frozenset[int]:
        """The ids of the columns that it needs: they can't be dropped while this is the table's spec."""
        return frozenset(field.source_id for field in self.fields)


UNPARTITIONED = PartitionSpec()


def make_spec(
    schema: Schema,
    texts: Iterable[str],
    *,
    spec_id: int,
    next_field_id: int = FIRST_FIELD_ID,
    known: Sequence[PartitionSpec] = (),
) -> PartitionSpec:
    """The spec in these texts (`day(ordered_at)`, `bucket(16, id)`, `region`), with Iceberg's names for its fields.

    A field that is in one of the table's earlier specs, `known`, keeps its id. New fields are numbered from
    `next_field_id`, which has to be above every id that the table ever had.
    """
    ids = {(field.source_id, field.transform): field.field_id for spec in known for field in spec.fields}
    fields: list[PartitionField] = []
    for column in map(parse_partition_field, _checked_list(texts)):
        path = find_source(schema, column)
        key = (path[-1].id, column.transform)
        if key not in ids:
            ids[key], next_field_id = next_field_id, next_field_id + 1
        fields.append(PartitionField(path[-1].id, ids[key], default_name(path, column.transform), column.transform))
    spec = PartitionSpec(tuple(fields), spec_id)
    check_field_names(spec, schema)
    return spec


def default_name(path: tuple[Field, ...], transform: Transform) -> str:
    """Iceberg's name of a field: `ordered_at_day`, `id_bucket_16`, `name_trunc_10`; the column's name for identity."""
    source = ".".join(field.name for field in path)
    match transform.name:
        case "identity":
            return source
        case "truncate":
            return f"{source}_trunc_{transform.parameter}"
        case "bucket":
            return f"{source}_bucket_{transform.parameter}"
        case "void":
            return f"{source}_null"
        case unit:
            return f"{source}_{unit}"


def check_field_names(spec: PartitionSpec, schema: Schema) -> None:
    """Refuse a field that has a column's name but not its value: readers would take it for the column."""
    columns = dict(_dotted_names(schema.fields))
    for field in spec.fields:
        column = columns.get(folded_column(field.name))
        if column is not None and not (field.transform.name == "identity" and field.source_id == column.id):
            problem = "a partition field would have a column's name, and only that column's own value may"
            advice = f"Rename the column {column.name!r}, or partition by something else."
            raise Invalid(problem, subject=field.name, found=f"{field.transform} of another column", advice=advice)


@dataclass(frozen=True, slots=True)
class BoundField:
    """A partition field with the path to its column, and the type of its values."""

    field: PartitionField
    path: tuple[Field, ...]

    @property
    def source(self) -> Field:
        return self.path[-1]

    @property
    def type(self) -> Type:
        return self.field.transform.result_type(self.source.type)


@lru_cache(maxsize=256)  # called once for every file that is pruned
def bound_fields(spec: PartitionSpec, schema: Schema) -> tuple[BoundField, ...]:
    """The spec's fields whose columns the schema has: a column may be dropped after its spec was replaced."""
    paths = source_paths(schema)
    return tuple(BoundField(field, paths[field.source_id]) for field in spec.fields if field.source_id in paths)


def source_paths(schema: Schema) -> dict[int, tuple[Field, ...]]:
    """(column id) -> the path to it, for every column that can be partitioned or sorted by"""
    return {path[-1].id: path for path in leaves(schema.fields)}


def spec_texts(spec: PartitionSpec, schema: Schema) -> list[str]:
    """The spec as people write it, with the current names of its columns."""
    fields = bound_fields(spec, schema)
    return [transform_text(bound.field.transform, tuple(part.name for part in bound.path)) for bound in fields]


def changed_terms(spec: PartitionSpec, schema: Schema, dropped: str | None, added: str | None) -> list[str]:
    """The spec as people write it, without one field or with another; one that is dropped and added is replaced.

    The dropped field is given as it is written, `day(ordered_at)`, or by its own name, `ordered_at_day`.
    """
    terms = spec_texts(spec, schema)
    place = len(terms) if dropped is None else _place_of(spec, schema, dropped)
    return [*terms[:place], *([] if added is None else [added]), *terms[place + 1 :]]


def _place_of(spec: PartitionSpec, schema: Schema, term: str) -> int:
    names = [folded_column(field.name) for field in spec.fields]
    if folded_column(term) in names:
        return names.index(folded_column(term))
    wanted = parse_partition_field(term)
    for place, bound in enumerate(bound_fields(spec, schema)):
        path = tuple(folded_column(part.name) for part in bound.path)
        if (bound.field.transform, path) == (wanted.transform, tuple(map(folded_column, wanted.path))):
            return place
    expected = f"one of {', '.join(spec_texts(spec, schema))}" if spec.fields else "a partitioned table"
    raise Invalid("the table is not partitioned by this", subject=term, expected=expected)


def _checked_list(texts: Iterable[str]) -> Iterable[str]:
    if isinstance(texts, str):
        raise Invalid("partition fields have to be given as a list", subject=repr(texts), expected=f"[{texts!r}]")
    return texts


def _check_distinct(field: PartitionField, other: PartitionField) -> None:
    """Refuse a field that adds nothing to another one, or could be mistaken for it."""
    if field.source_id == other.source_id and field.transform == other.transform:
        raise Invalid("a partition field comes twice", subject=field.name, found=f"{other.name} too")
    if field.source_id == other.source_id and field.transform.is_time and other.transform.is_time:
        advice = "Keep the finer unit: it separates whatever the coarser one does."
        raise Invalid("one column has two units of time", subject=field.name, found=f"{other.name} too", advice=advice)
    if folded_column(field.name) == folded_column(other.name) or field.field_id == other.field_id:
        subject, found = f"{field.field_id} is {field.name}", f"{other.field_id} is {other.name}"
        raise Invalid("two partition fields have the same name or id", subject=subject, found=found)


def _dotted_names(fields: tuple[Field, ...], prefix: str = "") -> Iterable[tuple[str, Field]]:
    for field in fields:
        name = f"{prefix}{field.name}"
        yield folded_column(name), field
        if isinstance(field.type, Struct):
            yield from _dotted_names(field.type.fields, f"{name}.")
