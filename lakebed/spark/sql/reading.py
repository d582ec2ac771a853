"""What Spark's own parser finds in a query: the tables that it reads, and the functions that it calls.

The query of a view is judged by this, since it has to be read as Spark will read it. A session of Spark Connect has no
parser in this process: there the tokens and sqlglot's tree have to do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed.caches import Recent
from lakebed.errors import Invalid
from lakebed.spark.session import is_remote
from lakebed.spark.sql.marks import has_parser, parser_of
from lakebed.table.sql.tree import short

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUERY = "StatementDefaultContext"
"""How Spark calls a statement that is a query."""

_FUNCTIONS = ("//functionName", "//lateralView/qualifiedName")
_TABLES = ("//identifierReference",)
_COMMON = ("//namedQuery/errorCapturingIdentifier",)
_OTHERS = {"transformClause": "a program", "streamRelationPrimary": "a stream"}
"""Rules that a query of a view may not have, and what they are; not all are in every version of Spark's grammar."""


@dataclass(frozen=True, slots=True)
class Named:
    """A name as the query spells it, without blanks and comments, and where it begins."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What a query does by its names; `others` are what it does besides."""

    is_query: bool
    functions: tuple[Named, ...]
    tables: tuple[Named, ...]
    common: frozenset[str]
    """The names of its common table expressions, casefolded."""
    others: tuple[str, ...]


_KNOWN: Recent[str, Reading] = Recent(256)
"""What texts say, the same in all sessions: ten lines took 98 ms of calls to the JVM on a busy machine."""


def can_read(spark: "SparkSession") -> bool:
    """Whether the session has its parser in this process."""
    return not is_remote(spark) and has_parser(spark)


def reading_of(spark: "SparkSession", text: str) -> Reading:
    """What Spark reads in a text; Spark's own error if it can't read it."""
    known = _KNOWN.get(text)
    if known is None:
        known = _reading(spark, text)
        _KNOWN.put(text, known)
    return known


def _reading(spark: "SparkSession", text: str) -> Reading:
    parser = parser_of(spark, text)
    tree = parser.singleStatement()
    if parser.getNumberOfSyntaxErrors():
        session: Any = spark
        session._jsparkSession.sessionState().sqlParser().parsePlan(text)
        raise Invalid("Spark's parser is not of one mind about this query", subject=short(text))
    found = _Found(spark, parser, tree)
    rules = parser.getRuleIndexMap()
    return Reading(
        tree.getChild(0).getClass().getSimpleName() == _QUERY,
        tuple(found.names(*_FUNCTIONS)),
        tuple(found.names(*_TABLES)),
        frozenset(name.text.strip("`").casefold() for name in found.names(*_COMMON)),
        tuple(what for rule, what in _OTHERS.items() if rules.containsKey(rule) and any(found.names(f"//{rule}"))),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """Looks for rules in a tree."""

    spark: "SparkSession"
    parser: Any
    tree: Any

    def names(self, *paths: str) -> Iterator[Named]:
        session: Any = self.spark
        find = session._jvm.org.antlr.v4.runtime.tree.xpath.XPath.findAll
        for path in paths:
            for rule in find(self.tree, path, self.parser):
                yield Named(str(rule.getText()), int(rule.getStart().getStartIndex()))
