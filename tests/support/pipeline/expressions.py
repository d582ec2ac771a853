"""Values that a pipeline sets columns to: as Lakebed is given them, and how they follow from the row before."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from lakebed.spark.fit import quoted
from lakebed.table.expression.lit import lit
from tests.support.pipeline.model import Model
from tests.support.pipeline.values import Column, Row, values

Made = tuple[Any, Callable[[Row], Any]]


def expression(model: Model, data: st.DataObject, column: Column, prefix: str = "") -> Made:
    """A value for a column, and how it follows from the row before."""
    like = [one for one in sorted(model.columns) if one.type == column.type and one.number]
    other, value = data.draw(st.sampled_from(like), "other"), data.draw(values(column), "value")
    name, number = f"{prefix}{quoted(other.name)}", other.number
    kinds = ["lit", "column", "null"] + (["concat"] if column.type == "string" else [])
    match data.draw(st.sampled_from(kinds), "kind"):
        case "lit":
            return lit(value), lambda row: value
        case "column":
            return name, lambda row: row[number]
        case "null":
            return "NULL", lambda row: None
        case _:
            return f"concat({name}, 'é\\\\')", lambda row: None if row[number] is None else row[number] + "é\\"
