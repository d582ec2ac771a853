"""Changes of a table's explicit partitions, in Hive's and Spark's words."""

from dataclasses import dataclass

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.tokens import Kind

Values = tuple[tuple[str, str | None], ...]
"""Values of columns as texts, None for null."""

_TYPED = ("DATE", "TIMESTAMP", "TIME")


@dataclass(frozen=True, slots=True)
class AddPartition:
    """An explicit partition to create, with the files of a folder if there is one."""

    values: Values
    location: str | None
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class DropPartition:
    """An explicit partition to drop with its rows."""

    values: Values
    if_exists: bool


@dataclass(frozen=True, slots=True)
class RenamePartition:
    """Other values for an explicit partition."""

    values: Values
    new_values: Values


@dataclass(frozen=True, slots=True)
class MovePartition:
    """Another folder for an explicit partition."""

    values: Values
    location: str


PartitionChange = AddPartition | DropPartition | RenamePartition | MovePartition


def add_partition(cursor: Cursor) -> AddPartition:
    """What follows ADD PARTITION."""
    return _added(cursor, if_not_exists=False)


def add_missing_partition(cursor: Cursor) -> AddPartition:
    """What follows ADD IF NOT EXISTS PARTITION."""
    return _added(cursor, if_not_exists=True)


def drop_partition(cursor: Cursor) -> DropPartition:
    """What follows DROP PARTITION."""
    return DropPartition(partition_values(cursor), if_exists=False)


def drop_existing_partition(cursor: Cursor) -> DropPartition:
    """What follows DROP IF EXISTS PARTITION."""
    return DropPartition(partition_values(cursor), if_exists=True)


def change_partition(cursor: Cursor) -> RenamePartition | MovePartition:
    """What follows PARTITION: RENAME TO PARTITION, or SET LOCATION."""
    values = partition_values(cursor)
    if cursor.take("RENAME", "TO", "PARTITION"):
        return RenamePartition(values, partition_values(cursor))
    if cursor.take("SET", "LOCATION"):
        return MovePartition(values, cursor.string("a folder, as text"))
    raise cursor.refused("a partition can't be changed like this", expected="RENAME TO PARTITION or SET LOCATION")


def partition_values(cursor: Cursor) -> Values:
    """`(dt = '2026-11-01', region = 'eu')`."""
    if not cursor.sees("("):
        raise cursor.refused("this statement can't be read", expected="(column = value, …)")
    found = []
    for item in cursor.inside().items():
        name = item.column()
        item.expect("=")
        found.append((name, _value(item)))
        item.end("a comma")
    return tuple(found)


def _added(cursor: Cursor, *, if_not_exists: bool) -> AddPartition:
    values = partition_values(cursor)
    location = cursor.string("a folder, as text") if cursor.take("LOCATION") else None
    if cursor.sees("PARTITION"):
        raise cursor.refused("a statement adds one partition", advice="Add the next one by a statement of its own.")
    return AddPartition(values, location, if_not_exists)


def _value(item: Cursor) -> str | None:
    if item.take("NULL"):
        return None
    if item.sees_one(*_TYPED):
        item.position += 1
        return item.string("a text")
    word = item.word
    is_plain = word is not None and (word.kind is Kind.NUMBER or word.reads("TRUE", "FALSE"))
    if word is None or not is_plain:
        return _signed(item) if item.sees("-") else item.string("a value such as '2026-11-01', 7, true or NULL")
    item.position += 1
    return word.text


def _signed(item: Cursor) -> str:
    item.expect("-")
    word = item.word
    if word is None or word.kind is not Kind.NUMBER:
        raise item.refused("this statement can't be read", expected="a number")
    item.position += 1
    return f"-{word.text}"
