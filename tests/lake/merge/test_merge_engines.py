"""Merges by row give the same on both engines: conflicts, rows with their ids, and what is left to decide."""

import dataclasses
import random
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product

import pytest

import lakebed
from lakebed import Catalog, Conflict
from lakebed.errors import Invalid
from tests.support.examples import long_but

STEPS = (
    *("insert", "insert", "update a", "update a", "update b", "update b", "update both", "delete", "delete"),
    *("move key", "replace", "replace", "compact", "rewrites", "vectors", "inline", "files"),
    *("column", "rename", "widen", "spec", "pick", "merge", "overwrite", "overwrite"),
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with lakebed.connect(tmp_path_factory.mktemp("engines") / "a lake") as lake:
        yield lake


class Lines:
    """Two branches of a table with columns of nasty names, whose rows change by random steps."""

    def __init__(self, main: Catalog, chosen: random.Random, *, keyed: bool) -> None:
        self.chosen, self.count, self.keyed = chosen, 100, keyed
        columns = {"id": "long", "a.`b": "string", "B b": "int", "n": "struct<x: double, y: list<string>>"}
        table = main.create_table("t", columns, primary_key=["id"] if keyed else [])
        table.set_properties({"write.inline-bytes": chosen.choice(["0", "64000"])})
        table.append([row(id, "base", id) for id in range(12)])
        self.sides = [main, main.create_branch("dev")]

    def step(self, name: str, side: Catalog) -> None:
        table, number = side.table("t"), self.chosen.randrange(6)
        text, whole, *_ = (column for column in table.schema.names if column not in ("id", "n"))
        some = f"id % 6 in ({number}, {self.chosen.randrange(6)})"
        values = {text: f"'{self.chosen.choice('xyz')}'", whole: str(self.chosen.randrange(3))}
        match name:
            case "insert":
                self.insert(table, [1000 + number, 1010 + self.chosen.randrange(3)])
            case "update a" | "update b":
                chosen = text if name == "update a" else whole
                table.update({chosen: values[chosen]}, some)
            case "update both":
                table.update(values, some)
            case "delete":
                table.delete(f"id % 6 = {number}")
            case "move key" if 1000 + number not in self.ids(table):
                table.update({"id": "id + 1000"}, f"id = {number}")
            case "replace" if self.keyed:
                again = [id for id in self.ids(table) if id % 6 == number]
                table.delete(f"id % 6 = {number}")
                self.insert(table, again)
            case "overwrite":  # of rows by a range of keys, or by a cell
                bound = f"id >= {number * 2} and id < {number * 2 + 3}"
                where = self.chosen.choice(
                    [bound, f"`{text.replace('`', '``')}` = '{self.chosen.choice('xyz')}'", None]
                )
                gone = {found["id"] for found in table.scan(where=where, columns=["id"]).to_arrow().to_pylist()}
                again = sorted(gone - {number} if number % 2 else gone)[:3]
                rows = [row(id, self.chosen.choice("xy"), self.chosen.randrange(2)) for id in again]
                table.overwrite([dict(zip(table.schema.names, found.values(), strict=False)) for found in rows], where)
            case "compact":
                table.compact()
            case "rewrites" | "vectors":
                mode = "copy-on-write" if name == "rewrites" else "merge-on-read"
                table.set_properties({"write.row-changes": mode})
            case "inline" | "files":
                table.set_properties({"write.inline-bytes": "64000" if name == "inline" else "0"})
            case "column" | "rename" | "widen" | "spec":
                self.evolve(name, table, whole)
            case "pick":
                [commit] = next(one for one in self.sides if one is not side).log(1)
                side.cherry_pick(commit)
            case "merge":
                side.merge(next(one for one in self.sides if one is not side), strategy="theirs")

    def insert(self, table, ids) -> None:
        names, known = table.schema.names, self.ids(table)
        new = [row(id, self.chosen.choice("xy"), self.chosen.randrange(2)) for id in ids if id not in known]
        if new:
            table.append([dict(zip(names, found.values(), strict=False)) for found in new])

    def ids(self, table) -> set[int]:
        return {found["id"] for found in table.scan(columns=["id"]).to_arrow().to_pylist()}

    def evolve(self, name: str, table, whole: str) -> None:
        self.count += 1
        with table.evolve() as change:
            if name == "column":
                change.add_column(f"c {self.count}", "long", default=self.chosen.choice([None, 5]))
            elif name == "rename":
                change.rename_column(whole, f"r{self.count}")
            elif name == "widen":
                change.widen_column(whole, "long")
            else:
                change.partition_by(["bucket(2, id)"])


def row(id: int, text: str, whole: int) -> dict:
    return {"id": id, "a.`b": text, "B b": whole, "n": {"x": whole / 2, "y": [text, None]}}


def shown(conflicts) -> list[str]:
    """Conflicts in no order, with all that they show."""
    return sorted(repr(dataclasses.astuple(found)) for found in conflicts)


def live(line: Catalog) -> list[str]:
    table = line.table("t")
    return sorted(map(repr, table.scan(columns=[*table.schema.names, "_row_id"]).to_arrow().to_pylist()))


def some_given(conflict):
    """Decisions of all kinds, that depend on nothing but the conflict."""
    number = len(repr((conflict.key, conflict.row_id, conflict.ours))) % 5
    return ["ours", "theirs", None, {}, {"id": 5000 + (conflict.row_id or 0)}][number]


def merged(line: Catalog, source: Catalog, **given) -> tuple:
    """What a merge into a branch of a line answers and leaves."""
    name = f"b{random.SystemRandom().randrange(1 << 60)}"
    copy = line.create_branch(name)
    try:
        result = copy.merge(source, **given)
    except Conflict as error:
        return ("conflict", shown(error.conflicts), live(copy))
    return ("merged", shown(result.conflicts), live(copy))


GIVEN = (
    {"strategy": "ours"},
    {"strategy": "theirs"},
    {"resolve": some_given},
    {"strategy": "theirs", "resolve": some_given},
)


def check_engines_agree(one: Catalog, other: Catalog, spark, *given: dict) -> None:
    before = held(spark)
    here, there = one.merge(other, dry_run=True), one.merge(other, dry_run=True, spark=spark)
    assert shown(here.conflicts) == shown(there.conflicts)
    assert here.rows_read <= there.rows_read  # here files are left out whose ids nobody asks for
    assert held(spark) <= before  # what other tests held may be collected meanwhile
    for settled in given if here.conflicts else given[:1]:
        assert merged(one, other, **settled) == merged(one, other, **settled, spark=spark), settled


def random_lines(lake, seed: int, *, keyed: bool) -> Lines:
    chosen = random.Random(seed)
    lines = Lines(lake.create_catalog(f"random {keyed} {seed}"), chosen, keyed=keyed)
    for name in chosen.choices(STEPS, k=10):
        with suppress(Conflict, Invalid):  # of a step that does not fit, such as a name that is taken
            lines.step(name, chosen.choice(lines.sides))
    return lines


@pytest.mark.parametrize(("seed", "keyed"), long_but(product(range(100), [True, False]), [(0, True)]))
def test_both_engines_merge_random_histories_alike(lake, spark, seed, keyed):
    lines = random_lines(lake, seed, keyed=keyed)
    one, other = lines.sides[:: -1 if seed % 2 else 1]
    check_engines_agree(one, other, spark, *(GIVEN if seed % 4 == 3 else GIVEN[seed % 4 : seed % 4 + 1]))


MOMENT = datetime(2026, 11, 1, 12, 0, 0, 1, UTC)
TYPES = {
    "boolean": (True, False, None),
    "int": (1, 2, None),
    "float": (0.5, float("nan"), 0.0),
    "double": (float("nan"), -0.0, 1.5),
    "decimal(9, 2)": (Decimal("1.00"), Decimal("2.50"), None),
    "date": (MOMENT.date(), date(1500, 1, 1), None),
    "timestamp": (MOMENT.replace(tzinfo=None), MOMENT.replace(tzinfo=None, microsecond=2), None),
    "timestamptz": (MOMENT, MOMENT.replace(microsecond=2), None),
    "string": ("é", "", None),
    "binary": (b"\0\xff", b"", None),
    "list<double>": ([0.0], [-0.0], [float("nan"), None]),
    "struct<x: int, y: string>": ({"x": None, "y": None}, None, {"x": 1, "y": "a"}),
    "map<string, timestamp>": (
        [("a", MOMENT.replace(tzinfo=None))],
        [("a", MOMENT.replace(tzinfo=None, microsecond=2))],
        [("b", None), ("a", None)],
    ),
    "map<string, struct<x: list<float>>>": ([("a", {"x": [0.0]})], [("a", {"x": [-0.0]})], [("a", None)]),
}


def test_both_engines_compare_values_of_every_type_alike(lake, spark):
    """Each column is changed to each of its values on each side, in rows of its own: all columns at once."""
    main, names = lake.create_catalog("types"), [f"t.{number}`" for number in range(len(TYPES))]
    changes = [(one, other) for one in range(3) for other in range(3)]
    table = main.create_table("t", {"id": "long", "w": "long", **dict(zip(names, TYPES, strict=True))})
    base = dict(zip(names, (values[0] for values in TYPES.values()), strict=True))
    ids = {(name, change): number for number, (name, change) in enumerate(product(names, changes))}
    table.append([{"id": id, "w": 0, **base} for id in ids.values()])
    dev = main.create_branch("dev")
    for place, line in enumerate((main, dev)):
        rows = []
        for (name, change), id in ids.items():
            value = TYPES[str(table.schema.field(name).type)][change[place]]
            rows.append({"id": id, "w": place * (id % 2), **base, name: value})
        line.table("t").upsert(rows, on=["id"])
    assert merged(main, dev, strategy="theirs") == merged(main, dev, strategy="theirs", spark=spark)


def test_a_row_that_was_replaced_by_its_key_was_written_again_by_spark_where_theirs_set_a_cell_alike(lake, spark):
    """And under the id of the row that it had replaced, while the local engine left it where it was."""
    main = lake.create_catalog("replaced")
    main.create_table("t", {"id": "long", "a": "string", "b": "long"}, primary_key=["id"])
    main.table("t").append([{"id": id, "a": "a", "b": id} for id in range(3)])
    dev = main.create_branch("dev")
    main.table("t").update({"a": "'z'"}, "id = 1")
    dev.table("t").delete("id = 1")
    dev.table("t").append([{"id": 1, "a": "z", "b": 7}])
    assert merged(dev, main) == merged(dev, main, spark=spark)
    assert merged(main, dev) == merged(main, dev, spark=spark)


@pytest.mark.parametrize("type", ["uuid", "time", "fixed[4]"])
def test_a_type_that_spark_can_not_write_is_refused_with_advice_to_merge_without_spark(lake, spark, type):
    main = lake.create_catalog(f"type {type}")
    main.create_table("t", {"id": "long", "v": type}).append([{"id": 1, "v": None}])
    dev = main.create_branch("dev")
    main.table("t").update({"id": "2"})
    dev.table("t").update({"id": "3"})
    with pytest.raises(Invalid, match="Merge without `spark=`"):
        main.merge(dev, spark=spark)
    assert main.merge(dev, strategy="theirs").rows_read == 3


def disputed_lines(lake, name: str, key: tuple[str, ...] = ()) -> tuple[Catalog, Catalog]:
    main = lake.create_catalog(name)
    table = main.create_table("t", {"id": "long", "a": "string", "b": "long"}, primary_key=key)
    table.append([{"id": id, "a": "a", "b": id} for id in range(6)])
    dev = main.create_branch("dev")
    main.table("t").update({"a": "'main'", "b": "b + id % 2"}, "id < 5")
    dev.table("t").update({"b": "b + 2 * (id % 2)", "a": "a"}, "id < 4")
    dev.table("t").update({"b": "-1"}, "id = 2")
    return main, dev


def data_files(lake) -> set[str]:
    return {file.path for file in lake._context.files.list("") if file.path.endswith(".parquet")}


def held(spark) -> int:
    return spark.sparkContext._jsc.getPersistentRDDs().size()


def test_executors_keep_nothing_after_a_merge_that_is_made_refused_or_fails(lake, spark):
    """Nor after one that is tried: `check_engines_agree` looks at that."""
    main, dev = disputed_lines(lake, "held")
    before = held(spark)

    def fail(conflict):
        assert held(spark) > before
        raise LookupError

    with pytest.raises(Conflict):
        main.merge(dev, spark=spark)
    with pytest.raises(LookupError):
        main.merge(dev, spark=spark, resolve=fail)
    files = data_files(lake)
    assert held(spark) <= before  # what other tests held may be collected meanwhile
    result = main.merge(dev, strategy="theirs", spark=spark)
    assert held(spark) <= before  # what other tests held may be collected meanwhile
    assert len(result.conflicts) == 2
    assert data_files(lake) > files  # Spark wrote the rows, and only now
    assert {row["id"]: (row["a"], row["b"]) for row in main.table("t").scan().to_arrow().to_pylist()} == {
        0: ("main", 0),
        1: ("main", 3),
        2: ("main", -1),
        3: ("main", 5),
        4: ("main", 4),
        5: ("a", 5),
    }


@pytest.mark.parametrize("into", long_but(["main", "dev"], ["main"]))
def test_checks_are_tested_on_spark_as_here(lake, spark, into):
    """Main has the checks, which its own rows and those of dev break: they are ours, or theirs."""
    main, dev = disputed_lines(lake, f"checks {into}", ("id",))
    main.table("t").set_properties({"check.small": "b < 4", "check.known": "a <> 'main' or b >= 0"})
    one, other = (main, dev) if into == "main" else (dev, main)
    here, there = (
        shown(one.merge(other, dry_run=True, strategy="theirs", spark=session).conflicts) for session in (None, spark)
    )
    assert here == there
    assert into == "dev" or sum("check" in conflict for conflict in here) >= 2


def test_picks_and_reverts_merge_rows_on_spark(lake, spark):
    main, dev = disputed_lines(lake, "picks")
    picked = dev.table("t").update({"b": "50"}, "id = 4")
    main.cherry_pick(picked, spark=spark)
    undone = main.table("t").update({"a": "'wrong'"}, "id = 4")
    main.table("t").update({"b": "51"}, "id = 4")
    main.revert(undone, spark=spark)
    assert main.table("t").scan("id = 4").to_arrow().to_pylist() == [{"id": 4, "a": "main", "b": 51}]
