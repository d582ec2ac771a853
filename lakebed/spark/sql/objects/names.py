"""Names of namespaces, refs and catalogs in a statement, and the moments behind them."""

from dataclasses import dataclass

from lakebed.spark.sql.cursor import Cursor
from lakebed.spark.sql.names import LakeName, Moment, lake_name, moment_behind
from lakebed.spark.sql.tokens import Kind, Word

NAMESPACE = ("NAMESPACE", "DATABASE", "SCHEMA")
"""The words for a namespace."""

NAMESPACES = ("NAMESPACES", "DATABASES", "SCHEMAS")


@dataclass(frozen=True, slots=True)
class RefName:
    """The name of a branch, a tag or a catalog, and its word in the text."""

    text: str
    word: Word


def object_name(cursor: Cursor, expected: str = "a name such as sales.orders") -> LakeName:
    """The name of a table or view, also one of a single part; a moment behind it is left to the caller."""
    word, start = cursor.word, cursor.position
    parts = cursor.chain(expected)
    assert word is not None
    found = lake_name(cursor.words, start, cursor.position)
    return found or LakeName(parts, None, word, cursor.words.words[cursor.position - 1].end)


def is_single(name: LakeName) -> bool:
    """Whether it is written as a single part without a ref, and may be a name of the session's."""
    return name.place is None and name.word.end == name.end


def namespace_name(cursor: Cursor) -> LakeName:
    """The name of a namespace, of any number of parts, which the session's namespace does not precede."""
    word, start = cursor.word, cursor.position
    parts = cursor.chain("a namespace such as sales")
    assert word is not None
    if len(parts) == 1 and "@" not in parts[0]:
        return LakeName(parts, None, word, word.end)
    found = lake_name(cursor.words, start, cursor.position)
    assert found is not None
    return found


def ref_name(cursor: Cursor, expected: str = "the name of a branch or tag") -> RefName:
    """The name of a branch, a tag or a catalog: a word, in backticks if it is not plain, or a text."""
    word = cursor.word
    if word is None or not (word.names or word.kind in (Kind.STRING, Kind.NUMBER)):
        raise cursor.refused("this statement can't be read", expected=expected)
    cursor.position += 1
    if cursor.sees_one("-", "/", ".", "#"):
        raise cursor.refused("this name is not a plain word", expected=expected, advice="Put it in backticks.")
    return RefName(word.text, word)


def catalog_name(cursor: Cursor) -> RefName | None:
    """The catalog behind IN or FROM, if there is one."""
    return ref_name(cursor, "a catalog") if cursor.take("IN") or cursor.take("FROM") else None


def moment(cursor: Cursor) -> Moment | None:
    """`AT 17`, `AT VERSION 17`, `AT TIMESTAMP '…'`, or `[FOR] VERSION | TIMESTAMP AS OF …`, if one comes next."""
    if not cursor.take("AT"):
        found, cursor.position = moment_behind(cursor.words, cursor.position)
        return found
    is_version = cursor.sees_one("VERSION", "COMMIT")
    is_time = cursor.sees("TIMESTAMP")
    cursor.position += is_version or is_time
    word = cursor.word
    if word is None or word.kind not in (Kind.NUMBER, Kind.STRING) or (is_time and word.kind is Kind.NUMBER):
        expected = "such as AT 17, or AT TIMESTAMP '2026-11-01T00:00'"
        raise cursor.refused("this is not a version or a time", expected=expected)
    cursor.position += 1
    if is_time or not (is_version or word.text.isdigit()):
        return Moment(None, word.text, None, word.end)
    return Moment(word.text, None, None, word.end)
