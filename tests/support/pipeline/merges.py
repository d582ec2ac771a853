"""MERGE as a step of a pipeline: clauses, and what they make of the rows of its model."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from lakebed.lake.clauses import (
    when_matched_delete,
    when_matched_update,
    when_not_matched_by_source_delete,
    when_not_matched_by_source_update,
    when_not_matched_insert,
)
from lakebed.spark.fit import quoted
from lakebed.table.expression.merge_clauses import Clause, Then
from tests.support.pipeline.conditions import Where, as_given, wheres
from tests.support.pipeline.expressions import expression
from tests.support.pipeline.line import TABLE, WAYS, Line
from tests.support.pipeline.model import Model
from tests.support.pipeline.values import Column, Row

Deed = tuple[Callable[..., bool], Callable[..., Row | None]]
"""Whether a clause is for these rows, and what it makes of them: None if the row goes or does not come."""


@dataclass
class Clauses:
    """Clauses as they are drawn, and their deeds for each kind of rows: the first that is for a row decides."""

    model: Model
    data: st.DataObject
    clauses: list[Clause] = field(default_factory=list)
    matched: list[Deed] = field(default_factory=list)
    other: list[Deed] = field(default_factory=list)
    unmatched: list[Deed] = field(default_factory=list)

    @property
    def columns(self) -> list[Column]:
        return sorted(self.model.columns)

    def draw(self) -> None:
        if self.data.draw(st.booleans(), "delete some matched"):
            where = self._where("target")
            self.clauses.append(when_matched_delete(as_given(self.data, where)))
            self.matched.append((lambda old, new: where.passes(old), lambda old, new: None))
        self._draw_update()
        self._draw_insert()
        self._draw_unmatched()

    def _draw_update(self) -> None:
        match self.data.draw(st.sampled_from(["all", "some", "none"]), "update"):
            case "all":
                when = self._where_or_none("source")
                self.clauses.append(when_matched_update(where=as_given(self.data, when)))
                self.matched.append(
                    (lambda old, new: when is None or when.passes(new), lambda old, new: {**old, **new})
                )
            case "some":
                one = self._column()
                self.clauses.append(when_matched_update({one.name: f"source.{quoted(one.name)}"}))
                self.matched.append((_always, lambda old, new: {**old, one.number: new[one.number]}))

    def _draw_insert(self) -> None:
        match self.data.draw(st.sampled_from(["all", "some", "none"]), "insert"):
            case "all":
                which = self._where_or_none("source")
                self.clauses.append(when_not_matched_insert(where=as_given(self.data, which)))
                self.other.append((lambda new: which is None or which.passes(new), lambda new: new))
            case "some":
                two = self._column()
                names = {name: f"source.{quoted(name)}" for name in (self.columns[0].name, two.name)}
                self.clauses.append(when_not_matched_insert(names))
                self.other.append((_always, lambda new: self._whole({0: new[0], two.number: new[two.number]})))

    def _draw_unmatched(self) -> None:
        kinds = ["update", "delete", "none"] if self.clauses else ["update", "delete"]
        match self.data.draw(st.sampled_from(kinds), "others"):
            case "update":
                three = self._column()
                value, make = expression(self.model, self.data, three, "target.")
                self.clauses.append(when_not_matched_by_source_update({three.name: value}))
                self.unmatched.append((_always, lambda old: {**old, three.number: make(old)}))
            case "delete":
                what = self._where("target")
                self.clauses.append(when_not_matched_by_source_delete(as_given(self.data, what)))
                self.unmatched.append((what.passes, lambda old: None))

    def _where(self, side: str) -> Where:
        return self.data.draw(wheres(self.columns, (side,)), side)

    def _where_or_none(self, side: str) -> Where | None:
        return self.data.draw(st.one_of(st.none(), wheres(self.columns, (side,))), side)

    def _column(self) -> Column:
        """One that is not the key."""
        column: Column = self.data.draw(st.sampled_from(self.columns[1:]))
        return column

    def _whole(self, row: Row) -> Row:
        return next(iter(self.model.whole([row]).values()))

    def merged(self, given: dict[Any, Row]) -> dict[Any, Row]:
        """The model's rows after a merge of these, by key."""
        rows = self.model.rows
        made = {
            key: _decided(self.matched, row, row, given[key]) if key in given else _decided(self.unmatched, row, row)
            for key, row in rows.items()
        }
        made |= {key: _decided(self.other, None, row) for key, row in given.items() if key not in rows}
        return {key: row for key, row in made.items() if row is not None}

    @property
    def are_text(self) -> bool:
        """Whether SQL can say them: a value that is no text has no form there."""
        return all(isinstance(value, str) for one in self.clauses for _, value in one.values or ())


def _always(*rows: Row) -> bool:
    return True


def _decided(deeds: list[Deed], otherwise: Row | None, *rows: Row) -> Row | None:
    """What the first deed that is for the rows makes of them."""
    for holds, make in deeds:
        if holds(*rows):
            return make(*rows)
    return otherwise


def merge(line: Line, data: st.DataObject) -> object:
    source = line.drawn(data)
    drawn = Clauses(line.model, data)
    drawn.draw()
    line.model.rows = drawn.merged({row[0]: row for row in source})
    key = quoted(line.model.name(0))
    way = data.draw(WAYS, "way")
    given = line.handed(data, line.model.columns, source, way)
    if way == "sql" and drawn.are_text:
        told = "\n".join(map(_text, drawn.clauses))
        return line.sql(
            f"MERGE INTO {TABLE} AS target USING {line.view(given)} AS source\nON target.{key} = source.{key}\n{told}"
        )
    on = data.draw(st.sampled_from([line.model.name(0), f"target.{key} = source.{key}"]))
    return line.table.merge(given, on, *drawn.clauses)


def _text(clause: Clause) -> str:
    """A clause in SQL."""
    if clause.values is None:
        return f"{clause}{'' if clause.then is Then.DELETE else ' SET *' if clause.then is Then.UPDATE else ' *'}"
    names, values = [quoted(name) for name, _ in clause.values], [value for _, value in clause.values]
    if clause.then is Then.UPDATE:
        return f"{clause} SET {', '.join(f'{name} = {value}' for name, value in zip(names, values, strict=True))}"
    return f"{clause} ({', '.join(names)}) VALUES ({', '.join(values)})"
