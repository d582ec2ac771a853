"""Cuts conditions and values from a statement, with the names of its tables changed to `target`, `source` or none."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Self
from uuid import uuid4

from lakebed.spark.rows.where import OUTER
from lakebed.spark.sql.names import LakeName, chains, closing
from lakebed.spark.sql.operands import begins_query
from lakebed.spark.sql.queries import Query, Use, find_inner_uses
from lakebed.spark.sql.tokens import Words, quoted
from lakebed.table.expression.scope import SOURCE
from lakebed.table.expression.statement_text import StatementText
from lakebed.table.types.names import folded_column

Tables = Mapping[tuple[str, ...], str]
"""The names of tables before columns, casefolded, and the names that replace them; "" removes the name."""


def table_names(name: LakeName, alias: str | None, given: str) -> dict[tuple[str, ...], str]:
    """The names of a table before its columns: its alias; without one, its own name and each suffix of it."""
    if alias is not None:
        return {(alias.casefold(),): given}
    parts = tuple(part.casefold() for part in name.parts)
    return {parts[start:]: given for start in range(len(parts))}


def distinct_names(first: Tables, second: Tables) -> dict[tuple[str, ...], str]:
    """The names of two tables; a name that both have stands for neither."""
    both = first.keys() & second.keys()
    return {name: given for name, given in (*first.items(), *second.items()) if name not in both}


@dataclass(frozen=True, slots=True)
class InnerView:
    """A table of the lake that a query inside an expression reads, under a temporary name in the session."""

    name: str
    use: Use
    words: Words


@dataclass(frozen=True, slots=True)
class Cutter:
    """Cuts the expressions of one statement from its text, and notes what the queries inside them read.

    `columns` answers those of the table that is changed. As in Spark, `address.city` is the field of its column
    `address` if the table is called so too and has no column `city`.
    """

    tables: Tables
    columns: Callable[[], frozenset[str]] = frozenset
    views: list[InnerView] = field(default_factory=list)

    @classmethod
    def of(cls, words: Words, table: LakeName, tables: Tables) -> Self:
        """What cuts a statement's expressions over the table that it changes, known by some names."""
        return cls(tables, cache(partial(words.columns, table)))

    def cut(self, words: Words) -> StatementText:
        """The text of an expression with other names before its columns; everything else stays as written."""
        if not words.words:
            raise words.refused("this statement can't be read", None, expected="an expression")
        query = find_inner_uses(words) if any(_inner_ranges(words)) else None
        edits = [*self._renamed_columns(words, query), *self._inner_names(words, query)]
        pieces, position = [], words.start
        for start, end, given in sorted(edits):
            pieces += [words.text[position:start], given]
            position = end
        return StatementText("".join([*pieces, words.text[position : words.end]]), words.own_text)

    def column(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """A column that is set, without the name of its table; a merge's source keeps its name, as it can't be set."""
        folded = tuple(part.casefold() for part in parts)
        for size in range(len(parts) - 1, 0, -1):
            if self.tables.get(folded[:size], SOURCE) != SOURCE:
                return parts if self._is_own_column(parts, size) else parts[size:]
        return parts

    def _is_own_column(self, parts: Sequence[str], size: int) -> bool:
        """Whether a dotted name is a column of the table and a field in it, though it begins like the table's name."""
        known = self.columns()
        return folded_column(parts[size]) not in known and folded_column(parts[0]) in known

    def is_of_source(self, parts: tuple[str, ...]) -> bool:
        """Whether a name begins with that of a merge's source."""
        folded = tuple(part.casefold() for part in parts)
        return any(self.tables.get(folded[:size]) == SOURCE for size in range(1, len(parts)))

    def _renamed_columns(self, words: Words, query: Query | None) -> Iterator[tuple[int, int, str]]:
        """The places where a table of the statement stands before a column, and what replaces it."""
        taken = set() if query is None else {use.name.start for use in query.uses}
        variables = set(_variables(words))
        for begin, end in chains(words):
            parts = [word.text.casefold() for word in words.words[begin:end:2]]
            if parts[0] in variables:
                continue
            is_call = end < len(words.words) and words.words[end].reads("(")
            is_field = begin > 0 and words.words[begin - 1].reads(".", ":")
            if is_call or is_field or words.words[begin].start in taken:
                continue
            for size in range(len(parts) - 1, 0, -1):
                given = self.tables.get(tuple(parts[:size]))
                if given is not None:
                    is_inside = query is not None and _is_inside(words, begin)
                    if given != SOURCE and self._is_own_column(parts, size):
                        if given and not is_inside:  # of a merge's two tables, the one that is changed
                            yield words.words[begin].start, words.words[begin].start, f"{given}."
                        break
                    if query is not None and is_inside:
                        if _is_inner_name(words, begin, given, query):
                            break
                        given = given or OUTER
                    if given == "" and parts[size] in variables:
                        advice = "Rename the function's argument."
                        raise words.refused(
                            "a function's argument has the name of this column", words.words[begin], advice=advice
                        )
                    last = words.words[begin + 2 * size - (0 if given == "" else 2)]
                    yield words.words[begin].start, last.start if given == "" else last.end, given
                    break

    def _inner_names(self, words: Words, query: Query | None) -> Iterator[tuple[int, int, str]]:
        """The places of the lake's names in inner queries, and what replaces them."""
        if query is None:
            return
        for qualifier in query.qualifiers:
            yield qualifier.start, qualifier.end, quoted(qualifier.alias)
        for use in query.uses:
            view = InnerView(f"lakebed_{uuid4().hex}", use, words)
            self.views.append(view)
            replacement = view.name if use.alias is None else f"({view.name} AS {quoted(use.alias)})"
            yield use.name.start, use.name.whole_end, replacement


def _variables(words: Words) -> Iterator[str]:
    """The names of lambdas' arguments: `x` in `x -> x.price`, both in `(x, i) -> x + i`."""
    for number, word in enumerate(words.words):
        position = number - 1
        while word.reads("->") and position >= 0:
            if words.words[position].names:
                yield words.words[position].text.casefold()
            if position == number - 1 and not words.words[position].reads(")"):
                break
            if words.words[position].reads("("):
                break
            position -= 1


def _inner_ranges(words: Words) -> Iterator[tuple[int, int]]:
    """The places of queries in parentheses, by the numbers of their words."""
    for number, word in enumerate(words.words[:-1]):
        ahead = words.words[number + 2] if number + 2 < len(words.words) else None
        if word.reads("(") and begins_query(words.words[number + 1], ahead):
            yield number, closing(words, number)


def _is_inside(words: Words, number: int) -> bool:
    return any(first < number < last for first, last in _inner_ranges(words))


def _is_inner_name(words: Words, begin: int, given: str, query: Query) -> bool:
    """Whether a name before a column of an inner query is that of its own table; `Invalid` if that is not clear."""
    word, own = words.words[begin], query.called
    if word.text.casefold() in own and sum(word.reads("SELECT") for word in words.words) == 1:
        return True
    if word.text.casefold() in own or given in own:
        advice = "Give the inner tables names of their own, or use MERGE INTO … USING (SELECT …)."
        raise words.refused("an inner query can't tell whose column this is", word, advice=advice)
    return False
