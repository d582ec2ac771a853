"""Column lineage: what each column of a frame was made from, by a walk over Spark's analysed plan.

Inputs are known by the alias that `frames` gives them. It takes a classic session; over Spark Connect only the tables
are known. A plan's node that is not known here counts all that it reads for each column that it makes.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from lakebed.catalog.feed.columns import FEED_NAMES
from lakebed.pipelines.running.frames import MARK
from lakebed.spark.session import is_remote

Columns = frozenset[tuple[str, str]]
"""Tables and their columns."""

NONE: Columns = frozenset()


ROWS = ""
"""In place of a column's name: what decides which rows there are, by filters, joins, groups and orders."""


def lineage(frame: DataFrame) -> dict[str, Columns] | None:
    """For each column of a frame, and for its rows, what it was made from; None if that can't be known."""
    if is_remote(frame.sparkSession):
        return None
    rows: Any = frame
    try:
        plan, walk = rows._jdf.queryExecution().analyzed(), _Walk()
        found = walk.columns(plan)
        columns = {
            column.name(): found.get(_id(column), NONE)
            for column in _listed(plan.output())
            if column.name() not in FEED_NAMES
        }
        return columns | {ROWS: walk.deciding}
    except Py4JError:  # a plan of another version of Spark
        return None


class _Walk:
    def __init__(self) -> None:
        self._tables: dict[int, list[Columns]] = {}
        self.deciding: Columns = NONE

    def columns(self, node: Any) -> dict[int, Columns]:
        """(id of an output column) -> what it was made from"""
        name = node.nodeName()
        if name == "WithCTE":
            for definition in _listed(node.cteDefs()):
                below = self.columns(definition.child())
                self._tables[definition.id()] = [
                    below.get(_id(one), NONE) for one in _listed(definition.child().output())
                ]
            return self.columns(node.plan())
        if name == "CTERelationRef":
            known = self._tables.get(node.cteId(), [])
            output = list(_listed(node.output()))
            return {_id(one): known[place] if place < len(known) else NONE for place, one in enumerate(output)}
        if name == "SubqueryAlias" and node.alias().startswith(MARK):
            table = node.alias().removeprefix(MARK)
            return {
                _id(one): NONE if one.name() in FEED_NAMES else frozenset({(table, one.name())})
                for one in _listed(node.output())
            }
        children = [(child, self.columns(child)) for child in _listed(node.children())]
        self._note_deciding(name, node, children)
        return self._union(node, children) if name == "Union" else self._made(node, children)

    def _note_deciding(self, name: str, node: Any, children: list[tuple[Any, dict[int, Columns]]]) -> None:
        """Note what a node that leaves out, joins, groups or orders rows looks at."""
        below: dict[int, Columns] = {}
        for _, columns in children:
            below |= columns
        if name in ("Filter", "Join", "LateralJoin", "AsOfJoin", "Sort", "Generate", "Deduplicate"):
            looked_at = list(_listed(node.expressions()))
        elif name == "Aggregate":
            looked_at = list(_listed(node.groupingExpressions()))
        elif name == "Window":
            looked_at = [*_listed(node.partitionSpec()), *_listed(node.orderSpec())]
        else:
            looked_at = []
            if name.startswith(("Intersect", "Except")):
                self.deciding |= _joined(below.values())
        self.deciding |= _joined(self._from(one, below) for one in looked_at)

    def _union(self, node: Any, children: list[tuple[Any, dict[int, Columns]]]) -> dict[int, Columns]:
        outputs = [list(_listed(child.output())) for child, _ in children]
        return {
            _id(one): _joined(
                below.get(_id(output[place]), NONE) for output, (_, below) in zip(outputs, children, strict=True)
            )
            for place, one in enumerate(_listed(node.output()))
        }

    def _made(self, node: Any, children: list[tuple[Any, dict[int, Columns]]]) -> dict[int, Columns]:
        below: dict[int, Columns] = {}
        for _, columns in children:
            below |= columns
        expressions = list(_listed(node.expressions()))
        made = {_id(one): self._from(one, below) for one in expressions if one.getClass().getSimpleName() == "Alias"}
        every: Columns | None = None
        found: dict[int, Columns] = {}
        for one in _listed(node.output()):
            number = _id(one)
            if number in made:
                found[number] = made[number]
            elif number in below:
                found[number] = below[number]
            else:
                every = _joined(self._from(expression, below) for expression in expressions) if every is None else every
                found[number] = every
        return found

    def _from(self, expression: Any, below: Mapping[int, Columns]) -> Columns:
        own = _joined(below.get(_id(one), NONE) for one in _listed(expression.references().toSeq()))
        return own | self._inside(expression)

    def _inside(self, expression: Any) -> Columns:
        """What the subqueries inside an expression read."""
        if expression.getClass().getSimpleName() in ("ScalarSubquery", "Exists", "ListQuery", "LateralSubquery"):
            return _joined(self.columns(expression.plan()).values())
        return _joined(self._inside(child) for child in _listed(expression.children()))


def _joined(parts: Any) -> Columns:
    return NONE.union(*parts)


def _listed(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(place) for place in range(sequence.size()))


def _id(column: Any) -> int:
    return int(column.exprId().id())
