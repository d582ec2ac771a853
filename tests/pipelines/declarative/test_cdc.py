"""Changes that come in any order, late and twice: the table is what a model of all changes says."""

import random
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

import pytest
from pyspark import pipelines

from lakebed.errors import Invalid

Rows = Callable[..., list[tuple[Any, ...]]]
Event = dict[str, Any]

has_auto_cdc = pytest.mark.skipif(
    not hasattr(pipelines, "create_auto_cdc_flow"),
    reason="create_auto_cdc_flow came with PySpark 4.3; AUTO CDC in SQL is tested with every version",
)

TYPE_1 = """
dp.create_streaming_table("people")
dp.create_auto_cdc_flow(
    target="people",
    source="raw.events",
    keys=["id"],
    sequence_by="seq",
    apply_as_deletes="op = 'delete'",
    except_column_list=["op", "seq"],
)
"""
TYPE_2 = TYPE_1.replace('except_column_list=["op", "seq"]', 'except_column_list=["op", "seq"], stored_as_scd_type=2')
EVENTS = {"id": "long", "name": "string", "town": "string", "op": "string", "seq": "long"}


def event(id: int, seq: int, name: str | None = None, town: str | None = "Rome") -> Event:
    return {"id": id, "name": name, "town": town, "op": "delete" if name is None else "put", "seq": seq}


def histories(events: Iterable[Event], tracked: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """All versions of all rows, from all changes in their order."""
    distinct = {(one["id"], one["seq"]): one for one in events}
    found: list[tuple[Any, ...]] = []
    for id, own in groupby((distinct[key] for key in sorted(distinct)), key=lambda one: one["id"]):
        runs: list[list[Event]] = []
        for one in own:
            last = runs[-1][-1] if runs else None
            if last is not None and all(one[name] == last[name] for name in ("op", *tracked)):
                runs[-1].append(one)
            else:
                runs.append([one])
        ends = [run[0]["seq"] for run in runs[1:]] + [None]
        found += [
            (id, run[-1]["name"], run[-1]["town"], run[0]["seq"], end)
            for run, end in zip(runs, ends, strict=True)
            if run[0]["op"] == "put"
        ]
    return sorted(found, key=repr)


def shuffled(seed: int, keys: int = 3, changes: int = 24) -> list[list[Event]]:
    """Batches of changes: in any order, some twice and late."""
    chance = random.Random(seed)  # of a history, those that are tested bring starts of versions that go again
    made = [
        event(
            chance.randrange(keys),
            seq,
            chance.choice([None, "ann", "ben"]) if chance.random() < 0.5 else "ann",
            chance.choice(["Rome", "Bari"]),
        )
        for seq in range(changes)
    ]
    chance.shuffle(made)
    twice = made + chance.choices(made, k=changes // 3)
    cuts = sorted(chance.sample(range(1, len(twice)), 3))
    return [twice[first:last] for first, last in zip([0, *cuts], [*cuts, None], strict=True)]


@pytest.fixture
def events(main: Any) -> Any:
    main.create_namespace("raw")
    return main.create_table("raw.events", EVENTS)


def deliver(events: Any, run: Any, folder: Any, batches: list[list[Event]]) -> list[Event]:
    """Add batches one by one; a run for two of them, of which each is a batch, too."""
    known: list[Event] = []
    for number, batch in enumerate(batches):
        events.append(batch)
        known += batch
        if number % 2:
            run(folder).raise_for_status()
    return known


ONE_BY_ONE = """
@dp.temporary_view
def changes():
    return spark.readStream.option("maxFilesPerTrigger", 1).table("raw.events")
"""


@has_auto_cdc
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.sampled(4)
def test_the_last_change_of_each_key_counts_in_whatever_order_they_come(
    seed: int, project: Any, run: Any, events: Any, rows: Rows, lake: Any
) -> None:
    folder = project(cdc_py=ONE_BY_ONE + TYPE_1.replace("raw.events", "changes"))
    known = deliver(events, run, folder, shuffled(seed))
    last = {one["id"]: one for one in sorted(known, key=lambda one: one["seq"])}
    assert rows("sales.people") == sorted(
        ((one["id"], one["name"], one["town"]) for one in last.values() if one["op"] == "put"), key=repr
    )
    assert lake.check() == []


@has_auto_cdc
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 4, 5, 6))])
def test_a_history_is_what_all_changes_say_in_whatever_order_they_come(
    seed: int, project: Any, run: Any, events: Any, rows: Rows, main: Any
) -> None:
    tracked = [("name", "town"), ("name",)][seed % 2]
    more = "" if seed % 2 == 0 else ', track_history_except_column_list=["town"]'
    text = TYPE_2.replace("stored_as_scd_type=2", f"stored_as_scd_type=2{more}")
    folder = project(cdc_py=ONE_BY_ONE + text.replace("raw.events", "changes"))
    known = deliver(events, run, folder, shuffled(seed))
    assert rows("sales.people") == histories(known, tracked)
    assert main.table("sales.people__cdc").scan().count() == len({(one["id"], one["seq"]) for one in known})


SQL = """
CREATE STREAMING TABLE people;
CREATE FLOW apply AS AUTO CDC INTO people FROM STREAM raw.events KEYS (id) APPLY AS DELETE WHEN op = 'delete'
SEQUENCE BY struct(seq, name) COLUMNS (id, town) STORED AS SCD TYPE 2;
CREATE STREAMING TABLE last_names FLOW AUTO CDC FROM STREAM(raw.events) KEYS (ID) SEQUENCE BY seq COLUMNS (id, name)
"""


def test_changes_are_applied_by_sql_too(project: Any, run: Any, events: Any, rows: Rows, main: Any) -> None:
    """Over PySpark 4.1, too, whose Python has no call for it."""
    events.append([event(1, 5, "ann"), event(1, 7, "ann", "Bari"), event(2, 1, "ben")])
    folder = project(cdc_sql=SQL)
    run(folder).raise_for_status()
    events.append([event(1, 6, "eva", "Oslo"), event(2, 3), event(1, 4, "old")])
    done = run(folder).raise_for_status()
    assert [step.rows for step in done.steps] == [3, 3]
    found = main.table("sales.people").scan().to_arrow().to_pylist()
    own = sorted(
        (row["id"], row["town"], row["__START_AT"]["seq"], (row["__END_AT"] or {}).get("seq")) for row in found
    )
    assert own == [(1, "Bari", 7, None), (1, "Oslo", 6, 7), (1, "Rome", 4, 6), (2, "Rome", 1, 3)]
    assert rows("sales.last_names") == [(1, "ann"), (2, None)]


def test_a_full_refresh_of_changes_forgets_what_was_applied(
    project: Any, load: Any, lake: Any, spark: Any, events: Any, rows: Rows, main: Any
) -> None:
    events.append([event(1, 5, "ann"), event(2, 6, "ben")])
    load(project(cdc_sql=SQL)).run(lake, spark).raise_for_status()
    main.table("sales.people").delete("id = 2")
    changed = SQL.replace("KEYS (id)", "KEYS (id, town)")
    with pytest.raises(Invalid, match=r"the keys or the type of history of a table have changed.*full_refresh"):
        load(project(cdc_sql=changed)).run(lake, spark).raise_for_status()
    done = load(project(cdc_sql=SQL)).run(lake, spark, full_refresh="sales.people").raise_for_status()
    assert [(step.action, step.rows) for step in done.steps] == [("rebuild", 2), ("skip", 0)]
    assert [row[0] for row in rows("sales.people", "id")] == [1, 2]


WRONG = {
    "KEYS (nothing)": "nothing: the source of the changes has no such column",
    "KEYS (id, name)": "a key is left out",
    "SEQUENCE BY nothing": "UNRESOLVED_COLUMN",
    "TYPE 1 TRACK HISTORY ON (name)": "only a history tracks columns",
    "TYPE 2 TRACK HISTORY ON (seq)": "no such column to track",
}


@pytest.mark.parametrize("clause", WRONG)
def test_what_is_wrong_with_changes_is_found_before_anything_runs(
    project: Any, load: Any, events: Any, clause: str
) -> None:
    found = {"KEYS": "KEYS (id)", "SEQUENCE": "SEQUENCE BY struct(seq, name)", "TYPE": "TYPE 2"}[clause.split()[0]]
    with pytest.raises(Invalid, match=WRONG[clause]):
        load(project(cdc_sql=SQL.replace(found, clause, 1)))


@pytest.mark.parametrize("name", ["id", "seq"])
def test_a_change_that_belongs_nowhere_fails_and_nothing_is_published(
    project: Any, run: Any, events: Any, main: Any, name: str
) -> None:
    events.append([event(1, 5, "ann"), event(1, 6, "ben") | {name: None}])
    what = "sequence" if name == "seq" else "key id"
    with pytest.raises(Invalid, match=f"changes have no {what}.*1 of 2 are null"):
        run(project(cdc_sql=SQL.replace("struct(seq, name)", "seq"))).raise_for_status()
    assert not main.table_exists("sales.people")
