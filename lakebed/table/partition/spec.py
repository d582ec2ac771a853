"""A partition spec: by what a table's files are set apart. Specs evolve; each file keeps the one it was written for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lakebed.errors import Invalid
from lakebed.table.partition.parse import find_source, parse_partition_field, spelled
from lakebed.table.partition.transforms import Transform
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field, Struct, Type, leaves

FIRST_FIELD_ID = 1000
"""Of a table's partition fields, as Iceberg numbers them."""


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A transform of the column with the id `source_id`; the field's own id is the same in every spec of the table."""

    source_id: int
    field_id: int
    name: str
    transform: Transform


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """Partition fields in their order; without any, files hold whatever comes. `id` is its number in its table."""

    fields: tuple[PartitionField, ...] = ()
    id: int = 0

    def __post_init__(self) -> None:
        for place, one in enumerate(self.fields):
            if one.field_id < FIRST_FIELD_ID:
                expected = f"{FIRST_FIELD_ID} or more"
                raise Invalid(
                    "a partition field has another id", subject=one.name, expected=expected, found=one.field_id
                )
            for other in self.fields[:place]:
                _check_apart(one, other)

    @property
    def highest_field_id(self) -> int:
        """The highest id of its fields; the one before the first if it has none."""
        return max((one.field_id for one in self.fields), default=FIRST_FIELD_ID - 1)

    @property
    def source_ids(self) -> frozenset[int]:
        """The ids of the columns that it needs: while it is a table's spec, they can't be dropped."""
        return frozenset(one.source_id for one in self.fields)


UNPARTITIONED = PartitionSpec()


def make_spec(
    schema: Schema,
    texts: Iterable[str],
    *,
    spec_id: int,
    next_field_id: int = FIRST_FIELD_ID,
    known: Sequence[PartitionSpec] = (),
) -> PartitionSpec:
    """The spec that these texts mean (`day(ordered_at)`, `bucket(16, id)`, `region`), with Iceberg's names for fields.

    A field that one of the table's earlier specs, `known`, has already keeps its id; others are numbered from
    `next_field_id` on, which has to be above all that the table ever had.
    """
    ids = {(one.source_id, one.transform): one.field_id for spec in known for one in spec.fields}
    fields: list[PartitionField] = []
    for column in map(parse_partition_field, _listed(texts)):
        path = find_source(schema, column)
        key = (path[-1].id, column.transform)
        if key not in ids:
            ids[key], next_field_id = next_field_id, next_field_id + 1
        fields.append(PartitionField(path[-1].id, ids[key], default_name(path, column.transform), column.transform))
    made = PartitionSpec(tuple(fields), spec_id)
    check_field_names(made, schema)
    return made


def default_name(path: tuple[Field, ...], transform: Transform) -> str:
    """What Iceberg calls a field: `ordered_at_day`, `id_bucket_16`, `name_trunc_10`, or as its column if it is that."""
    source = ".".join(one.name for one in path)
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
    """Refuse a field that is called as a column is, unless it is that column's own value: readers take it for that."""
    columns = dict(_dotted_names(schema.fields))
    for one in spec.fields:
        taken = columns.get(folded_column(one.name))
        if taken is not None and not (one.transform.name == "identity" and one.source_id == taken.id):
            problem = "a partition field would have a column's name, and only the column itself may"
            advice = f"Rename the column {taken.name!r}, or partition by something else."
            raise Invalid(problem, subject=one.name, found=f"{one.transform} of another column", advice=advice)


@dataclass(frozen=True, slots=True)
class BoundField:
    """A partition field beside its column: the fields that lead to it, and the type of the partition values."""

    field: PartitionField
    path: tuple[Field, ...]

    @property
    def source(self) -> Field:
        return self.path[-1]

    @property
    def type(self) -> Type:
        return self.field.transform.result_type(self.source.type)


@lru_cache(maxsize=256)  # asked once for every file that is pruned
def bound_fields(spec: PartitionSpec, schema: Schema) -> tuple[BoundField, ...]:
    """The spec's fields whose columns the schema has: a column may have been dropped since its spec was replaced."""
    paths = source_paths(schema)
    return tuple(BoundField(one, paths[one.source_id]) for one in spec.fields if one.source_id in paths)


def source_paths(schema: Schema) -> dict[int, tuple[Field, ...]]:
    """By its id, the way to every column that can be partitioned or sorted by."""
    return {path[-1].id: path for path in leaves(schema.fields)}


def spec_texts(spec: PartitionSpec, schema: Schema) -> list[str]:
    """The spec as people write it, with the names that columns have now."""
    return [spelled(one.field.transform, tuple(part.name for part in one.path)) for one in bound_fields(spec, schema)]


def _listed(texts: Iterable[str]) -> Iterable[str]:
    if isinstance(texts, str):
        raise Invalid("partition fields are given as a list", subject=repr(texts), expected=f"[{texts!r}]")
    return texts


def _check_apart(one: PartitionField, other: PartitionField) -> None:
    """Refuse two fields of which one says nothing new, or that could be mistaken for each other."""
    if one.source_id == other.source_id and one.transform == other.transform:
        raise Invalid("a partition field comes twice", subject=one.name, found=f"{other.name} too")
    if one.source_id == other.source_id and one.transform.is_time and other.transform.is_time:
        advice = "Keep the finer one: it sets apart what the other does."
        raise Invalid("one column has two units of time", subject=one.name, found=f"{other.name} too", advice=advice)
    if folded_column(one.name) == folded_column(other.name) or one.field_id == other.field_id:
        found = f"{other.field_id} is {other.name}"
        raise Invalid("two partition fields have one name or id", subject=f"{one.field_id} is {one.name}", found=found)


def _dotted_names(fields: tuple[Field, ...], prefix: str = "") -> Iterable[tuple[str, Field]]:
    for one in fields:
        name = f"{prefix}{one.name}"
        yield folded_column(name), one
        if isinstance(one.type, Struct):
            yield from _dotted_names(one.type.fields, f"{name}.")
