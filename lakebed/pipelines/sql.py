"""SQL steps: queries in which `{name}` stands for a step, a view or a table of the lake."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lakebed.errors import Invalid
from lakebed.pipelines.inputs import Given, Read, Source
from lakebed.pipelines.loading import sql_by_spark_alone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAME = re.compile(r"\{\s*([\w.`-]+)\s*\}")


def named(text: str) -> list[str]:
    """The names in braces, each once."""
    if not isinstance(text, str) or not text.strip():
        raise Invalid("an SQL step is a query", expected="text", found=f"{text!r:.80}")
    return list(dict.fromkeys(NAME.findall(text)))


def sql_inputs(text: str) -> dict[str, Source]:
    """The inputs of a query, by the names of its function's parameters: a name with a dot is a table's."""
    return {_parameter(place): Read(name) if "." in name else Given(name) for place, name in enumerate(named(text))}


def sql_function(text: str, name: str) -> Callable[..., Any]:
    """The function of an SQL step: it takes its inputs as `sql_inputs` names them."""

    def query(**frames: "DataFrame") -> "DataFrame":
        by_name = {known: frames[_parameter(place)] for place, known in enumerate(named(text))}
        spark = next(iter(frames.values())).sparkSession if frames else _active()
        return run_text(spark, text, by_name.__getitem__)

    query.__name__ = name.rpartition(".")[2]
    query.__qualname__ = name
    return query


def run_text(spark: "SparkSession", text: str, table: Callable[[str], "DataFrame"]) -> "DataFrame":
    """The rows of a query whose names in braces are DataFrames.

    Spark itself puts them in. Over Connect they become part of the query: temporary views would have to live until it
    is run, since it is analysed again each time.
    """
    frames = {_parameter(place): table(name) for place, name in enumerate(named(text))}
    return sql_by_spark_alone(spark, _template(text) if frames else text, frames)


def _template(text: str) -> str:
    """The query with a parameter in braces for each name; other braces are doubled, as Spark takes them for text."""
    places = {name: place for place, name in enumerate(named(text))}
    parts = NAME.split(text)
    for at, part in enumerate(parts):
        is_name = at % 2 == 1
        parts[at] = (
            f"(SELECT * FROM {{{_parameter(places[part])}}})" if is_name else part.replace("{", "{{").replace("}", "}}")
        )
    return "".join(parts)


def _active() -> "SparkSession":
    from pyspark.sql import SparkSession

    return SparkSession.active()


def _parameter(place: int) -> str:
    return f"input_{place}"
