"""Changes of how a table is stored, where a namespace puts its tables, and who owns them."""

from dataclasses import dataclass

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.properties import Pairs, properties
from lakebed.spark.sql.tokens import Kind


@dataclass(frozen=True, slots=True)
class SetLocation:
    """The folder of new files, or of new tables."""

    location: str


@dataclass(frozen=True, slots=True)
class SetOwner:
    """The name of the owner."""

    owner: str


@dataclass(frozen=True, slots=True)
class SetSerde:
    """Hive's class for the rows of files, and the storage's properties; None stays."""

    serde: str | None
    properties: Pairs | None


def set_location(cursor: Cursor) -> SetLocation:
    """What follows SET LOCATION."""
    return SetLocation(cursor.string())


def set_owner(cursor: Cursor) -> SetOwner:
    """What follows OWNER TO."""
    return SetOwner(owner_name(cursor))


def owner_name(cursor: Cursor) -> str:
    """A text, or a name of one part."""
    is_text = cursor.word is not None and cursor.word.kind is Kind.STRING
    return cursor.string() if is_text else cursor.column("the name of the owner")


def set_serde(cursor: Cursor) -> SetSerde:
    """What follows SET SERDE."""
    serde = cursor.string("the name of a class, as text")
    return SetSerde(serde, properties(cursor) if cursor.take("WITH", "SERDEPROPERTIES") else None)


def set_serde_properties(cursor: Cursor) -> SetSerde:
    """What follows SET SERDEPROPERTIES."""
    return SetSerde(None, properties(cursor))
