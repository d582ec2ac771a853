"""Properties in a statement: `('write.inline-bytes' = '0', owner = 'ada')`."""

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.tokens import Words

Pairs = tuple[tuple[str, str], ...]


def properties(cursor: Cursor) -> Pairs:
    """The names and values of properties in parentheses."""
    return tuple(_pair(item) for item in cursor.inside().items())


def property_names(cursor: Cursor) -> tuple[str, ...]:
    """The names of properties in parentheses."""
    found = []
    for item in cursor.inside().items():
        found.append(_name(item))
        item.end("a comma")
    return tuple(found)


def _pair(item: Cursor) -> tuple[str, str]:
    key = _name(item)
    item.take("=")
    value: Words = item.rest("a value")
    if len(value.words) != 1:
        raise value.refused("a property has one value", value.words[1], expected="such as 'write.inline-bytes' = '0'")
    return key, value.words[0].text


def _name(item: Cursor) -> str:
    is_name = item.word is not None and item.word.names
    return ".".join(item.chain("a property")) if is_name else item.string("a property")
