"""Rows after any evolution, beside a model that knows each column by its birth."""

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakebed import Invalid
from tests.support.orders import rows

pytestmark = pytest.mark.usefixtures("in_files")  # its tests look at files

NAMES = st.sampled_from("abcd")
STEPS = st.one_of(
    st.tuples(st.just("add_column"), NAMES, st.integers(-9, 9)),
    st.tuples(st.just("drop_column"), NAMES),
    st.tuples(st.just("rename_column"), NAMES, NAMES),
    st.tuples(st.just("widen_column"), NAMES, st.just("long")),
    st.tuples(st.just("append"), st.integers(0, 99)),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=12), st.data())
def test_rows_are_those_of_a_model_that_knows_columns_by_their_births(lake, steps, data):
    """A value belongs to the column it was written to, whatever that is called later, on every line."""
    main = lake.catalog()
    name = f"t{len(main.tables())}"
    table = main.create_table(name, {"id": "long"})
    model = Model()
    past = []
    for step in steps:
        past.append((table.history()[0].version, model.rows()))
        if step[0] == "append":
            values = {"id": [step[1]], **{one: [step[1]] for one in model.columns}}
            types = pyarrow.schema([("id", pyarrow.int64()), *((one, model.arrow_type(one)) for one in model.columns)])
            table.append(pyarrow.table(values, types))
            model.append(step[1])
            continue
        legal = model.allows(*step)
        try:
            with table.evolve() as change:
                if step[0] == "add_column":
                    change.add_column(step[1], "int", default=step[2])
                else:
                    getattr(change, step[0])(*step[1:])
        except Invalid:
            assert not legal
        else:
            assert legal
            model.change(*step)
    assert rows(table) == model.rows()
    for version, then in data.draw(st.lists(st.sampled_from(past), max_size=2)) if past else ():
        assert rows(table.at(version)) == then


class Model:
    """A table as Python has it: columns by a number that each gets at its birth."""

    def __init__(self):
        self.columns = {}
        self.wide = set()
        self.defaults = []
        self.written = []

    def append(self, value):
        self.written.append({"id": value, **dict.fromkeys(self.columns.values(), value)})

    def allows(self, step, name, more=None):
        if step == "add_column":
            return name not in self.columns
        return name in self.columns and (step != "rename_column" or more == name or more not in self.columns)

    def change(self, step, name, more=None):
        if step == "add_column":
            self.columns[name] = len(self.defaults)
            self.defaults.append(more)
        elif step == "drop_column":
            del self.columns[name]
        elif step == "rename_column":
            self.columns = {more if one == name else one: birth for one, birth in self.columns.items()}
        else:
            self.wide.add(self.columns[name])

    def arrow_type(self, name):
        return pyarrow.int64() if self.columns[name] in self.wide else pyarrow.int32()

    def rows(self):
        return [
            {"id": row["id"], **{name: row.get(birth, self.defaults[birth]) for name, birth in self.columns.items()}}
            for row in self.written
        ]
