"""A table that both engines change by turns, beside a model of dictionaries: each shows what the model has."""

import math
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import NamedTuple

import pyarrow
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

import lakebed
from lakebed import Field, Lake, Schema, lit
from lakebed.arrow import arrow_schema
from lakebed.catalog.catalogs import DEFAULT, open_project
from lakebed.catalog.home import Home
from lakebed.catalog.schemas import Schemas
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore
from lakebed.records.check import check
from lakebed.spark import spark_schema
from lakebed.store import MemoryStore
from lakebed.table.merge_clause import Then

KEYS = {
    "int": list(range(31)),
    "long": [2**62 + one for one in range(-15, 16)],
    "decimal(9, 2)": [Decimal(one).scaleb(-2) for one in range(-9, 20)],
    "string": [*" 'aAbcdefghijk%_\\", "", "a ", "ç", "c\u0327", "日本", "a" * 40, "a" * 40 + "b"],
    "binary": [b"", b"\x00", b"\x00\x00", b"\xff", b"\x7f", *(bytes([one]) for one in range(90, 105))],
    "date": [date(1582, 10, 4), *(date(1960 + one, 1, 31) for one in range(20))],
    "timestamp": [datetime(1969, 12, 31, 23, 59, 40 + one, 999999) for one in range(20)],
    "timestamptz": [datetime(1969, 12, 31, one, 59, 59, 999999, UTC) for one in range(20)],
}
VALUES = {
    "boolean": [True, False],
    "int": [0, 1, -1, 7, 2**31 - 1, -(2**31)],
    "long": [0, 1, -1, 7, 2**63 - 1, -(2**63)],
    "float": [math.nan, -math.inf, -1.5, -0.0, 0.0, 2.0, math.inf],
    "double": [math.nan, -math.inf, -1.5, -0.0, 0.0, 0.1, 5e-324, math.inf],
    "decimal(9, 2)": [Decimal("0.00"), Decimal("-0.01"), Decimal("1234567.89"), Decimal("-9999999.99")],
    "decimal(15, 3)": [Decimal("0.000"), Decimal("-0.001"), Decimal("123456789012.345")],
    "decimal(20, 2)": [Decimal("0.00"), Decimal("-0.01"), Decimal("1234567.89"), Decimal("999999999999999999.99")],
    "date": [date(1, 1, 1), date(1582, 10, 10), date(1969, 12, 31), date(1970, 1, 1), date(2026, 2, 28)],
    "timestamp": [
        datetime(1, 1, 1, 0, 0, 1),
        datetime(1899, 12, 31, 23, 59, 59, 999999),
        datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime(1970, 1, 1),
        datetime(2026, 3, 29, 2, 30, 0, 1),
    ],
    "timestamptz": [
        datetime(1, 1, 1, 0, 0, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(2026, 3, 29, 2, 30, 0, 1, tzinfo=UTC),
    ],
    "string": ["", " ", "a", "it's", "100%", "a`b", 'x"y', "\\", "ç", "日本", "a_b", "null", "line\nbreak", "{0}"],
    "binary": [b"", b"\x00", b"a'b", bytes(range(250, 256))],
    "list<int>": [[], [1, None], [-1]],
    "map<string, long>": [[], [("", 1), ("a'b", None)]],
    "struct<x: int, `y z`: string>": [{"x": None, "y z": None}, {"x": 1, "y z": "it's"}],
}
SINGLE = [one for one in VALUES if "<" not in one]
WIDER = {"int": "long", "float": "double", "decimal(9, 2)": "decimal(20, 2)"}
NAMES = ["text", "Größe", "it's 100%", "a`b", "a.b", 'quo"ted', "sp ace", "select", "x,y;z", "a={p}", "b\\s"]
TRANSFORMS = {
    "date": ["year", "month", "day", ""],
    "timestamp": ["year", "month", "day", "hour"],
    "timestamptz": ["year", "month", "day", "hour"],
    "string": ["", "truncate(2)", "bucket(3)"],
    "binary": ["bucket(2)", "truncate(1)"],
    "boolean": [""],
    "int": ["", "bucket(3)"],
    "long": ["bucket(3)", ""],
    "float": [""],
    "double": [""],
    "decimal(9, 2)": ["", "bucket(2)"],
    "decimal(15, 3)": ["", "truncate(10)"],
    "decimal(20, 2)": ["bucket(2)", "truncate(7)"],
}
PROPERTIES = {
    "write.inline-bytes": ["0", "1500", "64000"],
    "write.target-file-bytes": ["1", "134217728"],
    "write.row-group-rows": ["2", "131072"],
    "write.row-changes": ["merge-on-read", "copy-on-write"],
    "write.distribution": ["none", "partition"],
}
TABLE = "n.t"
ENGINES = st.sampled_from(["local", "spark"])
WAYS = st.sampled_from(["local", "spark", "sql"])


class Column(NamedTuple):
    """A column of the model: its number stays, its name and type may change."""

    number: int
    name: str
    type: str
    default: object = None
    born: str = ""
    """The type that a key had first."""


class Where(NamedTuple):
    """A condition, and what it says of a row: True, False or None."""

    condition: object
    test: object

    def passes(self, row):
        return self.test(row) is True


class Term(NamedTuple):
    """A field of a partition spec or a sort order."""

    transform: str
    number: int
    way: str = ""


@dataclass
class Model:
    """What a table has: rows by key, each a dictionary by the columns' numbers; 0 is the key."""

    columns: list = field(default_factory=list)
    rows: dict = field(default_factory=dict)
    spec: list = field(default_factory=list)
    order: list = field(default_factory=list)
    held: set = field(default_factory=set)
    """Columns that a spec or an order, now or once, is about."""
    parted: dict = field(default_factory=dict)
    """The names that columns had when they became fields of the spec: no other column may have them."""
    keyed: bool = False

    def copy(self):
        return replace(
            self,
            columns=list(self.columns),
            rows={key: dict(row) for key, row in self.rows.items()},
            spec=list(self.spec),
            order=list(self.order),
            held=set(self.held),
            parted=dict(self.parted),
        )

    def named(self, row):
        return {one.name: row[one.number] for one in self.columns}

    def shown(self, where=None, names=None):
        """The rows that pass as text, to be compared: a NaN and the sign of a zero count."""
        rows = (self.named(row) for row in self.rows.values() if where is None or where.passes(row))
        return shown(rows if names is None else [{name: row[name] for name in names} for row in rows])

    def whole(self, rows):
        return {row[0]: {one.number: row.get(one.number, one.default) for one in self.columns} for row in rows}

    def name(self, number):
        return next(one.name for one in self.columns if one.number == number)

    def free_names(self, number=None):
        """Names that a column could get, this one or a new one."""
        used = {one.name.casefold() for one in self.columns}
        used |= {name.casefold() for other, name in self.parted.items() if other != number}
        return [one for one in [*NAMES, "key"] if one.casefold() not in used]

    def part(self, spec):
        self.spec = spec
        self.parted = {one.number: self.name(one.number) for one in spec}
        self.held |= set(self.parted)

    def texts(self, terms):
        return [spelled(one, self.name(one.number)) for one in terms]


def quoted(name):
    return f"`{name.replace('`', '``')}`"


def spelled(term, name):
    name = quoted(name)
    if term.transform:
        kind, _, parameter = term.transform.rstrip(")").partition("(")
        name = f"{kind}({parameter}, {name})" if parameter else f"{kind}({name})"
    return f"{name} {term.way}".rstrip()


def shown(rows):
    return sorted(repr([(name, plain(value)) for name, value in one.items()]) for one in rows)


def plain(value):
    """A value whose text tells it from others: one zone has several classes."""
    return value.isoformat() if isinstance(value, datetime) else value


def order_of(value):
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


def compared(column, number, operator, value):
    made = {"=": column == value, "<>": column != value, "<": column < value, ">=": column >= value}[operator]

    def test(row):
        found = row[number]
        if found is None:
            return None
        left, right = order_of(found), order_of(value)
        return {"=": left == right, "<>": left != right, "<": left < right, ">=": left >= right}[operator]

    return Where(made, test)


def contained(column, number, values):
    return Where(column.is_in(values), lambda row: None if row[number] is None else row[number] in values)


def negated(one):
    def test(row):
        found = one.test(row)
        return None if found is None else not found

    return Where(~one.condition, test)


def both(left, right):
    def test(row):
        found = {left.test(row), right.test(row)}
        return False if False in found else None if None in found else True

    return Where(left.condition & right.condition, test)


def either(left, right):
    return Where(left.condition | right.condition, negated(both(negated(left), negated(right))).test)


def sane(column):
    """Values that a condition may name."""
    values = keys_of(column)[::3] if column.number == 0 else VALUES[column.type]
    return st.sampled_from([one for one in values if not (isinstance(one, float) and math.isnan(one))])


def leaves(column, prefix=()):
    here = lakebed.col(*prefix, column.name) if prefix else lakebed.col(quoted(column.name))
    number = column.number
    found = [
        st.builds(lambda operator, value: compared(here, number, operator, value), OPERATORS, sane(column)),
        st.lists(sane(column), min_size=1, max_size=3).map(lambda values: contained(here, number, values)),
        st.just(Where(here.is_null(), lambda row: row[number] is None)),
    ]
    if column.type in ("float", "double"):
        found.append(
            st.just(Where(here.is_nan(), lambda row: isinstance(row[number], float) and math.isnan(row[number])))
        )
    return st.one_of(found)


OPERATORS = st.sampled_from(["=", "<>", "<", ">="])


def wheres(columns, prefix=()):
    return st.recursive(
        st.sampled_from(single(columns)).flatmap(lambda one: leaves(one, prefix)),
        lambda inner: st.one_of(inner.map(negated), st.builds(both, inner, inner), st.builds(either, inner, inner)),
        max_leaves=3,
    )


def keys_of(column):
    """What a key may be: as many as all rows have, whether it was widened or not."""
    return KEYS[column.born or column.type]


def single(columns):
    """Those that can be compared, and be part of a spec or an order."""
    return [one for one in columns if one.type in SINGLE]


def values(column):
    if column.number == 0:
        return st.sampled_from(keys_of(column))
    return st.one_of(st.none(), st.sampled_from(VALUES[column.type]))


def defaults(type):
    """Values that a column of a type may have in rows without it: single ones that are numbers."""
    if type not in SINGLE:
        return st.none()
    finite = [one for one in VALUES[type] if not isinstance(one, float) or math.isfinite(one)]
    return st.one_of(st.none(), st.sampled_from(finite))


def rows_of(columns, most=8):
    row = st.fixed_dictionaries({one.number: values(one) for one in columns})
    return st.lists(row, max_size=most, unique_by=lambda row: row[0])


def as_given(data, where):
    """The condition as it is, or as text."""
    if where is None:
        return None
    return str(where.condition) if data.draw(st.booleans(), "as text") else where.condition


def schema_of(columns):
    return Schema([Field(one.name, one.type, required=one.number == 0) for one in columns])


class Line:
    """A table on a line, or in a transaction, beside its model; each step is made by the engine that chance says."""

    def __init__(self, place, model, spark, numbers):
        self.place, self.table = place, place.table(TABLE)
        self.model, self.spark, self.numbers = model, spark, numbers
        self.fresh = set()  # keys whose rows are others than before

    def take_steps(self, data, steps):
        """Several steps; a key that goes on the way and comes again is of another row."""
        for step in steps:
            before = set(self.model.rows)
            step(self, data)
            self.fresh |= before - set(self.model.rows)

    def session(self, data):
        return self.spark if data.draw(ENGINES, "engine") == "spark" else None

    def sql(self, text):
        return self.place.sql(self.spark, text)

    def view(self, frame):
        """A name for rows in a statement."""
        frame.createOrReplaceTempView("given")
        return "given"

    def handed(self, data, columns, rows, engine=None):
        """Rows as an engine is given them: columns in any order."""
        columns = data.draw(st.permutations(columns), "columns")
        schema = schema_of(columns)
        named = [{one.name: row[one.number] for one in columns} for row in rows]
        arrow = pyarrow.Table.from_pylist(named, arrow_schema(schema))
        if (engine or data.draw(ENGINES, "engine")) == "local":
            return arrow
        return self.spark.createDataFrame(arrow, schema=spark_schema(schema))

    def some_columns(self, data):
        """The key and some of the others."""
        first, *others = sorted(self.model.columns)
        return [first, *(one for one in others if data.draw(st.integers(0, 4), "given"))]

    def drawn(self, data, columns=None, most=8):
        return data.draw(rows_of(columns or self.model.columns, most), "rows")

    def where(self, data):
        return data.draw(wheres(sorted(self.model.columns)), "where")

    def put(self, rows):
        self.model.rows.update(self.model.whole(rows))

    def take(self, where):
        gone = {key for key, row in self.model.rows.items() if where is None or where.passes(row)}
        self.model.rows = {key: row for key, row in self.model.rows.items() if key not in gone}
        return gone

    def append(self, data):
        columns = self.some_columns(data)
        rows = [row for row in self.drawn(data, columns) if row[0] not in self.model.rows]
        self.put(rows)
        way = data.draw(WAYS, "way")
        given = self.handed(data, columns, rows, way)
        if way != "sql":
            return self.table.append(given)
        return self.sql(f"INSERT INTO {TABLE} BY NAME SELECT * FROM {self.view(given)}")

    def append_with_a_new_column(self, data):
        column = self.new_column(data)
        columns = [*self.some_columns(data), column]
        rows = [row for row in self.drawn(data, columns) if row[0] not in self.model.rows]
        commit = self.table.append(self.handed(data, columns, rows), evolve="add")
        self.model.columns.append(column)
        for row in self.model.rows.values():
            row[column.number] = None
        self.put(rows)
        return commit

    def delete(self, data):
        where = self.where(data)
        self.take(where)
        way, given = data.draw(WAYS, "way"), as_given(data, where)
        if way == "sql":
            return self.sql(f"DELETE FROM {TABLE} WHERE {given}")
        return self.table.delete(given, self.spark if way == "spark" else None)

    def truncate(self, data):
        self.take(None)
        return self.table.truncate()

    def update(self, data):
        where = data.draw(st.one_of(st.none(), wheres(sorted(self.model.columns))), "where")
        _, *columns = sorted(self.model.columns)
        changed = data.draw(st.lists(st.sampled_from(columns), min_size=1, max_size=2, unique=True), "changed")
        given, made = {}, {}
        for one in changed:
            given[one.name], made[one.number] = self.expression(data, one)
        for row in self.model.rows.values():
            if where is None or where.passes(row):
                row.update({number: make(dict(row)) for number, make in made.items()})
        way, when = data.draw(WAYS, "way"), as_given(data, where)
        if way == "sql" and all(isinstance(one, str) for one in given.values()):
            told = ", ".join(f"{quoted(name)} = {value}" for name, value in given.items())
            return self.sql(f"UPDATE {TABLE} SET {told}" + ("" if when is None else f" WHERE {when}"))
        return self.table.update(given, when, None if way == "local" else self.spark)

    def expression(self, data, column, prefix=""):
        """A value for a column, and how it follows from the row before."""
        like = [one for one in sorted(self.model.columns) if one.type == column.type and one.number]
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
            case "concat":
                return f"concat({name}, 'é\\\\')", lambda row: None if row[number] is None else row[number] + "é\\"

    def upsert(self, data):
        columns = self.some_columns(data)
        rows = self.drawn(data, columns)
        self.put(rows)
        key = self.model.name(0)
        on = data.draw(st.sampled_from([key, [key]]))
        return self.table.upsert(self.handed(data, columns, rows), on)

    def merge(self, data):
        source = self.drawn(data)
        given = {row[0]: row for row in source}
        clauses, matched, other, unmatched = self.clauses(data)
        found = {}
        for key, row in self.model.rows.items():
            made = matched(row, given[key]) if key in given else unmatched(row)
            if made is not None:
                found[key] = made
        for key, row in given.items():
            if key not in self.model.rows and (made := other(row)) is not None:
                found[key] = made
        self.model.rows = found
        key = quoted(self.model.name(0))
        way = data.draw(WAYS, "way")
        source = self.handed(data, self.model.columns, source, way)
        if way == "sql" and all(isinstance(value, str) for one in clauses for _, value in one.values or ()):
            told = "\n".join(map(clause_text, clauses))
            return self.sql(
                f"MERGE INTO {TABLE} AS target USING {self.view(source)} AS source\n"
                f"ON target.{key} = source.{key}\n{told}"
            )
        on = data.draw(st.sampled_from([self.model.name(0), f"target.{key} = source.{key}"]))
        return self.table.merge(source, on, *clauses)

    def clauses(self, data):
        """Clauses, and what each kind makes of a row: None if it goes or does not come."""
        clauses, columns = [], sorted(self.model.columns)
        steps = {"matched": [], "other": [], "unmatched": []}
        if data.draw(st.booleans(), "delete some matched"):
            where = data.draw(wheres(columns, ("target",)), "target")
            clauses.append(lakebed.when_matched_delete(as_given(data, where)))
            steps["matched"].append((lambda old, new: where.passes(old), lambda old, new: None))
        match data.draw(st.sampled_from(["all", "some", "none"]), "update"):
            case "all":
                when = data.draw(st.one_of(st.none(), wheres(columns, ("source",))), "source")
                clauses.append(lakebed.when_matched_update(where=as_given(data, when)))
                steps["matched"].append(
                    (lambda old, new: when is None or when.passes(new), lambda old, new: {**old, **new})
                )
            case "some":
                one = data.draw(st.sampled_from(columns[1:]))
                clauses.append(lakebed.when_matched_update({one.name: f"source.{quoted(one.name)}"}))
                steps["matched"].append((lambda old, new: True, lambda old, new: {**old, one.number: new[one.number]}))
        match data.draw(st.sampled_from(["all", "some", "none"]), "insert"):
            case "all":
                which = data.draw(st.one_of(st.none(), wheres(columns, ("source",))), "source")
                clauses.append(lakebed.when_not_matched_insert(where=as_given(data, which)))
                steps["other"].append((lambda new: which is None or which.passes(new), lambda new: new))
            case "some":
                two = data.draw(st.sampled_from(columns[1:]))
                names = {name: f"source.{quoted(name)}" for name in (columns[0].name, two.name)}
                clauses.append(lakebed.when_not_matched_insert(names))
                steps["other"].append(
                    (lambda new: True, lambda new: self.model.whole([{0: new[0], two.number: new[two.number]}])[new[0]])
                )
        match data.draw(st.sampled_from(["update", "delete", "none"] if clauses else ["update", "delete"]), "others"):
            case "update":
                three = data.draw(st.sampled_from(columns[1:]))
                value, make = self.expression(data, three, "target.")
                clauses.append(lakebed.when_not_matched_by_source_update({three.name: value}))
                steps["unmatched"].append((lambda old: True, lambda old: {**old, three.number: make(old)}))
            case "delete":
                what = data.draw(wheres(columns, ("target",)), "target")
                clauses.append(lakebed.when_not_matched_by_source_delete(as_given(data, what)))
                steps["unmatched"].append((lambda old: what.passes(old), lambda old: None))
        return (
            clauses,
            lambda old, new: decided(steps["matched"], old, old, new),
            lambda new: decided(steps["other"], None, new),
            lambda old: decided(steps["unmatched"], old, old),
        )

    def overwrite(self, data):
        where = data.draw(st.one_of(st.none(), wheres(sorted(self.model.columns))), "where")
        columns = self.some_columns(data)
        rows = self.drawn(data, columns)
        self.take(where)
        rows = [row for row in rows if row[0] not in self.model.rows]
        self.put(rows)
        self.fresh |= {row[0] for row in rows}
        return self.table.overwrite(self.handed(data, columns, rows), as_given(data, where))

    def overwrite_partitions(self, data):
        """By the values of one column, or tens of the key: the only partitions that the model knows."""
        number, of = data.draw(st.sampled_from(self.known_partitions()), "parted")
        self.table.compact(self.session(data))  # so that no file is of an older spec
        rows, others = self.drawn(data), self.model.rows
        while True:
            parts = {of(row[number]) for row in rows}
            others = {key: row for key, row in self.model.rows.items() if of(row[number]) not in parts}
            left = [row for row in rows if row[0] not in others]
            if len(left) == len(rows):
                break
            rows = left
        self.model.rows = others
        self.put(rows)
        self.fresh |= {row[0] for row in rows}
        return self.table.overwrite_partitions(self.handed(data, self.model.columns, rows))

    def known_partitions(self):
        if len(self.model.spec) != 1:
            return []
        [term] = self.model.spec
        if term.transform == "truncate(10)" and term.number == 0:
            return [(term.number, lambda value: value // 10)]
        of = {"": repr, "year": lambda value: value and value.year}
        return [(term.number, of[term.transform])] if term.transform in of else []

    def compact(self, data):
        options = {}
        match data.draw(st.sampled_from(["plain", "sort", "sort by", "where"]), "strategy"):
            case "sort" if self.model.order:
                options["strategy"] = "sort"
            case "sort by" if not self.model.keyed:  # a primary key has an order of its own
                column = data.draw(st.sampled_from(single(sorted(self.model.columns))))
                options["sort_by"] = [f"{quoted(column.name)} desc nulls first"]
            case "where":
                options["where"] = as_given(data, self.where(data))
        if data.draw(st.booleans()):
            options["target_bytes"] = data.draw(st.sampled_from([1, 4000]))
        return self.table.compact(self.session(data), **options)

    def new_column(self, data):
        name = data.draw(st.sampled_from(self.model.free_names()), "name")
        self.numbers.append(len(self.numbers))
        return Column(self.numbers[-1], name, data.draw(st.sampled_from(sorted(VALUES)), "type"))

    def add_column(self, data):
        column = self.new_column(data)
        default = data.draw(defaults(column.type), "default")
        first = data.draw(st.booleans(), "first")
        with self.table.evolve() as change:
            change.add_column((column.name,), column.type, default=default, first=first)
        self.model.columns.insert(0 if first else len(self.model.columns), column._replace(default=default))
        for row in self.model.rows.values():
            row[column.number] = default

    def drop_column(self, data):
        free = [one for one in sorted(self.model.columns) if one.number not in self.model.held | {0}]
        if len(free) < 2:
            return
        column = data.draw(st.sampled_from(free), "dropped")
        with self.table.evolve() as change:
            change.drop_column((column.name,))
        self.model.columns.remove(column)
        for row in self.model.rows.values():
            del row[column.number]

    def rename_column(self, data):
        column = data.draw(st.sampled_from(sorted(self.model.columns)), "renamed")
        name = data.draw(st.sampled_from(self.model.free_names(column.number)), "name")
        with self.table.evolve() as change:
            change.rename_column((column.name,), name)
        self.exchange(column, column._replace(name=name))

    def swap_names(self, data):
        free = [one for one in sorted(self.model.columns) if one.number not in self.model.parted]
        if len(free) < 2:
            return
        left, right = data.draw(st.permutations(free), "swapped")[:2]
        with self.table.evolve() as change:
            change.rename_column((left.name,), "between")
            change.rename_column((right.name,), left.name)
            change.rename_column(("between",), right.name)
        self.exchange(left, left._replace(name=right.name))
        self.exchange(right, right._replace(name=left.name))

    def widen_column(self, data):
        narrow = [one for one in sorted(self.model.columns) if one.type in WIDER]
        if not narrow:
            return
        column = data.draw(st.sampled_from(narrow), "widened")
        with self.table.evolve() as change:
            change.widen_column((column.name,), WIDER[column.type])
        self.exchange(column, column._replace(type=WIDER[column.type]))

    def exchange(self, old, new):
        self.model.columns[[one.number for one in self.model.columns].index(old.number)] = new

    def move_column(self, data):
        column, other = data.draw(st.permutations(sorted(self.model.columns)), "moved")[:2]
        with self.table.evolve() as change:
            change.move_column((column.name,), before=(other.name,))
        self.model.columns.remove(column)
        self.model.columns.insert(self.model.columns.index(other), column)

    def partition(self, data):
        self.model.part(data.draw(specs(self.model.columns), "spec"))
        with self.table.evolve() as change:
            change.partition_by(self.model.texts(self.model.spec))

    def sort(self, data):
        self.model.order = data.draw(orders(self.model.columns), "order")
        self.model.held |= {one.number for one in self.model.order}
        with self.table.evolve() as change:
            change.sort_by(self.model.texts(self.model.order))

    def check(self, data):
        """Both engines show the model's rows, all of them or those of a filter."""
        names = [one.name for one in self.model.columns]
        local = self.table.scan().to_arrow()
        assert local.column_names == names
        assert shown(local.to_pylist()) == self.model.shown(), "local"
        where = data.draw(st.one_of(st.none(), wheres(sorted(self.model.columns))), "where")
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


def clause_text(clause):
    """A clause of a merge in SQL."""
    if clause.values is None:
        return f"{clause}{'' if clause.then is Then.DELETE else ' SET *' if clause.then is Then.UPDATE else ' *'}"
    names, values = [quoted(name) for name, _ in clause.values], [value for _, value in clause.values]
    if clause.then is Then.UPDATE:
        return f"{clause} SET {', '.join(f'{name} = {value}' for name, value in zip(names, values, strict=True))}"
    return f"{clause} ({', '.join(names)}) VALUES ({', '.join(values)})"


def decided(steps, otherwise, *rows):
    """What the first step that holds makes of rows."""
    for holds, make in steps:
        if holds(*rows):
            return make(*rows)
    return otherwise


def specs(columns):
    def terms(column):
        kinds = ["truncate(10)", "bucket(3)", ""] if column.born in ("int", "long") else TRANSFORMS[column.type]
        return st.sampled_from(kinds).map(lambda kind: Term(kind, column.number))

    one = st.sampled_from(single(sorted(columns))).flatmap(terms)
    return st.lists(one, max_size=2, unique_by=lambda term: term.number)


def orders(columns):
    ways = ["", "desc", "desc nulls first", "asc nulls last"]
    one = st.builds(
        lambda column, way: Term("", column.number, way),
        st.sampled_from(single(sorted(columns))),
        st.sampled_from(ways),
    )
    return st.lists(one, max_size=2, unique_by=lambda term: term.number)


CHANGES = [
    Line.append,
    Line.append_with_a_new_column,
    Line.delete,
    Line.truncate,
    Line.update,
    Line.upsert,
    Line.merge,
    Line.overwrite,
]
EVOLUTIONS = [
    Line.add_column,
    Line.drop_column,
    Line.rename_column,
    Line.swap_names,
    Line.widen_column,
    Line.move_column,
    Line.partition,
    Line.sort,
]
MERGEABLE = [Line.append, Line.delete, Line.update, Line.upsert, Line.merge, Line.compact, *EVOLUTIONS]


class PipelineMachine(RuleBasedStateMachine):
    """One table, its key unique; what was done to it is done by the engine that chance says."""

    def __init__(self, spark):
        super().__init__()
        self.spark = spark
        self.folder = tempfile.mkdtemp(suffix=" 100% [ünï]")
        self.store = MemoryStore()
        self.past = {}  # what the table was, by version
        self.row_ids = {}
        self.made = 0

    @initialize(data=st.data())
    def begin(self, data):
        metastore = RecordsMetastore(self.store)
        project = open_project(metastore, DEFAULT, "ada")
        self.lake = Lake(Home(metastore, LocalFiles(self.folder), Schemas(metastore), project, "ada"))
        self.main = self.lake.catalog()
        kinds = data.draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=2, max_size=4), "types")
        kind = data.draw(st.sampled_from(sorted(KEYS)), "key")
        columns = [Column(0, "key", kind, born=kind)]
        columns += [Column(place, NAMES[place], kind) for place, kind in enumerate(kinds, 1)]
        model = Model(columns, keyed=data.draw(st.booleans(), "primary key"))
        model.part(data.draw(specs(columns), "spec"))
        model.order = data.draw(orders(columns), "order")
        model.held |= {one.number for one in model.order}
        self.main.create_namespace("n")
        self.main.create_table(
            TABLE,
            schema_of(columns),
            partition_by=model.texts(model.spec),
            sort_by=model.texts(model.order),
            primary_key=["key"] if model.keyed else [],
            properties={name: data.draw(st.sampled_from(some), name) for name, some in PROPERTIES.items()},
        )
        self.line = Line(self.main, model, self.spark, list(range(len(columns))))
        self.line.append(data)
        self.line.append(data)

    def did(self, data):
        """Look at everything after a step."""
        self.line.check(data)
        self.rows_kept_their_ids(data)
        self.past[self.main.version] = self.line.model.shown()

    def rows_kept_their_ids(self, data):
        key = self.line.model.name(0)
        columns = data.draw(st.permutations([key, "_row_id"]))
        if data.draw(ENGINES, "engine") == "local":
            found = self.line.table.scan(columns=columns).to_arrow().to_pylist()
        else:
            found = self.line.table.read(self.spark, columns=columns).toArrow().to_pylist()
        now = {one[key]: one["_row_id"] for one in found}
        assert len(set(now.values())) == len(found) and None not in now.values()
        stayed = (now.keys() & self.row_ids.keys()) - self.line.fresh
        assert {one: now[one] for one in stayed} == {one: self.row_ids[one] for one in stayed}
        self.row_ids, self.line.fresh = now, set()

    @rule(data=st.data(), step=st.sampled_from(CHANGES))
    def change(self, data, step):
        step(self.line, data)
        self.did(data)

    @rule(data=st.data(), step=st.sampled_from(EVOLUTIONS))
    def evolve(self, data, step):
        step(self.line, data)
        self.did(data)

    @rule(data=st.data())
    def compact(self, data):
        self.line.compact(data)
        self.did(data)

    @precondition(lambda self: self.line.known_partitions())
    @rule(data=st.data())
    def overwrite_partitions(self, data):
        self.line.overwrite_partitions(data)
        self.did(data)

    @rule(data=st.data(), name=st.sampled_from(sorted(PROPERTIES)))
    def set_a_property(self, data, name):
        self.line.table.set_properties({name: data.draw(st.sampled_from(PROPERTIES[name]))})

    @rule(
        data=st.data(), steps=st.lists(st.sampled_from([*CHANGES, *EVOLUTIONS, Line.compact]), min_size=1, max_size=3)
    )
    def transaction(self, data, steps):
        with self.main.transaction("many") as tx:
            own = Line(tx, self.line.model, self.spark, self.line.numbers)
            own.take_steps(data, steps)
            own.check(data)
        self.line.fresh |= own.fresh
        self.did(data)

    @rule(data=st.data(), steps=st.lists(st.sampled_from(MERGEABLE), min_size=1, max_size=3))
    def branch_and_merge(self, data, steps):
        """What a branch did comes to main, which had rows appended or was compacted meanwhile."""
        self.made += 1
        dev = self.main.create_branch(f"dev{self.made}")
        theirs = Line(dev, self.line.model.copy(), self.spark, self.line.numbers)
        known = set(self.line.model.rows)
        theirs.take_steps(data, steps)
        theirs.check(data)
        self.line.check(data)
        known |= set(theirs.model.rows)
        if data.draw(st.booleans(), "append meanwhile"):
            rows = [row for row in self.line.drawn(data) if row[0] not in known]
            self.line.table.append(self.line.handed(data, self.line.model.columns, rows))
            theirs.put(rows)
        else:
            self.line.compact(data)
        self.main.merge(dev)
        self.line.model = theirs.model
        self.line.fresh |= theirs.fresh
        self.did(data)

    @precondition(lambda self: self.past)
    @rule(data=st.data())
    def look_back(self, data):
        version = data.draw(st.sampled_from(sorted(self.past)))
        assert shown(self.line.table.at(version).read(self.spark).toArrow().to_pylist()) == self.past[version]

    def teardown(self):
        if self.past:
            self.every_version_is_what_it_was()
            self.lake._checkpointing.wait()
        assert check(self.store) == []
        shutil.rmtree(self.folder)

    def every_version_is_what_it_was(self):
        for version, rows in self.past.items():
            assert shown(self.line.table.at(version).scan().to_arrow().to_pylist()) == rows
        first = next(iter(self.past))
        assert shown(self.line.table.at(first).read(self.spark).toArrow().to_pylist()) == self.past[first]


def run(spark, phases, **how):
    chosen = settings(deadline=None, suppress_health_check=list(HealthCheck), phases=phases, **how)
    run_state_machine_as_test(lambda: PipelineMachine(spark), settings=chosen)


def test_both_engines_by_turns_do_what_a_model_does(spark):
    """What fails is not made smaller here: that takes longer than a test may."""
    run(spark, [Phase.reuse, Phase.generate], max_examples=10, stateful_step_count=8)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_both_engines_by_turns_do_what_a_model_does_at_length(spark):
    run(spark, list(Phase), max_examples=200, stateful_step_count=15)
