"""A table that both engines change by turns, beside its model."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from lakebed.arrow.types import arrow_schema
from lakebed.lake.catalog import Catalog
from lakebed.lake.transaction import Transaction
from lakebed.spark.fit import quoted
from lakebed.spark.types import spark_schema
from tests.support.pipeline.conditions import Where, as_given, wheres
from tests.support.pipeline.model import Model, shown
from tests.support.pipeline.values import VALUES, Column, Row, rows_of, schema_of

TABLE: Final = "n.t"
ENGINES: Final = st.sampled_from(["local", "spark"])
WAYS: Final = st.sampled_from(["local", "spark", "sql"])


class Line:
    """A table on a line, or in a transaction, beside its model; each step is made by the engine that chance says."""

    def __init__(self, place: Catalog | Transaction, model: Model, spark: SparkSession, numbers: list[int]) -> None:
        self.place, self.table = place, place.table(TABLE)
        self.model, self.spark = model, spark
        self.numbers = numbers  # of all columns that were ever made, here or on other lines
        self.fresh: set[Any] = set()  # keys whose rows are others than before

    def take_steps(self, data: st.DataObject, steps: "Sequence[Step]") -> None:
        """Several steps; a key that goes on the way and comes again is of another row."""
        for step in steps:
            before = set(self.model.rows)
            step(self, data)
            self.fresh |= before - set(self.model.rows)

    def session(self, data: st.DataObject) -> SparkSession | None:
        return self.spark if data.draw(ENGINES, "engine") == "spark" else None

    def sql(self, text: str) -> Any:
        return self.place.sql(self.spark, text)

    def view(self, frame: DataFrame) -> str:
        """A name for rows in a statement."""
        frame.createOrReplaceTempView("given")
        return "given"

    def handed(
        self, data: st.DataObject, columns: Sequence[Column], rows: Sequence[Row], way: str | None = None
    ) -> Any:
        """Rows as an engine is given them: columns in any order."""
        columns = data.draw(st.permutations(columns), "columns")
        schema = schema_of(columns)
        named = [{one.name: row[one.number] for one in columns} for row in rows]
        arrow = pyarrow.Table.from_pylist(named, arrow_schema(schema))
        if (way or data.draw(ENGINES, "engine")) == "local":
            return arrow
        return self.spark.createDataFrame(arrow, schema=spark_schema(schema))

    def some_columns(self, data: st.DataObject) -> list[Column]:
        """The key and some of the others."""
        first, *others = sorted(self.model.columns)
        return [first, *(one for one in others if data.draw(st.integers(0, 4), "given"))]

    def new_column(self, data: st.DataObject) -> Column:
        name = data.draw(st.sampled_from(self.model.free_names()), "name")
        self.numbers.append(len(self.numbers))
        return Column(self.numbers[-1], name, data.draw(st.sampled_from(sorted(VALUES)), "type"))

    def drawn(self, data: st.DataObject, columns: Sequence[Column] | None = None) -> list[Row]:
        return data.draw(rows_of(columns or self.model.columns), "rows")

    def new_rows(self, data: st.DataObject, columns: Sequence[Column]) -> list[Row]:
        """Rows whose keys the table does not have."""
        return [row for row in self.drawn(data, columns) if row[0] not in self.model.rows]

    def where(self, data: st.DataObject) -> Where:
        return data.draw(wheres(sorted(self.model.columns)), "where")

    def where_or_none(self, data: st.DataObject) -> Where | None:
        return data.draw(st.one_of(st.none(), wheres(sorted(self.model.columns))), "where")

    def check(self, data: st.DataObject) -> None:
        """Both engines show the model's rows, all of them or those of a filter."""
        names = [one.name for one in self.model.columns]
        local = self.table.scan().to_arrow()
        assert local.column_names == names
        assert shown(local.to_pylist()) == self.model.shown(), "local"
        where = self.where_or_none(data)
        chosen = data.draw(st.one_of(st.none(), st.lists(st.sampled_from(names), min_size=1, unique=True)), "columns")
        given, expected = as_given(data, where), self.model.shown(where, chosen)
        assert shown(self.table.scan(given, chosen).to_arrow().to_pylist()) == expected, "local"
        assert self.table.scan(given).count() == len(expected)
        if data.draw(st.booleans(), "by SQL"):
            told = "" if where is None else f" WHERE {given}"
            frame = self.sql(f"SELECT {', '.join(map(quoted, chosen)) if chosen else '*'} FROM {TABLE}{told}")
        else:
            frame = self.table.read(self.spark, given, chosen)
        assert frame.columns == (chosen or names)
        assert shown(frame.toArrow().to_pylist()) == expected, "spark"


Step = Callable[[Line, st.DataObject], object]
"""Something that is done to a line's table and to its model."""
