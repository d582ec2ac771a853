"""Partitions, sort orders and keys through the handle: KV-15, KV-16, and that pruning loses no row."""

import datetime
import json
import math
from decimal import Decimal
from pathlib import Path

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakebed import Conflict, Field, Invalid, Schema, event_id
from lakebed.catalog.data.live_files import live_files
from lakebed.catalog.tables.tables import spec_of, table_state
from lakebed.table.partition.values import partition_texts
from tests.support.scans import opened_files

pytestmark = pytest.mark.usefixtures("in_files")  # its tests look at files

SCHEMA = Schema(
    [
        Field("id", "long"),
        Field("region", "string"),
        Field("at", "timestamp"),
        Field("day", "date"),
        Field("price", "decimal(9, 2)"),
        Field("raw", "binary"),
        Field("place", "struct<city: string>"),
    ]
)
ARROW = pyarrow.schema(
    [
        ("id", pyarrow.int64()),
        ("region", pyarrow.string()),
        ("at", pyarrow.timestamp("us")),
        ("day", pyarrow.date32()),
        ("price", pyarrow.decimal128(9, 2)),
        ("raw", pyarrow.binary()),
        ("place", pyarrow.struct([("city", pyarrow.string())])),
    ]
)


def moment(day, hour=0):
    return datetime.datetime(2026, 11, day, hour)


def given_rows(*found):
    return pyarrow.Table.from_pylist(list(found), ARROW)


def partitions(table):
    """For each live file the id of its spec and its partition, as people read it."""
    work = table._scope.read()
    state = table_state(work, table.id)
    return [
        (one.spec_id, partition_texts(one, spec_of(work, table.id, one.spec_id), state.schema), one.num_rows)
        for one in live_files(work, state).values()
    ]


def ids(table, read="arrow", **asked):
    if read == "arrow":
        return sorted(table.scan(columns=["id"], **asked).to_arrow()["id"].to_pylist())
    return sorted(one["id"] for one in table.read(read, columns=["id"], **asked).collect())


@pytest.fixture
def events(main):
    table = main.create_table("events", SCHEMA, partition_by=["day(at)", "region"])
    table.append(
        given_rows(
            {"id": 1, "region": "eu", "at": moment(1, 23)},
            {"id": 2, "region": "us", "at": moment(1)},
            {"id": 3, "region": "eu", "at": moment(2)},
            {"id": 4, "region": "eu", "at": moment(1)},
            {"id": 5},
        )
    )
    return table


def test_a_file_has_rows_of_one_partition_and_says_which(events):
    assert partitions(events) == [
        (1, {"at_day": "2026-11-01", "region": "eu"}, 2),
        (1, {"at_day": "2026-11-01", "region": "us"}, 1),
        (1, {"at_day": "2026-11-02", "region": "eu"}, 1),
        (1, {"at_day": None, "region": None}, 1),
    ]


def test_a_spec_is_read_as_it_is_written(main, events):
    assert str(events.spec) == "day(at), region"
    assert list(events.spec) == ["day(at)", "region"]
    assert (len(events.spec), events.spec.id) == (2, 1)
    assert [(one.field_id, one.name) for one in events.spec.fields] == [(1000, "at_day"), (1001, "region")]
    again = main.create_table("again", SCHEMA, partition_by=events.spec, sort_by=["id desc"])
    assert again.spec == events.spec
    assert (str(again.sort_order), again.sort_order.id) == ("id desc nulls last", 1)
    plain = main.create_table("plain", SCHEMA)
    assert (str(plain.spec), plain.spec.id, list(plain.sort_order), plain.primary_key) == ("", 0, [], ())


@pytest.mark.parametrize(
    ("where", "found", "files"),
    [
        ("at = '2026-11-01T23:00:00'", [1], 1),
        ("at < '2026-11-02'", [1, 2, 4], 2),
        ("at >= '2026-11-02' and region = 'eu'", [3], 1),
        ("region in ('us', 'asia')", [2], 1),
        ("region is null", [5], 1),
        ("region is not null", [1, 2, 3, 4], 3),
        ("at > '2027-01-01'", [], 0),
        ("id = 4 or region = 'us'", [2, 4], 2),
    ],
)
@pytest.mark.parametrize("engine", ["arrow", "spark"])
def test_files_of_other_partitions_are_not_opened(request, events, engine, where, found, files):
    read = engine if engine == "arrow" else request.getfixturevalue("spark")
    assert ids(events, read, where=where) == found
    assert len(events.scan(where=where).files()) == files


def test_pruning_by_partition_goes_beyond_statistics(main):
    """Of a bucket the bounds say nothing."""
    table = main.create_table("hashed", SCHEMA, partition_by=["bucket(16, id)"])
    table.append(given_rows(*({"id": one} for one in range(400))))
    assert len(table.scan().files()) == 16
    assert len(table.scan(where="id = 34").files()) == 1
    assert ids(table, where="id = 34") == [34]


def test_specs_evolve_and_old_files_keep_theirs(events, read):
    """KV-15."""
    with events.evolve() as change:
        change.partition_by(["month(at)", "bucket(4, id)"])
    assert change.committed.operations[0].type == "change_spec"
    assert (events.spec.id, [one.field_id for one in events.spec.fields]) == (2, [1002, 1003])
    events.append(given_rows({"id": 6, "region": "eu", "at": moment(1)}, {"id": 7, "at": moment(30)}))
    assert [number for number, _, _ in partitions(events)] == [1, 1, 1, 1, 2, 2]
    assert partitions(events)[4][1].keys() == {"at_month", "id_bucket_4"}
    assert [one.spec_id for one in events.snapshots()] == [2, 1, 1]
    with events.evolve() as change:
        change.partition_by([])
    events.append(given_rows({"id": 8, "region": "eu"}, {"id": 9, "region": "us"}))
    assert partitions(events)[6:] == [(0, {}, 2)]
    assert ids(events, read) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert ids(events, read, where="region = 'eu'") == [1, 3, 4, 6, 8]
    assert ids(events, read, where="at < '2026-11-02'") == [1, 2, 4, 6]


@pytest.fixture(params=["arrow", "spark"])
def read(request):
    return "arrow" if request.param == "arrow" else request.getfixturevalue("spark")


def test_back_and_forth_is_the_same_spec(main, events):
    dev = main.create_branch("dev").table("events")
    for _ in range(3):
        with events.evolve() as change:
            change.partition_by(["region"])
            change.sort_by(["id"])
        assert (events.spec.id, events.sort_order.id) == (2, 1)
        with events.evolve() as change:
            change.partition_by(["day(at)", "region"])
            change.sort_by(["id desc"])
        assert (events.spec.id, events.sort_order.id) == (1, 2)
    with dev.evolve() as change:  # a line that never had it
        change.partition_by(["region"])
        change.sort_by(["id"])
    assert (dev.spec.id, dev.sort_order.id) == (2, 1)
    with events.evolve() as change:
        change.partition_by(["id"])
        change.sort_by(["at"])
    assert (events.spec.id, events.sort_order.id) == (4, 4), "only dev took numbers in vain"


def test_ids_of_partition_fields_are_never_used_again_on_any_line(main, events):
    """KV-15."""
    seen = {(one.source_id, one.transform): one.field_id for one in events.spec.fields}
    for ref, terms in (
        ("a", ["bucket(8, id)"]),
        ("b", ["bucket(9, id)", "year(at)"]),
        ("a", ["region", "bucket(7, id)"]),
        ("b", ["bucket(8, id)", "bucket(6, region)"]),
        ("main", ["hour(at)", "bucket(8, id)"]),
    ):
        line = main.branch(ref) if main.branch_exists(ref) else main.create_branch(ref)
        table = line.table("events")
        with table.evolve() as change:
            change.partition_by(terms)
        for one in table.spec.fields:
            assert seen.setdefault((one.source_id, one.transform), one.field_id) == one.field_id
    assert len(set(seen.values())) == len(seen)
    assert min(seen.values()) == 1000


def test_a_spec_follows_a_column_that_is_renamed(events):
    with events.evolve() as change:
        change.rename_column("region", "area")
    assert str(events.spec) == "day(at), area"
    assert ids(events, where="area = 'us'") == [2]
    assert len(opened_files(events.scan(where="area = 'us'"))) == 1
    with pytest.raises(Invalid, match="region"), events.evolve() as change:
        change.add_column("region", "string")  # readers would take the partition for it


def test_a_column_can_go_when_only_old_files_were_partitioned_by_it(events, read):
    with events.evolve() as change:
        change.partition_by(["day(at)"])
        change.drop_column("region")
    assert ids(events, read) == [1, 2, 3, 4, 5]
    assert ids(events, read, where="at < '2026-11-02'") == [1, 2, 4]
    with events.evolve() as change:
        change.add_column("region", "string", default="eu")
    assert ids(events, read, where="region = 'us'") == []
    assert ids(events, read, where="region = 'eu'") == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("term", ["n", "bucket(4, n)", "truncate(10, n)"])
def test_a_partition_is_found_after_its_column_was_widened(main, term):
    table = main.create_table("t", {"id": "long", "n": "int"}, partition_by=[term])
    table.append(pyarrow.table({"id": [1, 2, 3], "n": pyarrow.array([34, -1, None], pyarrow.int32())}))
    with table.evolve() as change:
        change.widen_column("n", "long")
    table.append(pyarrow.table({"id": [4, 5], "n": pyarrow.array([34, 1 << 40], pyarrow.int64())}))
    assert ids(table, where="n = 34") == [1, 4]
    assert ids(table, where="n < 0") == [2]
    assert ids(table, where="n is null") == [3]
    assert ids(table, where="n > 4000000000") == [5]


@pytest.mark.parametrize("term", ["n", "truncate(10, n)"])
def test_rows_from_before_a_column_was_widened_stayed_when_their_partition_was_overwritten(main, term):
    """The bytes of a partition's value are longer then."""
    table = main.create_table("t", {"id": "long", "n": "int"}, partition_by=[term])
    table.append(pyarrow.table({"id": [1, 2, 3], "n": pyarrow.array([34, -1, None], pyarrow.int32())}))
    with table.evolve() as change:
        change.widen_column("n", "long")
    table.append(pyarrow.table({"id": [4, 5], "n": pyarrow.array([34, 1 << 40], pyarrow.int64())}))
    table.overwrite_partitions(pyarrow.table({"id": [6], "n": pyarrow.array([34], pyarrow.int64())}))
    assert ids(table) == [2, 3, 5, 6]


@pytest.mark.parametrize(
    ("term", "row", "text"),
    [
        ("bucket(2147483647, id)", {"id": 34}, str(2017239379)),
        ("bucket(2147483647, region)", {"region": "iceberg"}, str(1210000089)),
        ("bucket(2147483647, raw)", {"raw": b"\x00\x01\x02\x03"}, str(-188683207 & 0x7FFFFFFF)),
        ("bucket(2147483647, price)", {"price": Decimal("14.20")}, str(-500754589 & 0x7FFFFFFF)),
        ("truncate(10, id)", {"id": -1}, "-10"),
        ("truncate(50, price)", {"price": Decimal("10.65")}, "10.50"),
        ("truncate(3, region)", {"region": "iceberg"}, "ice"),
        ("year(at)", {"at": datetime.datetime(1969, 12, 31, 23, 59, 59)}, "1969"),
        ("month(day)", {"day": datetime.date(1969, 12, 31)}, "1969-12"),
        ("day(at)", {"at": datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)}, "1969-12-31"),
        ("hour(at)", {"at": datetime.datetime(2017, 11, 16, 22, 31, 8)}, "2017-11-16-22"),
        ("place.city", {"place": {"city": "Rome"}}, "Rome"),
        ("void(id)", {"id": 1}, None),
        ("bucket(16, id)", {}, None),
        ("truncate(10, region)", {}, None),
        ("day(at)", {}, None),
    ],
)
def test_a_partition_has_icebergs_value(main, term, row, text):
    """KV-16: the specification's Appendix B, through a table; nulls are a partition of their own."""
    table = main.create_table("t", SCHEMA, partition_by=[term])
    table.append(given_rows({"id": 1, **row} if "id" in row else row))
    [(number, values, _)] = partitions(table)
    assert (number, list(values.values())) == (1, [text])


@pytest.mark.parametrize(
    ("layout", "name"),
    [
        ({"partition_by": ["bucket(id)"]}, "bucket"),
        ({"partition_by": ["truncate(region)"]}, "truncate"),
        ({"partition_by": ["bucket(0, id)"]}, "bucket"),
        ({"partition_by": ["day(region)"]}, "day(region)"),
        ({"partition_by": ["nothing"]}, "nothing"),
        ({"partition_by": ["place"]}, "place"),
        ({"partition_by": ["id", "id"]}, "id"),
        ({"partition_by": ["day(at)", "month(at)"]}, "at_"),
        ({"partition_by": "id"}, "['id']"),
        ({"partition_by": [None]}, "None"),
        ({"sort_by": ["id sideways"]}, "sideways"),
        ({"sort_by": "id"}, "['id']"),
        ({"primary_key": ["nothing"]}, "nothing"),
        ({"primary_key": ["place"]}, "place"),
        ({"primary_key": "id"}, "['id']"),
        ({"primary_key": [7]}, "7"),
        ({"location": "../elsewhere"}, "elsewhere"),
    ],
)
def test_a_table_that_can_not_be_laid_out_so_is_not_made(main, unchanged, layout, name):
    with unchanged(), pytest.raises(Invalid) as caught:
        main.create_table("t", SCHEMA, **layout)
    assert name in str(caught.value)


def test_the_columns_of_a_key_become_required_and_no_other(main, unchanged):
    table = main.create_table("t", SCHEMA, primary_key=["ID", ("place", "city")])
    assert table.primary_key == ("id", "place.city")
    required = [one.name for one in table.schema.fields if one.required]
    assert required == ["id", "place"]
    assert table.schema.find("place.city").required
    with unchanged(), pytest.raises(Invalid, match="id"):
        table.append(given_rows({"region": "eu"}))


def test_rows_of_a_file_are_sorted(main):
    table = main.create_table("t", SCHEMA, sort_by=["region desc nulls first", "id"])
    table.append(given_rows({"id": 3, "region": "eu"}, {"id": 1, "region": "us"}, {"id": 2}, {"id": 1, "region": "eu"}))
    found = table.scan(columns=["id", "region"]).to_arrow().to_pylist()
    assert [(one["region"], one["id"]) for one in found] == [(None, 2), ("us", 1), ("eu", 1), ("eu", 3)]


def test_a_location_is_a_folder_of_the_lake(main, folder):
    tables = [main.create_table(name, {"id": "long"}, location="cold/store") for name in ("a", "b")]
    for table in tables:
        table.append(pyarrow.table({"id": [1]}))
        assert all(path.startswith(f"{folder}/cold/store/{table.id}/") for path in table.scan().files())


def test_a_table_at_the_place_of_the_catalog_was_acknowledged(main, unchanged):
    other = main.create_table("other", {"id": "long"})
    for location in ("catalog.db", "tables/../catalog.db", other.location, "..", f"{'x' * 200}/" * 5 + "x"):
        with unchanged(), pytest.raises(Invalid, match=r"can't be there|not allowed"):
            main.create_table("t", {"id": "long"}, location=location)


def test_an_event_id_stands_for_the_whole_layout(main, unchanged):
    layout = {"partition_by": ["day(at)"], "sort_by": ["id"], "primary_key": ["id"], "location": "cold"}
    once = event_id("make")
    made = main.create_table("t", SCHEMA, **layout, event_id=once)
    assert main.create_table("t", SCHEMA, **layout, event_id=once) == made
    for other in ({"partition_by": []}, {"sort_by": ["at"]}, {"primary_key": []}, {"location": None}):
        with unchanged(), pytest.raises(Invalid, match="another change"):
            main.create_table("t", SCHEMA, **{**layout, **other}, event_id=once)


def test_a_transaction_sees_its_own_partitions(main, events):
    with main.transaction("t") as tx:
        inside = tx.table("events")
        with inside.evolve() as change:
            change.partition_by(["truncate(1, region)"])
        inside.append(given_rows({"id": 6, "region": "us"}))
        assert ids(inside, where="region = 'us'") == [2, 6]
        assert len(inside.scan(where="region = 'us'").files()) == 2
        assert str(events.spec) == "day(at), region"
    assert partitions(events)[-1] == (2, {"region_trunc_1": "u"}, 1)


def test_what_a_transaction_read_by_a_partition_is_not_touched_by_another(main, events):
    """The partition rules the other file out, as its statistics do."""
    with main.transaction("t") as tx:
        assert ids(tx.table("events"), where="region = 'us'") == [2]
        events.append(given_rows({"id": 6, "region": "eu", "at": moment(9)}))
        tx.set_properties({"seen": "us"})
    with pytest.raises(Conflict), main.transaction("t") as tx:
        assert ids(tx.table("events"), where="region = 'us'") == [2]
        events.append(given_rows({"id": 7, "region": "us"}))
        tx.set_properties({"seen": "us again"})


TERMS = ["id", "bucket(3, id)", "truncate(4, id)", "region", "truncate(1, region)", "bucket(2, region)", "day(at)"]
ROWS = st.fixed_dictionaries(
    {
        "id": st.none() | st.integers(-9, 9),
        "region": st.none() | st.sampled_from(["", "eu", "us", "e"]),
        "at": st.none() | st.integers(-50, 50).map(lambda hours: moment(15) + datetime.timedelta(hours=hours)),
    }
)
CONDITIONS = [
    "id = 3",
    "id <> 3",
    "id < -1",
    "id >= 0",
    "id in (1, 5)",
    "id not in (1, 5)",
    "id is null",
    "region = 'eu'",
    "region > 'e'",
    "region <= 'e'",
    "region is not null",
    "at < '2026-11-15'",
    "at >= '2026-11-15T01:00:00'",
    "at = '2026-11-15' or id = 2",
    "not (id = 3 and region = 'eu')",
]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(TERMS), unique=True, max_size=2), st.lists(ROWS, max_size=6)), max_size=3
    )
)
def test_pruned_reads_have_the_rows_of_whole_ones(main, batches):
    """Law 7, over specs that changed between the files."""
    schema = {"id": "long", "region": "string", "at": "timestamp"}
    split = main.create_table(f"split{len(main.tables())}", schema)
    plain = main.create_table(f"plain{len(main.tables())}", schema)
    for terms, found in batches:
        with split.evolve() as change:
            change.partition_by(terms)
        rows = pyarrow.Table.from_pylist(found, pyarrow.schema([ARROW.field(name) for name in schema]))
        split.append(rows)
        plain.append(rows)
    for where in CONDITIONS:
        assert sorted_rows(split, where) == sorted_rows(plain, where), where


def sorted_rows(table, where):
    return sorted(map(repr, table.scan(where=where).to_arrow().to_pylist()))


@pytest.mark.parametrize("type", ["float", "double"])
def test_a_partition_of_nan_was_overwritten_for_one_sign_of_it_alone(main, type):
    """What the processor makes of 0/0 has another sign than Python's NaN has."""
    table = main.create_table("t", {"x": type, "id": "long"}, partition_by=["x"])
    form = {"float": pyarrow.float32(), "double": pyarrow.float64()}[type]
    nans = pyarrow.array([math.nan, -math.nan, None, 1.5], form)
    table.append(pyarrow.table({"x": nans, "id": [1, 2, 3, 4]}))
    table.overwrite_partitions(pyarrow.table({"x": nans.slice(1, 1), "id": [5]}))
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [3, 4, 5]
    assert table.scan("isnan(x)").to_arrow()["id"].to_pylist() == [5]


def test_a_partition_field_keeps_its_chosen_name(main):
    table = main.create_table("named", {"id": "long", "at": "timestamp"}, partition_by=["day(at) as date"])
    table.append([{"id": 1, "at": datetime.datetime(2026, 11, 1)}])
    assert str(table.spec) == "day(at) as date"
    assert "day(at) as date" in str(table.describe())
    with table.evolve() as change:
        change.rename_column("at", "moment")
        change.add_partition_field("bucket(4, id) as part")
    assert list(table.spec) == ["day(moment) as date", "bucket(4, id) as part"]
    table.append([{"id": 2, "moment": datetime.datetime(2026, 11, 2)}])
    files = main.inspect("__files")["partition_values"].to_pylist()
    assert [json.loads(one).keys() for one in files] == [{"date"}, {"date", "part"}]
    assert table.describe().metadata()["partition-specs"][-1]["fields"][0]["name"] == "date"
    exported = json.loads(Path(table.export_iceberg().removeprefix("file://")).read_text())
    assert [[one["name"] for one in spec["fields"]] for spec in exported["partition-specs"]] == [
        ["date"],
        ["date", "part"],
    ]
    assert {key for spec in exported["partition-specs"] for one in spec["fields"] for key in one} == {
        "field-id",
        "name",
        "source-id",
        "transform",
    }
    assert len(opened_files(table.scan(where="moment < '2026-11-02'"))) == 1
    copy = main.create_table("copy", table.schema, partition_by=table.spec)
    assert list(copy.spec) == list(table.spec)
    with table.evolve() as change:
        change.replace_partition_field("date", "month(moment) as month")
        change.drop_partition_field("bucket(4, id) as part")
    assert list(table.spec) == ["month(moment) as month"]
    for term, problem in (("bucket(2, id) as Month", "same name"), ("bucket(2, id) as moment", "column's name")):
        with pytest.raises(Invalid, match=problem), table.evolve() as change:
            change.add_partition_field(term)
    with pytest.raises(Invalid, match="column's name"), table.evolve() as change:
        change.add_column("month", "string")


def test_a_chosen_name_comes_with_a_merge(main):
    table = main.create_table("named", {"id": "long", "at": "timestamp"}, partition_by=["day(at)"])
    dev = main.create_branch("dev")
    with dev.table("named").evolve() as change:
        change.replace_partition_field("day(at)", "day(at) as date")
    main.merge(dev)
    assert (list(table.spec), table.spec.fields[0].field_id) == (["day(at) as date"], 1001)
