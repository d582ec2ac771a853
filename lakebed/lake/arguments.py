"""Arguments as people give them: flags, moments, schemas, partition terms and paths of columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Generic, TypeGuard, TypeVar, cast

from lakebed.catalog.objects.log import version_back
from lakebed.catalog.objects.properties import is_text
from lakebed.catalog.refs.catalogs import first_version
from lakebed.catalog.refs.shares import Shared, forbidden
from lakebed.catalog.refs.tags import find_tag
from lakebed.catalog.transaction.bound import Bound
from lakebed.catalog.transaction.scopes import Pinned, Scope
from lakebed.catalog.transaction.versions import Moment, find_version
from lakebed.errors import Invalid
from lakebed.lake.engines import arrow_engine, is_of_spark, spark_schema
from lakebed.table.partition.sort_order import SortField, order_texts
from lakebed.table.partition.spec import PartitionField, spec_texts
from lakebed.table.schema.schema import Path, Schema
from lakebed.table.types.nesting import check_nesting
from lakebed.table.types.types import Field, Type

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from lakebed.catalog.tables.tables import TableState
    from lakebed.store import Version

Part = TypeVar("Part", PartitionField, SortField)

SchemaLike = Schema | Mapping[str, str] | Iterable[Field] | object
"""What people give for a schema, or for the rows of a new table."""


@dataclass(frozen=True, slots=True, repr=False)
class Terms(Generic[Part]):
    """A partition spec or sort order: `texts` as people write it, with the names that columns have now.

    It is iterated by its texts, so that it can be given back: `create_table(…, partition_by=orders.spec)`. `id` is its
    number in its table, 0 for none; `fields` are its parts with the ids that files carry.
    """

    id: int
    texts: tuple[str, ...]
    fields: tuple[Part, ...]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def __str__(self) -> str:
        return ", ".join(self.texts)

    def __repr__(self) -> str:
        return f"Terms({', '.join(map(repr, self.texts))})"


def spec_terms(state: "TableState") -> Terms[PartitionField]:
    """The partition spec of a table."""
    return Terms(state.spec.id, tuple(spec_texts(state.spec, state.schema)), state.spec.fields)


def order_terms(state: "TableState") -> Terms[SortField]:
    """The sort order of a table."""
    order = state.sort_order
    return Terms(order.id, tuple(order_texts(order, state.schema)), order.fields)


def as_texts(given: Iterable[str], what: str) -> list[str]:
    """The terms that somebody gives as a list; one text alone is refused, since it is a list of letters."""
    found = _listed(given, what)
    for one in found:
        if not is_text(one):
            raise Invalid(f"{what} is made of texts", expected="a list of texts", found=repr(one))
    return found


def as_paths(given: Iterable[Path], what: str) -> list[Path]:
    """The columns that somebody gives as a list."""
    return [as_path(one) for one in _listed(given, what)]


def as_path(given: Path) -> Path:
    """The path of a column as somebody gives it."""
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else ()
    if not names or not all(map(is_text, names)):
        raise Invalid(
            "this is not the path of a column", expected="dotted text, or a tuple of names", found=repr(given)
        )
    return given if isinstance(given, str) else names


def _listed(given: Any, what: str) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        expected = f"[{given!r}]" if isinstance(given, str) else "a list"
        raise Invalid(f"{what} is given as a list", expected=expected, found=repr(given))
    return list(given)


def check_flag(name: str, value: bool) -> bool:
    """The value; `Invalid` for anything that may only pass for True: a text such as "no", a column's name."""
    if not isinstance(value, bool):
        raise Invalid(f"{name} is True or False", found=repr(value))
    return value


def fixed_moment(
    scope: Scope, pinned: "Version | None", at: Moment | None
) -> tuple["Version | None", str | int | None]:
    """The version that is meant, None for the newest, and how it was asked for, which is the same in a call again."""
    version = pinned if at is None else version_of(scope, at)
    return version, None if version is None else asked_moment(at, version)


def asked_moment(given: Moment | None, found: "Version") -> str | int:
    """A moment as a request has it: as it was given if it is a time or counts commits, else the version."""
    if isinstance(given, date):
        return given.isoformat()
    is_relative = isinstance(given, str) and not given.strip().isdigit()
    return given if is_relative or _counts_back(given) else int(found)  # type: ignore[return-value]


def version_of(
    scope: Scope,
    moment: Moment | None = None,
    *,
    version: "Version | int | str | None" = None,
    time: date | str | None = None,
    table: str | None = None,
) -> "Version":
    """The version that one of the three names; -1 is that before the newest commit, to the line or to a table."""
    back = moment if version is None else version
    if not _counts_back(back) or (moment, version, time).count(None) != 2:
        return find_version(scope.context.metastore, moment, version=version, time=time)
    work = scope.read()
    first = first_version(scope.context, scope.ref.catalog) if table is None else None
    return version_back(work, -cast(int, back), first, table)


def _counts_back(given: object) -> bool:
    return isinstance(given, int) and given < 0


def at_tag(scope: Scope, tag: str) -> Scope:
    """What a tag of the scope's catalog stands for; a share has no tags."""
    if isinstance(scope, Shared):
        raise forbidden("tag")
    return Pinned(scope.context, *find_tag(scope.context, scope.ref, tag))


def may_be_rows(given: object) -> bool:
    """Whether it may be rows, and is not a schema in any form: a mapping of names to lists of values may be."""
    if isinstance(given, Mapping):
        return bool(given) and not any(isinstance(one, _NO_ROWS) or _is_arrow_type(one) for one in given.values())
    is_schema = isinstance(given, Schema) or _is_fields(given) or _is_schema_of_an_engine(given)
    return not is_schema and not isinstance(given, _NO_ROWS)


_NO_ROWS = (str, bytes, int, float, type, Type, type(None))


def schema_of(given: SchemaLike) -> Schema:
    """A schema from a `Schema`, fields, a mapping of names to types, a pyarrow schema or a Spark `StructType`.

    The types of a mapping are names or pyarrow's.
    """
    schema = _given_schema(given)
    check_nesting(schema.fields)  # first: much that follows recurses into types
    return schema


def _given_schema(given: SchemaLike) -> Schema:
    if isinstance(given, Schema):
        return given
    if isinstance(given, Mapping):
        return Schema({name: as_type(f"{name}", type) for name, type in given.items()})
    if _is_fields(given):
        return Schema(given)
    if not _is_schema_of_an_engine(given):
        raise Invalid(
            "this is not a schema",
            expected="a lakebed.Schema, a mapping of names to types, a pyarrow schema or a Spark StructType",
            found=repr(given) if isinstance(given, str) else type(given).__name__,
            advice='For example {"id": "long", "name": "string"}; create_table also takes rows.',
        )
    if is_of_spark(given):
        return spark_schema(cast("StructType", given))
    return arrow_engine().schema_of(given)


def as_type(column: str, given: Any) -> str | Type:
    """The type of a column as somebody gives it: a name or a type, as it is; pyarrow's as ours."""
    return arrow_engine().type_of(column, given) if _is_arrow_type(given) else given


def _is_arrow_type(given: object) -> bool:
    return any((base.__module__, base.__name__) == ("pyarrow.lib", "DataType") for base in type(given).__mro__)


def _is_schema_of_an_engine(given: object) -> bool:
    # By name, since neither engine need be loaded, and neither has to be there.
    return (type(given).__module__.partition(".")[0], type(given).__name__) in _SCHEMAS


_SCHEMAS = {("pyarrow", "Schema"), ("pyspark", "StructType")}


def _is_fields(given: object) -> TypeGuard[Sequence[Field]]:
    return isinstance(given, list | tuple) and all(isinstance(one, Field) for one in given)


def check_not_staged(given: str, call: str, advice: str = "Make the call on a handle of the table.") -> None:
    """Refuse a call that readers of the table would see at once, on a handle of what is staged."""
    if isinstance(given, Bound) and given.cell is not None:
        raise Invalid(f"{call} can't be called on what is staged", subject=f"staged {given.object_id}", advice=advice)
