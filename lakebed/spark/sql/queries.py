"""The places where a query names objects of the lake, found by sqlglot; the query itself stays as written."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakebed.errors import Invalid
from lakebed.spark.sql.conjuncts import conjuncts
from lakebed.spark.sql.names import (
    LakeName,
    Moment,
    Span,
    chain_end,
    chains,
    closing,
    lake_name,
    moment_behind,
    span_behind,
)
from lakebed.spark.sql.tokens import Word, Words, words_of
from lakebed.table.filter.condition import Condition

if TYPE_CHECKING:
    from sqlglot import expressions as nodes
    from sqlglot.expressions import Expr as Node

_BEFORE_QUERY = ("(", ")", "UNION", "EXCEPT", "INTERSECT", "MINUS", "ALL", "DISTINCT", "AS")

_STEP = "__tmp"
"""How sqlglot begins the names that it gives to the queries before a |>."""

_Moments = Mapping[int, tuple[Moment | Span, int]]
"""Moments and spans by the numbers of their first words, each with the number of the first word behind it."""
_WholeName = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """A table or view that a query reads. `alias` is its name in the query, None where only a name may stand.

    All of its rows that matter pass the `conditions`, which are in the order of the text.
    """

    name: LakeName
    alias: str | None
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Qualifier:
    """The place of a table's whole name before a column, and the alias that replaces it."""

    start: int
    end: int
    alias: str


@dataclass(frozen=True, slots=True)
class Replacement:
    """A piece of a query's text, and the SQL that replaces it."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Star:
    """A star, where a list of columns that it leaves out goes, and the lake's tables whose columns it stands for.

    `tables` are the places of their names, and their names in the query. `left_out` are the columns that the query
    itself leaves out, casefolded; None if it has no list of them.
    """

    place: int
    tables: tuple[tuple[int, str], ...]
    left_out: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Query:
    """A query: its text, with blanks for what is around it, and what of it is the lake's.

    `suspects` are dotted names that may be the lake's, but are mostly columns. In a query that sqlglot can't read, all
    names are suspects except names with a ref or a moment.
    """

    words: Words
    text: str
    uses: tuple[Use, ...]
    qualifiers: tuple[Qualifier, ...] = ()
    suspects: tuple[LakeName, ...] = ()
    called: frozenset[str] = frozenset()
    """The names of its tables and queries in it, casefolded."""
    replacements: tuple[Replacement, ...] = ()
    stars: tuple[Star, ...] = ()
    is_understood: bool = True
    """Whether sqlglot could read it, so that `uses` are all."""


def find_uses(words: Words, text: str | None = None) -> Query:
    """A query, and what it reads from the lake."""
    _check_written_out(words)
    moments = _moments(words)
    written = words.only() if text is None else text
    try:
        tree = _tree(words, moments)
    except Invalid:
        uses = list(_plain_uses(words, moments))
        suspects = tuple(_suspects(words, uses, set()))
        return Query(words, written, tuple(uses), suspects=suspects, is_understood=False)
    return _query(words, written, moments, tree)


def find_inner_uses(expression: Words) -> Query:
    """The queries inside an expression, and what they read from the lake; `Invalid` if sqlglot can't tell."""
    _check_written_out(expression)
    head = words_of("SELECT").words
    words = Words(expression.text, (*head, *expression.words), expression.after, expression.namespace)
    moments = _moments(words)
    try:
        tree = _tree(words, moments)
    except Invalid as error:
        problem = "a query inside this expression can't be read"
        raise expression.refused(problem, expression.words[0], advice="Put it into USING of a MERGE.") from error
    return _query(words, expression.text, moments, tree)


def name_at(words: Words, start: int) -> Use | None:
    """The name at a place in the text, if it may be one of the lake's."""
    numbers = {word.start: number for number, word in enumerate(words.words) if word.names}
    return _use(words, numbers[start], {}) if start in numbers else None


def _query(words: Words, text: str, moments: _Moments, tree: "Node") -> Query:
    uses = sorted(_uses(words, tree, moments), key=lambda use: use.name.start)
    aliases = _aliases(tree)
    names = _names_by_alias(tree)
    qualifiers = tuple(_qualifiers(words, uses, aliases, names))
    suspects, called = tuple(_suspects(words, uses, aliases)), frozenset(names) - {""}
    return Query(words, text, tuple(uses), qualifiers, suspects, called, stars=tuple(_stars(words, uses, tree)))


def _check_written_out(words: Words) -> None:
    for number, word in enumerate(words.words[:-1]):
        if word.reads("IDENTIFIER") and words.words[number + 1].reads("("):
            problem = "a computed name can't be found in the lake"
            raise words.refused(problem, word, expected="the name itself")


def _moments(words: Words) -> _Moments:
    found: dict[int, tuple[Moment | Span, int]] = {}
    for _, end in chains(words):
        for look in (moment_behind, span_behind):
            moment, behind = look(words, end)
            if moment is not None:
                found[end] = moment, behind
    return found


def _tree(words: Words, moments: _Moments) -> "Node":
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError

    try:
        trees = Spark().parser().parse(list(_tokens(words, moments)), words.text)
    except (SqlglotError, RecursionError) as error:
        raise Invalid("sqlglot can't read this query") from error
    if len(trees) != 1 or trees[0] is None or trees[0].key == "command":
        raise Invalid("sqlglot can't read this query")
    return trees[0]


def _tokens(words: Words, moments: _Moments) -> Iterator[Any]:
    """The tokens without moments, and `TABLE t` as `SELECT * FROM t`, since sqlglot does not know it."""
    skipped = 0
    for number, word in enumerate(words.words):
        if number in moments:
            skipped = moments[number][1]
        if number < skipped:
            continue
        if _stands_for_query(words, number):
            yield from _select_all(word)
        else:
            yield from word.tokens


def _stands_for_query(words: Words, number: int) -> bool:
    named = number + 1 < len(words.words) and words.words[number + 1].names
    first = number == 0 or words.words[number - 1].reads(*_BEFORE_QUERY)
    return named and first and words.words[number].reads("TABLE")


def _select_all(word: Word) -> Iterator[Any]:
    from sqlglot.tokenizer_core import TokenType

    token = word.tokens[0]
    for kind, text in ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM")):
        yield type(token)(kind, text, token.line, token.col, token.start, token.end)


def _uses(words: Words, tree: "Node", moments: _Moments) -> Iterator[Use]:
    numbers = {word.start: number for number, word in enumerate(words.words)}
    for table in _tables(tree):
        if table.name.startswith(_STEP):
            continue
        begin = numbers[table.parts[0].meta["start"]]
        use = _use(words, begin, moments)
        if use is not None and not (use.name.is_relative and _is_common(table)):
            yield Use(use.name, use.alias, tuple(conjuncts(words, table)))


def _tables(tree: "Node") -> Iterator["nodes.Table"]:
    from sqlglot import expressions as nodes

    for table in tree.find_all(nodes.Table):
        hinted = table.find_ancestor(nodes.Hint, nodes.JoinHint)
        if hinted is None and all(isinstance(part, nodes.Identifier) for part in table.parts):
            yield table


def _is_common(table: "nodes.Table") -> bool:
    """Whether a common table expression has the table's name there: in a WITH, only those before its own are seen."""
    from sqlglot import expressions as nodes

    node: Node = table
    while node.parent is not None:
        inner, node = node, node.parent
        named = node if isinstance(node, nodes.With) else node.args.get("with_")
        if named is None or named is inner:
            continue
        for common in named.expressions:
            if common is inner and not named.args.get("recursive"):
                break
            if common.alias.casefold() == table.name.casefold():
                return True
    return False


def _use(words: Words, begin: int, moments: _Moments) -> Use | None:
    end = chain_end(words, begin)
    behind = moments.get(end, (None,))[0]
    name = lake_name(words, begin, end, behind if isinstance(behind, Moment) else None)
    if name is None:
        return None
    if isinstance(behind, Span):
        name = replace(name, span=behind)
    return Use(name, None if _is_only_named(words, begin) else name.parts[-1])


def _is_only_named(words: Words, begin: int) -> bool:
    """Whether only a name may stand there: `TABLE t`, `TABLE(t)`."""
    before = words.words[max(0, begin - 2) : begin]
    return bool(before) and (before[-1].reads("TABLE") or (before[-1].reads("(") and before[0].reads("TABLE")))


def _plain_uses(words: Words, moments: _Moments) -> Iterator[Use]:
    """The names that can only be the lake's."""
    for begin, end in chains(words):
        use = _use(words, begin, moments)
        if use is not None and (end in moments or use.name.place is not None):
            yield use


def _qualifiers(
    words: Words, uses: list[Use], aliases: set[str], names: Mapping[str, set[_WholeName]]
) -> Iterator[Qualifier]:
    """The whole names of tables before columns; `Invalid` if an alias that would replace one is another table's too."""
    taken = {use.name.start for use in uses}
    whole = {name: (use.alias, written) for use in uses if use.alias for name, written in _whole_names(words, use)}
    for begin, end in chains(words):
        parts = tuple(word.text.casefold() for word in words.words[begin:end:2])
        if words.words[begin].start in taken or parts[0] in aliases:
            continue
        starred = end + 1 < len(words.words) and words.words[end].reads(".") and words.words[end + 1].reads("*")
        for size in range(len(parts) if starred else len(parts) - 1, 1, -1):
            if parts[:size] in whole:
                alias, written = whole[parts[:size]]
                if names[alias.casefold()] - {written}:
                    advice = "Give each table an alias, and use it before the columns."
                    raise words.refused(
                        "another table of the query has the same name", words.words[begin], advice=advice
                    )
                yield Qualifier(words.words[begin].start, words.words[begin + 2 * size - 2].end, alias)
                break


def _aliases(tree: "Node") -> set[str]:
    """The aliases of tables and queries in the query."""
    from sqlglot import expressions as nodes

    return {node.alias.casefold() for node in tree.find_all(nodes.Table, nodes.Subquery, nodes.CTE) if node.alias}


def _names_by_alias(tree: "Node") -> dict[str, set[_WholeName]]:
    """The whole names of tables and queries by their names in the query; a query's whole name is empty."""
    from sqlglot import expressions as nodes

    found = defaultdict(set)
    for node in tree.find_all(nodes.Table, nodes.Subquery, nodes.CTE):
        whole = tuple(part.name.casefold() for part in node.parts) if isinstance(node, nodes.Table) else ()
        found[(node.alias or node.name.partition("@")[0]).casefold()].add(whole)
    return found


def _stars(words: Words, uses: list[Use], tree: "Node") -> Iterator[Star]:
    """The stars that stand for columns of the lake's tables."""
    from sqlglot import expressions as nodes

    names = {use.name.start: use.alias for use in uses if use.alias is not None}
    numbers = {word.start: number for number, word in enumerate(words.words)}
    for star in tree.find_all(nodes.Star):
        select = star.find_ancestor(nodes.Select)
        if select is None or "start" not in star.meta or isinstance(star.parent, nodes.Count):
            continue
        owner = star.parent.text("table").casefold() if isinstance(star.parent, nodes.Column) else None
        tables = [(start, alias) for start, alias in _tables_of(select, names) if owner in (None, alias.casefold())]
        if tables:
            yield _star(words, numbers[star.meta["start"]], tuple(tables))


def _tables_of(select: "nodes.Select", names: Mapping[int, str]) -> Iterator[tuple[int, str]]:
    """The lake's tables that a query names directly, and how it calls them."""
    from sqlglot import expressions as nodes

    sources = [select.args.get("from_"), *(select.args.get("joins") or ())]
    for source in sources:
        table = None if source is None else source.this
        if isinstance(table, nodes.Table):
            start = table.parts[0].meta.get("start", -1)
            if start in names:
                yield start, table.alias or names[start]


def _star(words: Words, number: int, tables: tuple[tuple[int, str], ...]) -> Star:
    after = words.words[number + 1 : number + 3]
    if len(after) < 2 or not (after[0].reads("EXCEPT") and after[1].reads("(")):
        return Star(words.words[number].end, tables, None)
    listed = words.words[number + 3 : closing(words, number + 2)]
    return Star(after[1].end, tables, frozenset(word.text.casefold() for word in listed if word.names))


def _suspects(words: Words, uses: list[Use], aliases: set[str]) -> Iterator[LakeName]:
    """Dotted names that are neither a use nor a call, and don't begin with a name of the query's own."""
    taken = {use.name.start for use in uses}
    called = aliases | {use.alias.casefold() for use in uses if use.alias is not None}
    for begin, end in chains(words):
        word = words.words[begin]
        is_call = end < len(words.words) and words.words[end].reads("(")
        if word.start in taken or is_call or word.text.casefold() in called:
            continue
        if any("@" in part.text for part in words.words[begin:end]):
            continue  # no name of Spark's has it
        name = lake_name(words, begin, end)
        if name is not None and not name.is_relative:
            yield name


def _whole_names(words: Words, use: Use) -> Iterator[tuple[_WholeName, _WholeName]]:
    """The names that a table may have before a column, each with its name as it is written: with its namespace too."""
    begin = words.words.index(use.name.word)
    written = tuple(word.text.casefold() for word in words.words[begin : chain_end(words, begin) : 2])
    yield written, written
    if use.name.is_relative:
        yield tuple(part.casefold() for part in use.name.parts), written
