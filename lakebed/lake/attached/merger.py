"""`df.mergeInto(name, condition)` of a table of the lake."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from pyspark.sql import DataFrame
from pyspark.sql.column import Column

from lakebed.errors import Invalid
from lakebed.lake.attached.names import Found
from lakebed.lake.sql.changes import add_source_columns
from lakebed.lake.table import Table
from lakebed.spark.attachment.attachments import spark_alone
from lakebed.spark.attachment.merged import MergedColumns
from lakebed.spark.expressions import value_errors
from lakebed.spark.sql.merge_clauses import merge_clause
from lakebed.spark.sql.names import chain_end
from lakebed.spark.sql.statements import Assigned, MergeClause
from lakebed.spark.sql.tokens import words_of
from lakebed.table.expression.merge_clauses import Then, When


class LakeMerger:
    """Collects the clauses of a merge, as PySpark's `MergeIntoWriter` does; `merge` makes it, in one commit."""

    def __init__(self, found: Found, frame: DataFrame, on: Column) -> None:
        self._found = found
        self._frame = frame
        with spark_alone():
            self._columns = MergedColumns(frame, found.table.schema, found.parts[-1], found.spelled)
            self._on = self._columns.sql(on)
        self._clauses: list[MergeClause] = []
        self._evolves = False

    def whenMatched(self, condition: Column | None = None) -> "Matched":
        return Matched(self, When.MATCHED, self._sql(condition))

    def whenNotMatched(self, condition: Column | None = None) -> "NotMatched":
        return NotMatched(self, When.NOT_MATCHED, self._sql(condition))

    def whenNotMatchedBySource(self, condition: Column | None = None) -> "NotMatchedBySource":
        return NotMatchedBySource(self, When.NOT_MATCHED_BY_SOURCE, self._sql(condition))

    def withSchemaEvolution(self) -> Self:
        self._evolves = True
        return self

    def merge(self) -> None:
        if not self._clauses:
            expected = "whenMatched(), whenNotMatched() or whenNotMatchedBySource()"
            raise Invalid("a merge has no clause", expected=expected)
        with spark_alone():
            if not self._evolves:
                return self._merge_into(self._found.table)
            with self._found.catalog.transaction() as transaction:
                table = transaction.table(self._found.parts)
                add_source_columns(table, self._clauses, self._frame)
                return self._merge_into(table)

    def _merge_into(self, table: Table[Any]) -> None:
        schema, names = table.schema, self._frame.columns
        clauses = [merge_clause(clause, schema, names, evolves=self._evolves) for clause in self._clauses]
        with value_errors(self._found.spelled):
            table.merge(self._frame, self._on, *clauses)

    def _sql(self, column: Column | None) -> str | None:
        with spark_alone():
            return None if column is None else self._columns.sql(column)

    def _with(self, clause: MergeClause) -> Self:
        self._clauses.append(clause)
        return self

    def _assigned(self, values: Mapping[str, Column]) -> Assigned:
        with spark_alone():
            return tuple((self._path(name), self._columns.sql(value)) for name, value in values.items())

    def _path(self, name: str) -> tuple[str, ...]:
        """A column, or a field of a struct; the table's name may stand before it."""
        words = words_of(name)
        if chain_end(words, 0) != len(words.words):
            return (name,)
        parts = tuple(word.text for word in words.words[::2])
        is_named = len(parts) > 1 and parts[0].casefold() == self._found.parts[-1].casefold()
        return parts[1:] if is_named else parts


@dataclass(frozen=True, slots=True)
class Actions:
    """What a clause may do with its rows."""

    merger: LakeMerger
    when: When
    where: str | None = field(repr=False)

    def _then(self, then: Then, values: Mapping[str, Column] | None = None) -> LakeMerger:
        assigned = None if values is None else self.merger._assigned(values)
        return self.merger._with(MergeClause(self.when, then, assigned, self.where))


class Matched(Actions):
    """Rows that the source matches."""

    __slots__ = ()

    def updateAll(self) -> LakeMerger:
        return self._then(Then.UPDATE)

    def update(self, assignments: Mapping[str, Column]) -> LakeMerger:
        return self._then(Then.UPDATE, assignments)

    def delete(self) -> LakeMerger:
        return self._then(Then.DELETE)


class NotMatched(Actions):
    """Rows of the source that match none."""

    __slots__ = ()

    def insertAll(self) -> LakeMerger:
        return self._then(Then.INSERT)

    def insert(self, assignments: Mapping[str, Column]) -> LakeMerger:
        return self._then(Then.INSERT, assignments)


class NotMatchedBySource(Actions):
    """Rows of the table that no row of the source matches."""

    __slots__ = ()

    def update(self, assignments: Mapping[str, Column]) -> LakeMerger:
        return self._then(Then.UPDATE, assignments)

    def updateAll(self) -> LakeMerger:
        raise Invalid("rows that no row of the source matches have no values to take", expected="update or delete")

    def delete(self) -> LakeMerger:
        return self._then(Then.DELETE)
