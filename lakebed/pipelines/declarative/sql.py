"""A query's rows: the names in it become DataFrames, the rest of its text stays as it is.

`STREAM orders` and `STREAM(orders)` name the new rows of a table. sqlglot does not know them, so that what is around
the name is blank in the text that it gets, and every word stays in its place.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import LakebedError
from lakebed.pipelines.declarative.wanted import Find, Parts, Wanted, WantedStream
from lakebed.spark.fit import quoted
from lakebed.spark.sql.execute import missing_use, run
from lakebed.spark.sql.names import LakeName, chain_end
from lakebed.spark.sql.queries import Use, find_uses
from lakebed.spark.sql.tokens import Words

_BEFORE = ("FROM", "JOIN", ",")


@dataclass(frozen=True, slots=True)
class _Stream:
    """A name behind STREAM: the numbers of its words, of the STREAM, and behind all of it."""

    begin: int
    first: int
    last: int
    end: int


def rows_of_query(spark: SparkSession, words: Words, find: Find) -> DataFrame:
    """The DataFrame of a query. If sqlglot did not find all names, Spark reports the missing ones in turn."""
    streams: dict[int, DataFrame] = {}
    blank: list[int] = []
    for stream in _streams(words):
        name = words.words[stream.first : stream.last : 2]
        found = find(WantedStream(tuple(word.text for word in name)))
        if found is not None:
            streams[name[0].start] = found
            blank += [*range(stream.begin, stream.first), *range(stream.last, stream.end)]
    query = find_uses(_without(words, blank), _blanked(words, blank))
    while True:
        frames = {use: _frame(use, streams, find, words) for use in query.uses}
        own = replace(query, uses=tuple(use for use, frame in frames.items() if frame is not None))
        try:
            return run(spark, own, {use.name.start: frame for use, frame in frames.items() if frame is not None})
        except LakebedError:
            raise
        except Exception as error:
            use = missing_use(spark, error, own)
            if use is None or use in query.uses or _frame(use, streams, find, words) is None:
                raise
            query = replace(query, uses=(*query.uses, use))


def with_whole_names(words: Words, whole: Callable[[Wanted], Parts | None]) -> str:
    """A query's text, in which the names of tables are what `whole` says."""
    text = words.own_text
    for use in sorted(find_uses(words).uses, key=lambda use: use.name.start, reverse=True):
        parts = whole(_wanted(use, words))
        if parts is not None and (use.name.is_relative or parts != use.name.parts):
            first, last = use.name.start - words.start, use.name.end - words.start
            text = text[:first] + ".".join(map(quoted, parts)) + text[last:]
    return text


def _frame(use: Use, streams: dict[int, DataFrame], find: Find, words: Words) -> DataFrame | None:
    if use.name.start in streams:
        return streams[use.name.start]
    return find(_wanted(use, words))


def _wanted(use: Use, words: Words) -> Wanted:
    return Wanted(use.name.parts[-1:] if use.name.is_relative else use.name.parts, _moment(use.name, words))


def _moment(name: LakeName, words: Words) -> str | int | None:
    """The version or the time that a name is read at; other places and spans are not a pipeline's."""
    if name.place is not None or name.span is not None or (name.moment is not None and name.moment.expression):
        raise words.refused(
            "a flow reads tables of the run's branch",
            name.word,
            expected="a name, with VERSION AS OF a number or TIMESTAMP AS OF a text",
        )
    if name.moment is None:
        return None
    if name.moment.version is not None:
        return int(name.moment.version) if name.moment.version.isdigit() else name.moment.version
    return name.moment.time


def _streams(words: Words) -> Iterator[_Stream]:
    for number, word in enumerate(words.words[:-1]):
        if not word.reads("STREAM") or number == 0 or not words.words[number - 1].reads(*_BEFORE):
            continue
        is_inside = words.words[number + 1].reads("(")
        first = number + 2 if is_inside else number + 1
        if first >= len(words.words) or not words.words[first].names:
            continue
        last = chain_end(words, first)
        if not is_inside:
            yield _Stream(number, first, last, last)
        elif last < len(words.words) and words.words[last].reads(")"):
            yield _Stream(number, first, last, last + 1)


def _without(words: Words, numbers: list[int]) -> Words:
    return replace(words, words=tuple(word for number, word in enumerate(words.words) if number not in numbers))


def _blanked(words: Words, numbers: list[int]) -> str:
    text = words.only()
    for word in (words.words[number] for number in numbers):
        text = text[: word.start] + " " * (word.end - word.start) + text[word.end :]
    return text
