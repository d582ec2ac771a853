"""Columns over a table and the rows that are merged into it, as SQL."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.column import Column

from lakebed.errors import Invalid
from lakebed.spark.expressions import analysis_errors
from lakebed.spark.session import is_remote
from lakebed.spark.sql.names import chains
from lakebed.spark.sql.tokens import Words, quoted, words_of
from lakebed.spark.types import result_schema
from lakebed.table.expression.scope import SOURCE, TARGET
from lakebed.table.schema.schema import Schema

_WORDS = frozenset(("NULL", "TRUE", "FALSE"))
"""Literals as Spark writes them: a column that is called so looks the same in its SQL."""


class MergedColumns:
    """Finds the columns of both sides as Spark does, and writes them as `target.x` and `source.x`.

    The table is known by its own name, the source by its alias or as the DataFrame that it is.
    """

    def __init__(self, source: DataFrame, schema: Schema, name: str, table: str) -> None:
        if is_remote(source.sparkSession):
            raise _unwritable("Spark Connect", table)
        target = source.sparkSession.createDataFrame([], result_schema(schema)).alias(name)
        self._both = target.join(source, how="cross")
        self._table = table
        plan: Any = self._both
        ids, size = _ids(plan._jdf.queryExecution().analyzed().output()), len(target.columns)
        self._sides = {**dict.fromkeys(ids[:size], TARGET), **dict.fromkeys(ids[size:], SOURCE)}

    def sql(self, column: Column) -> str:
        """A column as SQL; `Invalid` if Spark does not find what it names, or it has no text, as a Python function."""
        with analysis_errors("a column of a merge", str(column), self._table):
            found: Any = self._both.select(column.alias("value"))
        expression = found._jdf.queryExecution().analyzed().projectList().last().child()
        names = self._names(expression, column)
        words = words_of(expression.sql())
        edits = []
        for begin, end in chains(words):
            size = next((size for size in range(end - begin, 0, -2) if _text(words, begin, begin + size) in names), 0)
            is_call = end < len(words.words) and words.words[end].reads("(")
            is_type = begin > 0 and words.words[begin - 1].reads("AS")
            if size and not is_call and not is_type:
                last = words.words[begin + size - 1]
                edits.append((words.words[begin].start, last.end, names[_text(words, begin, begin + size)]))
        return _edited(words.text, edits)

    def _names(self, expression: Any, column: Column) -> dict[str, str]:
        """What Spark writes for each column of the two sides, and what it is written as here."""
        found: dict[str, str] = {}
        leaves = expression.collectLeaves()
        for leaf in (leaves.apply(number) for number in range(leaves.size())):
            kind = leaf.getClass().getSimpleName()
            if kind == "NamedLambdaVariable":
                raise _unwritable(f"a function of a function in {column}", self._table)
            if kind == "AttributeReference":
                name = leaf.name()
                if name in _WORDS:
                    raise _unwritable(f"a column called {name}", self._table)
                found[leaf.sql()] = f"{self._sides[leaf.exprId().id()]}.{quoted(name)}"
        return found


def _ids(attributes: Any) -> list[int]:
    return [attributes.apply(number).exprId().id() for number in range(attributes.size())]


def _text(words: Words, begin: int, end: int) -> str:
    return words.part(begin, end).own_text


def _edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    pieces, position = [], 0
    for start, end, given in edits:
        pieces += [text[position:start], given]
        position = end
    return "".join([*pieces, text[position:]])


def _unwritable(found: str, table: str) -> Invalid:
    return Invalid(
        "mergeInto can't write this as SQL",
        subject=table,
        found=found,
        advice="Use MERGE INTO in spark.sql(…), or table.merge(…) in Python.",
    )
