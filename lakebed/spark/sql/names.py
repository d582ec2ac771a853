"""Names of the lake's objects in a text, with the moment that they are read at, or the span of their changes.

    name   = sales.items | sales.items@dev | other@main.sales.items | other.sales.items | __files
    moment = [FOR] (VERSION | SYSTEM_VERSION) AS OF (17 | 'tag or branch') | [FOR] (TIMESTAMP | SYSTEM_TIME) AS OF time
    span   = CHANGES FROM bound [TO bound] [WITH (option = value, …)]
    bound  = (VERSION 17 | TIMESTAMP time) [INCLUSIVE | EXCLUSIVE]

A time is text in ISO 8601, or an expression that Spark evaluates.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from lakebed.catalog.inspect.registry import is_system_table
from lakebed.errors import Invalid
from lakebed.spark.sql.tokens import Kind, Word, Words
from lakebed.spark.variables import verbatim

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TYPED = ("TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "DATE")
_OPERATORS = ("+", "-", "*", "/", "::", "||")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Moment:
    """The version or time behind a name that it is read at."""

    version: str | None
    """A version's number or a tag's name."""
    time: str | None
    """A time as text, in ISO 8601."""
    expression: str | None
    """SQL that evaluates to a time."""
    end: int


@dataclass(frozen=True, slots=True)
class Bound:
    """Where a span of changes begins or ends: whether what is at that moment belongs to it."""

    moment: Moment
    is_inclusive: bool = True


@dataclass(frozen=True, slots=True)
class Span:
    """The changes behind a name that are read instead of its rows; without a stop up to now."""

    start: Bound
    stop: Bound | None
    options: tuple[tuple[str, str], ...]
    """By their names in lower case."""
    end: int


@dataclass(frozen=True, slots=True)
class LakeName:
    """A name and its place in the text. `place` is what opens its catalog, None for the default catalog.

    A place that begins with @ is a ref of the default catalog.
    """

    parts: tuple[str, ...]
    place: str | None
    word: Word
    """The first of its words, which errors point at."""
    end: int
    moment: Moment | None = None
    is_relative: bool = False
    """Whether it is one part, in the session's namespace: a temporary view or common table expression comes first."""
    span: Span | None = None

    @property
    def start(self) -> int:
        return self.word.start

    @property
    def whole_end(self) -> int:
        """Where the name with its moment or span ends."""
        behind = self.moment or self.span
        return self.end if behind is None else behind.end

    @property
    def spelled(self) -> str:
        """The name as a message shows it."""
        own = ".".join(self.parts)
        place = self.place or ""
        return f"{own}{place}" if not place or place.startswith("@") else f"{place}.{own}"


def chain_end(words: Words, begin: int) -> int:
    """The number of the first word behind the dotted name that begins at a word."""
    position = begin + 1
    while position + 1 < len(words.words) and words.words[position].reads("."):
        if not words.words[position + 1].names:
            break
        position += 2
    return position


def chains(words: Words) -> list[tuple[int, int]]:
    """All dotted names, as the numbers of the first word and of the word behind the last."""
    found, position = [], 0
    while position < len(words.words):
        if not words.words[position].names:
            position += 1
            continue
        end = chain_end(words, position)
        found.append((position, end))
        position = end
    return found


def lake_name(words: Words, begin: int, end: int, moment: Moment | None = None) -> LakeName | None:
    """A dotted name as a name of the lake; None for one of Spark's, with a single part and without a ref.

    With a namespace of the session, a single part is a name in that, also if it has a ref.
    """
    first, parts = words.words[begin], tuple(word.text for word in words.words[begin:end:2])
    place: str | None = None
    if len(parts) > 1 and "@" in parts[0]:
        place, parts = parts[0], parts[1:]
    if "@" in parts[-1]:
        if place is not None:
            raise words.refused(
                "a name has two refs", words.words[end - 1], expected="one ref, behind the catalog or the table"
            )
        own, _, ref = parts[-1].partition("@")
        place, parts = f"@{ref}", (*parts[:-1], own)
    if any("@" in part for part in parts) or "" in parts or (place is not None and place.endswith("@")):
        raise words.refused("a ref stands in the middle of a name", first, expected="such as sales.items@dev")
    opened = parts[0].casefold()
    is_database = len(parts) == 2 and place is None and opened in words.databases
    if len(parts) > 1 and opened in words.catalogs and not is_database and (place is None or place.startswith("@")):
        catalog = words.catalogs[opened]
        place = place if catalog is None else f"{catalog}{place or ''}"
        return LakeName(parts[1:], place, first, words.words[end - 1].end, moment)
    if place is None and len(parts) < 2:
        if is_system_table(parts[0]):
            return LakeName(parts, None, first, words.words[end - 1].end, moment, is_relative=True)
        if words.namespace is None:
            return None
        return LakeName((*words.namespace, *parts), None, first, words.words[end - 1].end, moment, is_relative=True)
    if len(parts) == 1 and place is not None and place.startswith("@"):
        parts = (*(words.namespace or ()), *parts)
    return LakeName(parts, place, first, words.words[end - 1].end, moment)


def first_parts(words: Words) -> set[str]:
    """The first parts of dotted names that may be catalogs, casefolded."""
    found = (words.words[begin].text for begin, end in chains(words) if end - begin > 2)
    return {text.casefold() for text in found if "@" not in text}


def moment_behind(words: Words, begin: int) -> tuple[Moment | None, int]:
    """The moment that begins at a word, and the number of the first word behind it."""
    position = begin + 1 if _reads(words, begin, "FOR") else begin
    if not (_reads(words, position + 1, "AS") and _reads(words, position + 2, "OF")):
        return None, begin
    if _reads(words, position, "VERSION", "SYSTEM_VERSION"):
        return _version(words, position + 3)
    if _reads(words, position, "TIMESTAMP", "SYSTEM_TIME"):
        return _time(words, position + 3)
    return None, begin


def span_behind(words: Words, begin: int) -> tuple[Span | None, int]:
    """The span of changes that begins at a word, and the number of the first word behind it."""
    if not (_reads(words, begin, "CHANGES") and _reads(words, begin + 1, "FROM")):
        return None, begin
    start, position = _bound(words, begin + 2)
    if start is None:  # an alias, or a column of this name
        return None, begin
    stop = None
    if _reads(words, position, "TO"):
        stop, position = _bound(words, position + 1)
        if stop is None or (stop.moment.version is None) != (start.moment.version is None):
            at = words.words[position] if position < len(words.words) else None
            raise words.refused(
                "both ends of changes are versions, or both are times", at, expected="TO VERSION 20, or TO TIMESTAMP …"
            )
    options, end = _options(words, position)
    return Span(start, stop, options, words.words[end - 1].end), end


def _bound(words: Words, position: int) -> tuple[Bound | None, int]:
    behind = words.words[position + 1] if position + 1 < len(words.words) else None
    if _reads(words, position, "VERSION", "SYSTEM_VERSION") and behind and behind.kind in (Kind.NUMBER, Kind.STRING):
        moment, end = _version(words, position + 1)
    elif _reads(words, position, "TIMESTAMP", "SYSTEM_TIME") and _expression_end(words, position + 1) is not None:
        moment, end = _time(words, position + 1)
    else:
        return None, position
    is_named = _reads(words, end, "INCLUSIVE", "EXCLUSIVE")
    return Bound(moment, not _reads(words, end, "EXCLUSIVE")), end + is_named


def _options(words: Words, position: int) -> tuple[tuple[tuple[str, str], ...], int]:
    """`WITH (deduplicationMode = 'netChanges', computeUpdates = true)`, if it comes next."""
    if not (_reads(words, position, "WITH") and _reads(words, position + 1, "(")):
        return (), position
    end = closing(words, position + 1)
    own = [word for word in words.words[position + 2 : end] if not word.reads("=", ",")]
    if len(own) % 2:
        raise words.refused("an option has a name and a value", words.words[position], expected="name = 'value'")
    pairs = zip(own[::2], own[1::2], strict=True)
    return tuple((name.text.lower(), value.text) for name, value in pairs), end + 1


def time_of(spark: "SparkSession", expression: str) -> datetime:
    """The instant that an expression evaluates to now, by Spark's rules and in the session's zone."""
    try:
        text = verbatim(spark, f"SELECT unix_micros(CAST({expression} AS TIMESTAMP))")
        (row,) = spark.sql(text).collect()
    except PySparkException as error:
        raise Invalid("this is not a time", subject=expression[:80], expected="an expression of constants") from error
    if row[0] is None:
        raise Invalid("this is not a time", subject=expression[:80], found="null")
    return _EPOCH + timedelta(microseconds=row[0])


def closing(words: Words, opening: int) -> int:
    """The number of the closing parenthesis for an opening one."""
    depth = 0
    for position in range(opening, len(words.words)):
        depth += words.words[position].reads("(") - words.words[position].reads(")")
        if depth == 0:
            return position
    raise words.refused("a parenthesis is not closed", words.words[opening])


def _reads(words: Words, position: int, *keywords: str) -> bool:
    return position < len(words.words) and words.words[position].reads(*keywords)


def _version(words: Words, position: int) -> tuple[Moment, int]:
    word = words.words[position] if position < len(words.words) else None
    if word is None or word.kind not in (Kind.NUMBER, Kind.STRING):
        raise words.refused("a version is a number, or a tag's name as text", word, expected="such as 17 or 'q4'")
    return Moment(word.text, None, None, word.end), position + 1


def _time(words: Words, position: int) -> tuple[Moment, int]:
    """A text, `TIMESTAMP '…'`, `current_timestamp()` or any expression in parentheses."""
    word = words.words[position] if position < len(words.words) else None
    end = _expression_end(words, position)
    if word is None or end is None:
        raise words.refused("this is not a time", word, expected="such as '2026-11-01T00:00', or an expression in ()")
    if _reads(words, end, *_OPERATORS):
        raise words.refused("a computed time needs parentheses", words.words[end], expected="(…)")
    if end == position + 1 and word.kind is Kind.STRING:
        return Moment(None, word.text, None, word.end), end
    part = words.part(position, end)
    return Moment(None, None, part.own_text, part.end), end


def _expression_end(words: Words, position: int) -> int | None:
    here = words.words[position : position + 2]
    if not here:
        return None
    if here[0].kind is Kind.STRING:
        return position + 1
    if len(here) == 2 and here[0].reads(*_TYPED) and here[1].kind is Kind.STRING:
        return position + 2
    if here[0].reads("("):
        return closing(words, position) + 1
    if here[0].names and len(here) == 2 and here[1].reads("("):
        return closing(words, position + 1) + 1
    return None
