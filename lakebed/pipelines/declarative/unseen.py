"""Whether a frame's rows may differ although no table of the lake has changed: by its analysed plan."""

import re
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from lakebed.pipelines.running.frames import MARK
from lakebed.spark.session import is_remote

_PURE = ("Range", "OneRowRelation")
_OF_SQL = ("LocalRelation", "UnresolvedInlineTable", "ResolvedInlineTable")
"""Rows in a query's text, which is part of its code; those of a function come from Python."""

_NOW = re.compile(r"\b(current_date|current_timestamp|current_time|localtimestamp|now|current_user)\b", re.IGNORECASE)


def reads_unseen(frame: DataFrame, *, is_sql: bool) -> bool:
    """Whether it reads more than tables of the lake and datasets, or asks for the time or for random values."""
    if is_remote(frame.sparkSession):
        return True
    rows: Any = frame
    try:
        return any(_is_unseen(node, (*_PURE, *_OF_SQL) if is_sql else _PURE) for node in _nodes(rows))
    except Py4JError:  # a plan of another version of Spark
        return True


def _nodes(rows: Any) -> Iterator[Any]:
    """The nodes of the plan, and of the queries inside its expressions, above the inputs."""
    waiting = [rows._jdf.queryExecution().analyzed()]
    while waiting:
        node = waiting.pop()
        if node.nodeName() == "SubqueryAlias" and node.alias().startswith(MARK):
            continue
        yield node
        waiting += [*_listed(node.children()), *_listed(node.innerChildren()), *_listed(node.subqueries())]


def _is_unseen(node: Any, pure: tuple[str, ...]) -> bool:
    if (
        node.children().isEmpty()
        and node.innerChildren().isEmpty()
        and node.nodeName() not in (*pure, "CTERelationRef")
    ):
        return True
    return any(not one.deterministic() or _NOW.search(one.sql()) for one in _listed(node.expressions()))


def _listed(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(place) for place in range(sequence.size()))
