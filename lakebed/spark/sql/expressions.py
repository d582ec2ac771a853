"""Conditions and values, cut from a statement, with the names of its tables changed to those that calls take."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from uuid import uuid4

from lakebed.spark.sql.cursor import QUERY
from lakebed.spark.sql.names import LakeName, chains, closing
from lakebed.spark.sql.queries import Query, Use, find_inner_uses
from lakebed.spark.sql.tokens import Words, quoted
from lakebed.table.expression.scope import SOURCE

Tables = Mapping[tuple[str, ...], str]
"""The names that tables have before columns, without case, and those that they get; "" takes the name away."""


def tables_named(name: LakeName, alias: str | None, given: str) -> dict[tuple[str, ...], str]:
    """What a table may be called before its columns: its alias, or the end of its name if it has none."""
    if alias is not None:
        return {(alias.casefold(),): given}
    parts = tuple(one.casefold() for one in name.parts)
    return {parts[start:]: given for start in range(len(parts))}


def told_apart(first: Tables, second: Tables) -> dict[tuple[str, ...], str]:
    """The names of two tables; one that both have stands for neither."""
    both = first.keys() & second.keys()
    return {name: given for name, given in (*first.items(), *second.items()) if name not in both}


@dataclass(frozen=True, slots=True)
class InnerView:
    """A table of the lake that a query inside an expression reads: it gets this name in the session for a while."""

    name: str
    use: Use
    words: Words


@dataclass(frozen=True, slots=True)
class Cutter:
    """Cuts the expressions of one statement from its text, and notes what the queries inside them read."""

    tables: Tables
    views: list[InnerView] = field(default_factory=list)

    def cut(self, words: Words) -> str:
        """The text of an expression with other names before its columns; all else stays as it was written."""
        if not words.words:
            raise words.refused("this statement can't be read", None, expected="an expression")
        query = find_inner_uses(words) if any(_inner_ranges(words)) else None
        edits = [*self._renamed(words, query), *self._inner(words, query)]
        pieces, position = [], words.start
        for start, end, given in sorted(edits):
            pieces += [words.text[position:start], given]
            position = end
        return "".join([*pieces, words.text[position : words.end]])

    def column(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """A column that is set, without the name of its table; one of a merge's source can't be, and keeps it."""
        for size in range(len(parts) - 1, 0, -1):
            if self.tables.get(tuple(one.casefold() for one in parts[:size]), SOURCE) != SOURCE:
                return parts[size:]
        return parts

    def _renamed(self, words: Words, query: Query | None) -> Iterator[tuple[int, int, str]]:
        """Where a table of the statement is named before a column."""
        taken = set() if query is None else {use.name.start for use in query.uses}
        variables = set(_variables(words))
        for begin, end in chains(words):
            parts = [one.text.casefold() for one in words.words[begin:end:2]]
            if parts[0] in variables:
                continue
            is_call = end < len(words.words) and words.words[end].reads("(")
            is_field = begin > 0 and words.words[begin - 1].reads(".", ":")
            if is_call or is_field or words.words[begin].start in taken:
                continue
            for size in range(len(parts) - 1, 0, -1):
                given = self.tables.get(tuple(parts[:size]))
                if given is not None:
                    _check_visible(words, begin, given, query)
                    if given == "" and parts[size] in variables:
                        advice = "Call the function's argument otherwise."
                        raise words.refused(
                            "a function's argument has the name of this column", words.words[begin], advice=advice
                        )
                    last = words.words[begin + 2 * size - (0 if given == "" else 2)]
                    yield words.words[begin].start, last.start if given == "" else last.end, given
                    break

    def _inner(self, words: Words, query: Query | None) -> Iterator[tuple[int, int, str]]:
        """What stands for the lake's names in queries inside."""
        if query is None:
            return
        for one in query.qualifiers:
            yield one.start, one.end, quoted(one.alias)
        for use in query.uses:
            view = InnerView(f"lakebed_{uuid4().hex}", use, words)
            self.views.append(view)
            written = view.name if use.alias is None else f"({view.name} AS {quoted(use.alias)})"
            yield use.name.start, use.name.whole_end, written


def _variables(words: Words) -> Iterator[str]:
    """What lambdas call their arguments: `x` in `x -> x.price`, both in `(x, i) -> x + i`."""
    for number, one in enumerate(words.words):
        position = number - 1
        while one.reads("->") and position >= 0:
            if words.words[position].names:
                yield words.words[position].text.casefold()
            if position == number - 1 and not words.words[position].reads(")"):
                break
            if words.words[position].reads("("):
                break
            position -= 1


def _inner_ranges(words: Words) -> Iterator[tuple[int, int]]:
    """Where queries stand in parentheses, by the numbers of their words."""
    for number, one in enumerate(words.words[:-1]):
        if one.reads("(") and words.words[number + 1].reads(*QUERY):
            yield number, closing(words, number)


def _check_visible(words: Words, begin: int, given: str, query: Query | None) -> None:
    """Refuse, in a query inside, a name before a column that may be another table's there, or has no name outside."""
    if query is None or not any(first < begin < last for first, last in _inner_ranges(words)):
        return
    word = words.words[begin]
    if given == "" or word.text.casefold() in query.called:
        advice = "Give the tables inside names of their own, or use MERGE INTO … USING (SELECT …)."
        raise words.refused("a query inside can't say whose column this is", word, advice=advice)
