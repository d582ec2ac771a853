"""Steps that can be done on a line of a catalog or in a transaction: to the real one, and to the model of it."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeVar

import pyarrow
from hypothesis import strategies as st

from tests.support.catalog import model
from tests.support.catalog.model import NAMESPACE, TABLE, VIEW, Refused, State, Thing

T = TypeVar("T")

PARTS: Final = st.sampled_from(["a", "A", "b", "c"])
NAMES: Final = st.lists(PARTS, min_size=1, max_size=3).map(tuple)
COLUMNS: Final = st.sampled_from(["x", "y", "X", "z"])
PICK: Final = st.integers(0, 1000)
KINDS: Final = st.sampled_from([NAMESPACE, TABLE, TABLE, VIEW])


class Step(NamedTuple):
    """Something to do. What it is done to is picked when it is done."""

    what: str
    kind: str
    pick: int
    part: str
    other: tuple[str, ...]
    column: str


STEPS: Final = st.builds(
    Step,
    what=st.sampled_from(
        [
            "create",
            "create",
            "append",
            "append",
            "rename",
            "move",
            "drop",
            "drop all",
            "undrop",
            "undrop",
            "set",
            "unset",
            "sql",
            "add column",
            "add column",
            "rename column",
            "drop column",
        ]
    ),
    kind=KINDS,
    pick=PICK,
    part=PARTS,
    other=NAMES,
    column=COLUMNS,
)

EVOLUTIONS: Final = ("add column", "rename column", "drop column")
KIND_OF: Final = {"append": TABLE, "sql": VIEW, **dict.fromkeys(EVOLUTIONS, TABLE)}


def picked(found: Sequence[T], pick: int) -> T:
    """One of them."""
    return found[pick % len(found)]


class Deed:
    """A step as it is done to a line or transaction, and to the model of it."""

    def __init__(self, target: Any, state: State, step: Step, row: int) -> None:
        self.target, self.state, self.step, self.row = target, state, step, row
        self.kind = KIND_OF.get(step.what, step.kind)
        self.name = self._name()

    def _name(self) -> tuple[str, ...]:
        """Something of the kind that is there, or a free place; now and then a name that may be nothing."""
        step = self.step
        if step.pick % 11 == 0:
            return step.other
        if step.what == "create":
            return self._place()
        if step.what == "undrop":
            dead = self._dead()
            return self.state.parts(picked(dead, step.pick)) if dead else step.other
        there = self.state.alive(self.kind)
        return self.state.parts(picked(there, step.pick).id) if there else step.other

    def _place(self) -> tuple[str, ...]:
        namespaces = [(), *(self.state.parts(one.id) for one in self.state.alive(NAMESPACE))]
        return (*picked(namespaces, self.step.pick)[:2], self.step.part)

    @property
    def new_name(self) -> tuple[str, ...]:
        return (*self.name[:-1], self.step.part) if self.step.what == "rename" else self._place()

    def _dead(self) -> list[str]:
        dead = (one for one in self.state.things.values() if one.kind == self.kind and not self.state.is_alive(one.id))
        return sorted((one.id for one in dead), key=lambda id: (self.state.parts(id), id))

    @property
    def undropping(self) -> tuple[tuple[str, ...], str | None, tuple[str, ...] | None]:
        """The name, with an id or without, and perhaps another name."""
        dead = self._dead()
        by_id = picked(dead, self.step.pick) if dead and self.step.pick % 3 else None
        return self.name, by_id, self._place() if self.step.pick % 2 else None

    @property
    def handle(self) -> Any:
        return getattr(self.target, self.kind)(self.name)

    @property
    def thing(self) -> Thing:
        return self.state.find(self.name, self.kind)

    @property
    def column(self) -> int:
        """A column of the table, never the first one, which numbers its rows."""
        columns = sorted(self.thing.columns)[1:]
        if not columns:
            raise Refused
        return picked(columns, self.step.pick)

    def do(self) -> Any:
        """Do it; the answer is the id of what was made."""
        step, name, target = self.step, self.name, self.target
        match step.what:
            case "create" if self.kind == TABLE:
                return target.create_table(name, {"id": "long"}).id
            case "create" if self.kind == VIEW:
                return target.create_view(name, "select 1").id
            case "create":
                return target.create_namespace(name).id
            case "append":
                table = self.handle
                table.append(pyarrow.table({table.schema.names[0]: pyarrow.array([self.row], pyarrow.int64())}))
            case "rename" | "move":
                getattr(target, f"rename_{self.kind}")(name, self.new_name)
            case "drop all" if self.kind == NAMESPACE:
                target.drop_namespace(name, cascade=True)
            case "drop" | "drop all":
                getattr(target, f"drop_{self.kind}")(name)
            case "undrop":
                getattr(target, f"undrop_{self.kind}")(*self.undropping)
            case "set":
                self.handle.set_properties({step.column: step.part})
            case "unset":
                self.handle.unset_properties([step.column])
            case "sql":
                self.handle.set_sql(f"select {step.pick % 5}")
            case _:
                return self._evolve()
        return None

    def _evolve(self) -> int | None:
        table = self.handle
        with table.evolve() as evolving:
            match self.step.what:
                case "add column":
                    evolving.add_column(self.step.column, "long")
                case "rename column":
                    evolving.rename_column(self._column_name(), self.step.column)
                case "drop column":
                    evolving.drop_column(self._column_name())
        return next((one.id for one in table.schema.fields if one.name == self.step.column), None)

    def _column_name(self) -> str:
        try:
            return self.thing.columns[self.column]
        except Refused:
            return "nothing"

    def model(self, made: Any) -> State:
        """The state after it, or `Refused`."""
        step, name, state = self.step, self.name, self.state
        match step.what:
            case "create":
                columns = {1: "id"} if self.kind == TABLE else {}
                sql = "select 1" if self.kind == VIEW else None
                return model.create(state, name, self.kind, made, columns, sql)
            case "append":
                return model.append(state, self.thing.id, self.row)
            case "rename" | "move":
                return model.rename(state, name, self.new_name, self.kind)
            case "drop" | "drop all":
                return model.drop(state, name, self.kind, cascade=step.what == "drop all" or self.kind != NAMESPACE)
            case "undrop":
                old, by_id, new = self.undropping
                return model.undrop(state, old, self.kind, by_id, new)
            case "set":
                return model.put_property(state, self.thing.id, step.column, step.part)
            case "unset":
                return model.put_property(state, self.thing.id, step.column, None)
            case "sql":
                return model.set_sql(state, self.thing.id, f"select {step.pick % 5}")
            case "add column":
                return model.put_column(state, self.thing.id, made or -1, step.column)
            case "rename column":
                return model.put_column(state, self.thing.id, self.column, step.column)
            case "drop column":
                return model.put_column(state, self.thing.id, self.column, None)
        raise AssertionError(step.what)
