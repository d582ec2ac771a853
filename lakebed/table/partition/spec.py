"""A partition spec: how a table's files are partitioned. Specs evolve; each file keeps the spec it was written with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from functools import lru_cache

from lakebed.errors import Invalid
from lakebed.table.partition.parse import find_source, named_text, parse_named_field, transform_text
from lakebed.table.partition.transforms import Transform
from lakebed.table.schema.schema import Schema
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field, Struct, Type, leaves

FIRST_FIELD_ID = 1000
"""The first id of a table's partition fields, as in Iceberg."""


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A transform of the column with the id `source_id`; the field's own id is the same in every spec of the table.

    `is_named`: its name was chosen (`day(ordered_at) as date`); else it is Iceberg's, of the column's name then.
    """

    source_id: int
    field_id: int
    name: str
    transform: Transform
    is_named: bool = False
    unknown: str = attribute(default="", compare=False, repr=False)  # keys that others stored with it, as JSON


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """Partition fields in order; none if the table is not partitioned. `id` is the spec's number in its table."""

    fields: tuple[PartitionField, ...] = ()
    id: int = 0
    unknown: str = attribute(default="", compare=False, repr=False)

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
    """The spec in these texts (`day(ordered_at)`, `bucket(16, id) as part`, `region`).

    A field without a name gets Iceberg's. A field that is in one of the table's earlier specs, `known`, keeps its id;
    as in Iceberg, one with another chosen name is another field. New fields are numbered from `next_field_id`, which
    has to be above every id that the table ever had.
    """
    before = {_identity(one): one for spec in known for one in spec.fields}
    ids = {key: one.field_id for key, one in before.items()}
    fields: list[PartitionField] = []
    for column, chosen in map(parse_named_field, _checked_list(texts)):
        path = find_source(schema, column)
        default = default_name(path, column.transform)
        one = PartitionField(path[-1].id, 0, chosen or default, column.transform, chosen not in (None, default))
        if (key := _identity(one)) not in ids:
            ids[key], next_field_id = next_field_id, next_field_id + 1
        unknown = before[key].unknown if key in before else ""
        fields.append(replace(one, field_id=ids[key], unknown=unknown))
    spec = PartitionSpec(tuple(fields), spec_id)
    check_field_names(spec, schema)
    return spec


def _identity(field: PartitionField) -> tuple[int, Transform, str | None]:
    """What makes two fields of a table's specs one: a name that Iceberg gave follows its column's."""
    return field.source_id, field.transform, field.name if field.is_named else None


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
            advice = f"Rename the column {column.name!r}, or name the field: `{field.transform.name}(…) as other_name`."
            raise Invalid(problem, subject=field.name, found=f"{field.transform} of a column", advice=advice)


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
    """The spec as people write it, with the current names of its columns, and the names that were chosen."""
    return [_field_text(bound) for bound in bound_fields(spec, schema)]


def _field_text(bound: BoundField) -> str:
    term = transform_text(bound.field.transform, tuple(part.name for part in bound.path))
    return named_text(term, bound.field.name if bound.field.is_named else None)


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
    wanted, name = parse_named_field(term)
    for place, bound in enumerate(bound_fields(spec, schema)):
        path = tuple(folded_column(part.name) for part in bound.path)
        is_same = (bound.field.transform, path) == (wanted.transform, tuple(map(folded_column, wanted.path)))
        if is_same and name in (None, bound.field.name):
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
