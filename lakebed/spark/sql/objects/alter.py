"""ALTER TABLE: a change of a table's columns, layout, key, checks, properties or name."""

from collections.abc import Callable
from dataclasses import dataclass

from lakebed.errors import Invalid
from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.names import LakeName
from lakebed.spark.sql.objects.columns import (
    AddColumns,
    ChangeColumns,
    DropColumns,
    RenameColumn,
    add_columns,
    change_columns,
    drop_columns,
    rename_column,
)
from lakebed.spark.sql.objects.names import object_name
from lakebed.spark.sql.objects.partitions import (
    PartitionChange,
    add_missing_partition,
    add_partition,
    change_partition,
    drop_existing_partition,
    drop_partition,
)
from lakebed.spark.sql.objects.storage import (
    SetLocation,
    SetOwner,
    SetSerde,
    set_location,
    set_owner,
    set_serde,
    set_serde_properties,
)
from lakebed.spark.sql.properties import Pairs, properties, property_names
from lakebed.spark.sql.tokens import Word


@dataclass(frozen=True, slots=True)
class RenameTo:
    """Another name; one of a single part stays in its namespace."""

    name: LakeName


@dataclass(frozen=True, slots=True)
class SetProperties:
    """Properties to set; others stay."""

    properties: Pairs


@dataclass(frozen=True, slots=True)
class UnsetProperties:
    """Properties to remove."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangePartitions:
    """A partition field to drop, one to add, or both for a replacement, as terms such as `day(ordered_at)`."""

    dropped: str | None
    added: str | None


@dataclass(frozen=True, slots=True)
class WriteOrderedBy:
    """How the rows of new files are sorted; not at all without terms."""

    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetKey:
    """The columns of the primary key; none to have no key."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DropKeyColumns:
    """Columns that leave the primary key."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AddCheck:
    """A condition that every row has to pass."""

    name: str
    condition: str


@dataclass(frozen=True, slots=True)
class DropCheck:
    """A check to remove."""

    name: str
    if_exists: bool


TableChange = (
    AddColumns
    | DropColumns
    | RenameColumn
    | ChangeColumns
    | RenameTo
    | SetProperties
    | UnsetProperties
    | ChangePartitions
    | WriteOrderedBy
    | SetKey
    | DropKeyColumns
    | AddCheck
    | DropCheck
    | SetLocation
    | SetOwner
    | SetSerde
    | PartitionChange
)


@dataclass(frozen=True, slots=True)
class AlterTable:
    """A change of a table; `word` is its first, which errors point at."""

    table: LakeName
    change: TableChange
    word: Word


def alter_table(cursor: Cursor) -> AlterTable:
    """What follows ALTER TABLE."""
    table, word = cursor.name(), cursor.word
    for keywords, read in _CHANGES.items():
        if word is not None and cursor.take(*keywords):
            change = read(cursor)
            cursor.end()
            return AlterTable(table, change, word)
    raise _unknown_change(cursor)


def property_change(cursor: Cursor) -> SetProperties | UnsetProperties | RenameTo | None:
    """SET or UNSET TBLPROPERTIES, if it comes next."""
    if cursor.take("SET", "TBLPROPERTIES"):
        return SetProperties(properties(cursor))
    return _unset_properties(cursor) if cursor.take("UNSET", "TBLPROPERTIES") else None


def _set_properties(cursor: Cursor) -> SetProperties:
    return SetProperties(properties(cursor))


def _unset_properties(cursor: Cursor) -> UnsetProperties:
    cursor.take("IF", "EXISTS")
    return UnsetProperties(property_names(cursor))


def _rename_to(cursor: Cursor) -> RenameTo:
    return RenameTo(object_name(cursor))


def _add_partition_field(cursor: Cursor) -> ChangePartitions:
    return ChangePartitions(None, _named_term(cursor))


def _drop_partition_field(cursor: Cursor) -> ChangePartitions:
    return ChangePartitions(_term(cursor), None)


def _replace_partition_field(cursor: Cursor) -> ChangePartitions:
    dropped = _term(cursor)
    cursor.expect("WITH")
    return ChangePartitions(dropped, _named_term(cursor))


def _term(cursor: Cursor) -> str:
    """A column, or a transform of one."""
    start = cursor.position
    cursor.chain("a column, or a transform such as day(ordered_at)")
    if cursor.sees("("):
        cursor.inside()
    return cursor.words.part(start, cursor.position).own_text


def _named_term(cursor: Cursor) -> str:
    """The same, with the name of its field behind AS."""
    start = cursor.position
    _term(cursor)
    if cursor.take("AS"):
        cursor.column("a name of one part")
    return cursor.words.part(start, cursor.position).own_text


def _write_ordered_by(cursor: Cursor) -> WriteOrderedBy:
    terms = tuple(item.rest("a column").own_text for item in cursor.items())
    if not terms:
        raise cursor.refused("this statement can't be read", expected="a column")
    return WriteOrderedBy(terms)


def _write_unordered(cursor: Cursor) -> WriteOrderedBy:
    return WriteOrderedBy(())


def _key_columns(cursor: Cursor) -> tuple[str, ...]:
    columns = []
    for item in cursor.items():
        columns.append(".".join(item.chain("a column")))
        item.end("a comma")
    if not columns:
        raise cursor.refused("this statement can't be read", expected="a column")
    return tuple(columns)


def _set_identifier_fields(cursor: Cursor) -> SetKey:
    return SetKey(_key_columns(cursor))


def _drop_identifier_fields(cursor: Cursor) -> DropKeyColumns:
    return DropKeyColumns(_key_columns(cursor))


def _add_primary_key(cursor: Cursor) -> SetKey:
    return SetKey(_key_columns(cursor.inside()))


def _drop_primary_key(cursor: Cursor) -> SetKey:
    cursor.take("IF", "EXISTS")
    return SetKey(())


def _add_constraint(cursor: Cursor) -> AddCheck | SetKey:
    name = cursor.column("its name")
    if cursor.take("PRIMARY", "KEY"):
        return _add_primary_key(cursor)
    if not cursor.take("CHECK"):
        raise cursor.refused("this constraint is not known", expected="CHECK (condition) or PRIMARY KEY (columns)")
    return AddCheck(name, cursor.inside().rest("a condition").own_text)


def _drop_constraint(cursor: Cursor) -> DropCheck:
    if_exists = cursor.take("IF", "EXISTS")
    return DropCheck(cursor.column("its name"), if_exists)


_CHANGES: dict[tuple[str, ...], Callable[[Cursor], TableChange]] = {
    ("ADD", "COLUMN"): add_columns,
    ("ADD", "COLUMNS"): add_columns,
    ("DROP", "COLUMN"): drop_columns,
    ("DROP", "COLUMNS"): drop_columns,
    ("RENAME", "COLUMN"): rename_column,
    ("ALTER", "COLUMN"): change_columns,
    ("CHANGE", "COLUMN"): change_columns,
    ("ALTER",): change_columns,
    ("CHANGE",): change_columns,
    ("RENAME", "TO"): _rename_to,
    ("SET", "TBLPROPERTIES"): _set_properties,
    ("UNSET", "TBLPROPERTIES"): _unset_properties,
    ("SET", "LOCATION"): set_location,
    ("SET", "OWNER", "TO"): set_owner,
    ("OWNER", "TO"): set_owner,
    ("SET", "SERDE"): set_serde,
    ("SET", "SERDEPROPERTIES"): set_serde_properties,
    ("ADD", "PARTITION", "FIELD"): _add_partition_field,
    ("DROP", "PARTITION", "FIELD"): _drop_partition_field,
    ("ADD", "PARTITION"): add_partition,
    ("ADD", "IF", "NOT", "EXISTS", "PARTITION"): add_missing_partition,
    ("DROP", "PARTITION"): drop_partition,
    ("DROP", "IF", "EXISTS", "PARTITION"): drop_existing_partition,
    ("PARTITION",): change_partition,
    ("REPLACE", "PARTITION", "FIELD"): _replace_partition_field,
    ("WRITE", "ORDERED", "BY"): _write_ordered_by,
    ("WRITE", "LOCALLY", "ORDERED", "BY"): _write_ordered_by,
    ("WRITE", "UNORDERED"): _write_unordered,
    ("SET", "IDENTIFIER", "FIELDS"): _set_identifier_fields,
    ("DROP", "IDENTIFIER", "FIELDS"): _drop_identifier_fields,
    ("ADD", "CONSTRAINT"): _add_constraint,
    ("ADD", "PRIMARY", "KEY"): _add_primary_key,
    ("DROP", "CONSTRAINT"): _drop_constraint,
    ("DROP", "PRIMARY", "KEY"): _drop_primary_key,
}

_REFUSED = {
    ("CREATE",): "Branches are of the whole catalog: CREATE BRANCH dev, or catalog.create_branch(…) in Python.",
    ("REPLACE", "BRANCH"): "Branches are of the whole catalog: drop it, and create another with CREATE BRANCH.",
    ("REPLACE", "TAG"): "A tag never moves: drop it, and create another with CREATE TAG.",
    ("DROP", "BRANCH"): "Branches are of the whole catalog: DROP BRANCH dev, or catalog.drop_branch(…) in Python.",
    ("DROP", "TAG"): "Tags are of the whole catalog: DROP TAG q4, or catalog.drop_tag(…) in Python.",
    ("REPLACE", "COLUMNS"): "Drop columns and add others: ALTER TABLE … DROP COLUMN, ADD COLUMN.",
    ("SET", "FILEFORMAT"): "Files are Parquet.",
    ("RECOVER", "PARTITIONS"): "Add each by ALTER TABLE … ADD PARTITION (…) LOCATION '…'.",
    ("WRITE", "DISTRIBUTED"): "Files have rows of one partition each by themselves: WRITE ORDERED BY sorts them.",
    ("CLUSTER", "BY"): "WRITE ORDERED BY sorts the rows of new files, OPTIMIZE those that exist.",
}
"""What to do instead, by the first words of changes that are refused."""


def _unknown_change(cursor: Cursor) -> Invalid:
    advice = next((advice for keywords, advice in _REFUSED.items() if cursor.sees(*keywords)), "")
    expected = None if advice else "ADD, DROP, RENAME or ALTER COLUMN, RENAME TO, SET TBLPROPERTIES, …"
    more = "" if advice else "docs/guide/sql.md has all changes."
    return cursor.refused("ALTER TABLE can't do this", expected=expected, advice=advice or more)
