"""CSV and lines of JSON become rows of a table; what can't be read is refused, or set apart with its place."""

import bz2
import datetime
import gzip
import json
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from lakebed.arrow.text import csv, sample
from lakebed.arrow.text import json as json_text
from lakebed.errors import Invalid, NotFound
from lakebed.lake.imports import batches, text
from tests.lake.imports.conftest import contents, rows


@pytest.fixture
def write(source: Path):
    """Write a file of text below the source."""

    def write(name: str, content: str | bytes) -> str:
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


ORDERS = """id,price,day,at,zip,name,ok
1,1.5,2026-01-05,2026-01-05T10:00:00Z,01234,"Müller, A.",true
2,,2026-01-06,2026-01-06 11:30:00+02:00,98765,,false
"""


def nested(levels: int) -> str:
    """A line with objects in objects."""
    return '{"a":' * levels + "1" + "}" * levels + "\n"


# CSV


def test_a_csv_becomes_a_table(main, source, write):
    write("a.csv", ORDERS)
    theirs = contents(source)
    tried = main.import_csv("sales.orders", source, dry_run=True)
    assert not main.table_exists("sales.orders")
    assert [(one.name, one.type) for one in tried.columns] == [
        ("id", "long"),
        ("price", "double"),
        ("day", "date"),
        ("at", "timestamptz"),
        ("zip", "string"),
        ("name", "string"),
        ("ok", "boolean"),
    ]
    done = main.import_csv("sales.orders", source, message="load")
    assert (tried.rows, done.rows, done.source_rows, tried.columns) == (2, 2, 2, done.columns)
    assert [commit.message for commit in main.table("sales.orders").history()] == ["load"]
    utc = datetime.UTC
    assert rows(main.table("sales.orders")) == [
        (1, 1.5, datetime.date(2026, 1, 5), datetime.datetime(2026, 1, 5, 10, tzinfo=utc), "01234", "Müller, A.", True),
        (2, None, datetime.date(2026, 1, 6), datetime.datetime(2026, 1, 6, 9, 30, tzinfo=utc), "98765", "", False),
    ]
    assert contents(source) == theirs


def test_a_second_call_brings_new_files_and_their_types_are_the_tables(main, source, write):
    write("a.csv", "id,name\n1,x\n")
    main.import_csv("t", source)
    write("b.csv", "name,id\n7,2\n")
    found = main.import_csv("t", source)
    assert (found.files, found.known_files, found.rows) == (1, 1, 1)
    assert main.import_csv("t", source).commit is None
    assert rows(main.table("t")) == [(1, "x"), (2, "7")]


def test_the_rows_are_those_that_duckdb_reads(main, write):
    lines = [
        f'{number},{number / 7},"text, {number} ""q"" \n next",2026-{number % 12 + 1:02}-03' for number in range(500)
    ]
    path = write("a.csv", "\n".join(["id,d,t,day", *lines]) + "\n")
    main.import_csv("t", path)
    theirs = duckdb.sql(f"select * from read_csv('{path}', header=true, delim=',', quote='\"', escape='\"')").fetchall()
    assert rows(main.table("t")) == sorted(theirs, key=repr)


@pytest.mark.parametrize("block", [1 << 20, 64])
def test_a_row_that_can_not_be_read_is_named_by_its_place(main, write, monkeypatch, block):
    monkeypatch.setattr(csv, "BLOCK_BYTES", block)
    good = "".join(f"{number},1.5,2026-01-01\n" for number in range(40))
    path = write("a.csv", f"id,price,day\n{good}x,1.5,2026-01-01\n7\n8,oops,2026-13-45\n1,2,2026-01-01,4\n{good}")
    monkeypatch.setattr(sample, "SAMPLE_BYTES", 100)
    with pytest.raises(Invalid, match="row 42: id: 'x' is not a long") as refused:
        main.import_csv("t", path)
    assert "row 43: 1 values, and there are 3 columns" in str(refused.value)
    assert "row 44: price: 'oops' is not a double; day: '2026-13-45' is not a date" in str(refused.value)
    assert "row 45: 4 values, and there are 3 columns" in str(refused.value)
    assert not main.table_exists("t")
    found = main.import_csv("t", path, on_bad="quarantine")
    assert (found.rows, found.quarantined, found.source_rows) == (80, 4, 84)
    assert "set apart in t__rejects" in str(found)
    assert [row[1] for row in rows(main.table("t__rejects"))] == [42, 43, 44, 45]
    [wrong] = [row for row in rows(main.table("t__rejects")) if row[1] == 44]
    assert json.loads(wrong[3]) == {"id": "8", "price": "oops", "day": "2026-13-45"}
    assert main.table("t").version == main.table("t__rejects").version == found.commit.version


def test_types_can_be_given(main, write):
    path = write("a.csv", "id,price,note\n007,1.10,x\n008,2.25,\n")
    main.import_csv("t", path, schema={"ID": "int", "price": "decimal(10, 2)"})
    assert rows(main.table("t")) == [(7, Decimal("1.10"), "x"), (8, Decimal("2.25"), "")]
    with pytest.raises(Invalid, match="nothing: a type is given for it, and no file has the column"):
        main.import_csv("other", path, schema={"nothing": "int"})
    with pytest.raises(Invalid, match=r"price: '1\.10' is not a decimal\(10, 1\)|'2\.25'"):
        main.import_csv("other", path, schema={"price": "decimal(10, 1)"})


def test_a_file_without_a_header(main, write):
    path = write("a.csv", "1;x\ny;z\n")
    with pytest.raises(Invalid, match="nothing names the columns"):
        main.import_csv("t", path, header=False)
    with pytest.raises(Invalid, match="row 2: id: 'y' is not a long"):
        main.import_csv("t", path, header=False, delimiter=";", schema={"id": "long", "name": "string"})
    main.import_csv("t", path, header=False, delimiter=";", schema={"id": "string", "name": "string"})
    assert rows(main.table("t")) == [("1", "x"), ("y", "z")]


def test_what_is_null(main, write):
    path = write("a.csv", "a,b\nNA,NA\n-,-\n5,\n")
    with pytest.raises(Invalid, match="row 3: a: '-' is not a long"):
        main.import_csv("t", path, schema={"a": "long"})
    main.import_csv("t", path, schema={"a": "long"}, nulls=["-", "NA"])
    assert rows(main.table("t")) == [(5, ""), (None, None), (None, None)]


def test_tabs_compression_and_folders(main, source, write):
    write("a.tsv", "id\tname\n1\ta b\n")
    main.import_csv("tabs", source / "a.tsv")
    assert rows(main.table("tabs")) == [(1, "a b")]
    write("deep/b.csv.gz", gzip.compress(b"id,name\n2,x\n"))
    main.import_csv("zipped", source / "deep")
    assert rows(main.table("zipped")) == [(2, "x")]


def test_columns_of_files_that_differ(main, source, write):
    write("a.csv", "id,x\n1,2\n")
    write("b.csv", "y,id\n1.5,2\n")
    main.import_csv("t", source)
    assert rows(main.table("t"), "id", "x", "y") == [(1, 2, None), (2, None, 1.5)]
    write("c.csv", "id,z\n3,q\n")
    with pytest.raises(Invalid, match="z: the table has no such column"):
        main.import_csv("t", source)
    main.import_csv("t", source, evolve="add")
    write("d.csv", "id,w\n4,q\n")
    main.import_csv("t", source, leave_out=["W"])
    assert rows(main.table("t"), "id", "z") == [(1, None), (2, None), (3, "q"), (4, None)]


def test_bytes_that_are_not_text(main, write):
    path = write("a.csv", b"id,name\n1,M\xfcller\n2,ok\n")
    with pytest.raises(Invalid, match="row 2: name: 'M\ufffdller' is not a string"):
        main.import_csv("t", path)
    assert main.import_csv("t", path, on_bad="quarantine").quarantined == 1
    with pytest.raises(Invalid, match="iconv"):
        main.import_csv("u", write("b.csv", b"id,n\xfc\n1,2\n"))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "Empty CSV"),
        ("a,a\n1,2\n", "comes twice"),
        ("_row_id\n1\n", "Iceberg reserves"),
    ],
)
def test_files_that_are_no_csv(main, write, content, problem):
    with pytest.raises(Invalid, match=problem):
        main.import_csv("t", write("a.csv", content))
    with pytest.raises(Invalid, match=problem):
        main.import_csv("t", write("a.csv", content), on_bad="quarantine")


def test_a_quote_that_never_ends_is_one_row(main, write):
    path = write("a.csv", 'id,name\n1,a\n2,"b\n' + "3,c\n" * 20_000)
    found = main.import_csv("t", path, on_bad="quarantine")
    assert (found.rows, found.quarantined) == (1, 1)
    [[_, row, _, kept]] = rows(main.table("t__rejects"))
    assert (row, len(kept)) == (3, 10_001)


@pytest.mark.parametrize(
    ("end", "bad"),
    [
        ('2,"b\n', 1),
        ('2,"b', 1),
        ('2,"b\nc"\n', 0),
        ('2,"b"', 0),
        ('2,"b"\r\n', 0),
        ('2,5"\n', 0),
        ("2,b\n", 0),
        ('2,""\n', 0),
    ],
)
def test_what_is_a_quote_that_never_ends(main, write, end, bad):
    assert main.import_csv("t", write("a.csv", f"id,name\n1,a\n{end}"), on_bad="quarantine").quarantined == bad


def test_required_columns_need_values(main, write):
    main.create_table("t", {"id": "long", "n": "long"}, primary_key=["id"])
    path = write("a.csv", "id,n\n,1\n2,\n")
    with pytest.raises(Invalid, match="row 2: id: no value, and the table requires one"):
        main.import_csv("t", path)
    with pytest.raises(Invalid, match="id: no value"):
        main.import_csv("t", write("b.csv", "n\n1\n"))


def test_defaults_of_columns_that_files_lack(main, write):
    main.create_table("t", {"id": "long"})
    with main.table("t").evolve() as change:
        change.add_column("kind", "string", default="csv")
        change.add_column("day", "date", default=datetime.date(2026, 1, 1))
    main.import_csv("t", write("a.csv", "id\n1\n"))
    assert rows(main.table("t")) == [(1, "csv", datetime.date(2026, 1, 1))]


def test_too_many_bad_rows_are_no_quarantine(main, write, monkeypatch):
    monkeypatch.setattr(text, "MOST_BAD", 50)
    path = write("a.csv", "id\n1\n" + "x\n" * 60)
    monkeypatch.setattr(sample, "SAMPLE_BYTES", 6)
    with pytest.raises(Invalid, match=r"more than .* rows can't be read"):
        main.import_csv("t", path, on_bad="quarantine")
    assert main.tables() == []


# JSON


LINES = """
{"id": 1, "at": "2026-01-05T10:00:00Z", "day": "2026-01-05", "tags": ["a", "b"], "who": {"name": "x", "age": 3}}
{"ID": 2, "at": "2026-01-05T12:00:00+02:00", "price": 1.5, "who": {"name": null}, "tags": []}

{"id": 3, "none": null}
"""


def test_lines_of_json_become_a_table(main, source, write):
    write("a.jsonl", LINES)
    tried = main.import_json("t", source, dry_run=True)
    assert {one.name: one.type for one in tried.columns} == {
        "id": "long",
        "at": "timestamptz",
        "day": "date",
        "tags": "list<string>",
        "who": "struct<name: string, age: long>",
        "price": "double",
        "none": "string",
    }
    done = main.import_json("t", source)
    assert (tried.rows, done.rows, done.source_rows) == (3, 3, 3)
    moment = datetime.datetime(2026, 1, 5, 10, tzinfo=datetime.UTC)
    assert rows(main.table("t"), "id", "at", "tags", "who", "price") == [
        (1, moment, ["a", "b"], {"name": "x", "age": 3}, None),
        (2, moment, [], {"name": None, "age": None}, 1.5),
        (3, None, None, None, None),
    ]
    write("b.jsonl", '{"id": 4}')
    assert main.import_json("t", source).rows == 1


HOSTILE = [
    ("null", "not an object"),
    ("[1]", "not an object"),
    ('{"id": 1}{"id": 2}', "not JSON"),
    ('{"id": 1} null', "not JSON"),
    ('{"id": 1', "not JSON"),
    ('{"id": 1, "id": 2}', "specified twice"),
    ('{"id": 1, "ID": 2}', "two keys are the same"),
    ('{"id": "x"}', "Column"),
    ('{"id": 9223372036854775808}', "couldn't parse"),
    ('{"id": 1.5}', "couldn't parse"),
    ('{"id": 1, "s": {"a": 1, "b": 2}}', "s.b: there is no such column"),
    ('{"id": 1, "l": [{"a": 1}, {"c": 2}]}', "l.element.c: there is no such column"),
    ('{"id": 1, "day": "tomorrow"}', "day: 'tomorrow' is not a date"),
    ('{"id": 1, "local": "2026-01-01T00:00:00Z"}', "local: '2026-01-01T00:00:00Z' is not a timestamp"),
    ('{"id": 1, "u": "x"}', "u: 'x' is not an uuid"),
    ('{"id": 1, "d": 1.234}', "requires scale 3"),
    ('{"id": 1, "s": 5}', "Column"),
    ('{"id": 1, "name": "\\ud800"}', "surrogate"),
    ("[" * 20_000, "nested too deeply"),
    ("\x00\x01", "not JSON"),
    ('{"id": 1, "m": [1]}', "m: not an object, as a map is written"),
    ('{"id": 1, "m": {"k": "x"}}', "x"),
]


def test_lines_that_can_not_be_read_are_set_apart(main, write, monkeypatch):
    monkeypatch.setattr(json_text, "BLOCK_BYTES", 100)
    schema = {
        "id": "long",
        "name": "string",
        "s": "struct<a: long>",
        "l": "list<struct<a: long>>",
        "day": "date",
        "local": "timestamp",
        "u": "uuid",
        "d": "decimal(10, 2)",
        "m": "map<string, long>",
        "t": "time",
        "f": "fixed(2)",
        "b": "binary",
    }
    good = {"id": 7, "day": "2026-01-01", "local": "2026-01-01 10:00:00", "d": 1.25, "m": {"k": 1}, "t": "10:00:00"}
    lines = [json.dumps(good)]
    for line, _ in HOSTILE:
        lines += [line, json.dumps(good)]
    path = write("a.json", "\r\n".join(lines))
    found = main.import_json("t", path, schema=schema, on_bad="quarantine")
    assert (found.quarantined, found.rows) == (len(HOSTILE), len(HOSTILE) + 1)
    apart = {row[1]: row for row in rows(main.table("t__rejects"))}
    for place, (line, problem) in enumerate(HOSTILE):
        _, _, reason, kept = apart[2 * place + 2]
        assert problem in reason, (line[:80], reason)
        assert kept == (line if len(line) < 10_000 else f"{line[:10_000]}…")
    whole = main.table("t").scan().to_arrow().to_pylist()
    assert {repr(sorted(row.items())) for row in whole} == {repr(sorted(whole[0].items()))}
    assert (whole[0]["d"], whole[0]["m"], whole[0]["t"]) == (Decimal("1.25"), [("k", 1)], datetime.time(10))
    with pytest.raises(Invalid, match="row 2: not an object"):
        main.import_json("u", path, schema=schema)


def test_types_that_sql_does_not_cast_from_text(main, write):
    own = "5a1e51ba-0001-4000-8000-000000000000"
    path = write("a.csv", f"t,u,f,b\n10:00,{own},ab,x\n25:00,,abc,\n10:00:00.1234567,7,,\n")
    schema = {"t": "time", "u": "uuid", "f": "fixed(2)", "b": "binary"}
    found = main.import_csv("t", path, schema=schema, on_bad="quarantine")
    assert (found.rows, found.quarantined) == (1, 2)
    [[time, kept, fixed, binary]] = rows(main.table("t"))
    assert (time, str(kept), fixed, binary) == (datetime.time(10), own, b"ab", b"x")
    with pytest.raises(Invalid, match="is not a list<long>"):
        main.import_csv("u", path, schema={"t": "list<long>"})


def test_empty_files_of_json(main, source, write):
    write("a.json", "\n\n")
    found = main.import_json("t", source)
    assert (found.commit, found.files, found.empty_files) == (None, 0, 1)
    write("b.json", '{"id": 1}\n')
    assert main.import_json("t", source).files == 2


def test_a_key_that_comes_later_is_not_lost(main, write, monkeypatch):
    monkeypatch.setattr(sample, "SAMPLE_BYTES", 10)
    monkeypatch.setattr(json_text, "BLOCK_BYTES", 20)
    path = write("a.json", '{"id": 1}\n{"id": 2}\n{"id": 3, "late": "x"}\n')
    with pytest.raises(Invalid, match="row 3: late: there is no such column"):
        main.import_json("t", path)
    main.import_json("t", path, schema={"late": "string"})
    assert rows(main.table("t")) == [(1, None), (2, None), (3, "x")]
    main.import_json("u", path, leave_out=["late"])
    assert rows(main.table("u")) == [(1,), (2,), (3,)]


def test_an_array_is_no_lines(main, write):
    with pytest.raises(Invalid, match=r"jq -c '\.\[\]' FILE"):
        main.import_json("t", write("a.json", '[{"id": 1}]'))


def test_the_type_of_most_values_is_the_columns(main, write):
    lines = [
        {"k": 1, "t": "2026-01-01"},
        {"k": 2.5, "t": "soon"},
        {"k": "x"},
        {"k": 3, "l": []},
        {"l": [1]},
        {"l": ["a"]},
    ]
    path = write("a.json", "\n".join(map(json.dumps, lines)))
    found = main.import_json("t", path, on_bad="quarantine")
    assert {one.name: one.type for one in found.columns} == {"k": "double", "t": "string", "l": "list<long>"}
    assert [row[1] for row in rows(main.table("t__rejects"))] == [3, 6]


def test_columns_of_csv_whose_types_differ_are_text(main, source, write):
    write("a.csv", "k\n1\n")
    write("b.csv", "k\nx\n")
    main.import_csv("t", source)
    assert rows(main.table("t")) == [("1",), ("x",)]


# Both


@pytest.mark.parametrize("call", ["import_csv", "import_json"])
def test_batches_that_stopped_go_on(main, source, write, monkeypatch, call):
    monkeypatch.setattr(batches, "BATCH_BYTES", 1)
    for number in range(4):
        write(f"{number}.txt", f"id\n{number}\nx\n" if call == "import_csv" else f'{{"id": {number}}}\nx\n')
    own, done = batches._batch, []

    def stopping(*arguments):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(own(*arguments))
        return done[-1]

    monkeypatch.setattr(batches, "_batch", stopping)
    schema = {"id": "long"}
    with pytest.raises(KeyboardInterrupt):
        getattr(main, call)("t", source, schema=schema, on_bad="quarantine")
    monkeypatch.setattr(batches, "_batch", own)
    found = getattr(main, call)("t", source, schema=schema, on_bad="quarantine")
    assert (found.files, found.rows, found.quarantined) == (2, 2, 2)
    assert rows(main.table("t")) == [(0,), (1,), (2,), (3,)]
    assert len(rows(main.table("t__rejects"))) == 4


def test_a_file_that_was_changed_is_a_misfit(main, write):
    path = write("a.csv", "id\n1\n")
    main.import_csv("t", path)
    write("a.csv", "id\n2\n")
    with pytest.raises(Invalid, match="it was changed after it was imported"):
        main.import_csv("t", path)


def test_arguments_are_checked(main, write):
    path = write("a.csv", "id\n1\n")
    for wrong in ({"on_bad": "drop"}, {"delimiter": ";;"}, {"evolve": "all"}, {"schema": {"id": "number?"}}):
        with pytest.raises(Invalid):
            main.import_csv("t", path, **wrong)
    with pytest.raises(NotFound):
        main.import_csv("t", f"{path}x")
    with pytest.raises(Invalid, match="not a Spark session"):
        main.import_csv("t", path, spark="spark")


def test_a_layout_of_a_new_table(main, write):
    path = write("a.csv", "id,day\n1,2026-01-05\n2,2026-02-05\n2,2026-02-05\n")
    with pytest.raises(Invalid, match="primary key"):
        main.import_csv("t", path, primary_key=["id"])
    main.import_csv("t", path, partition_by=["month(day)"], sort_by=["id desc"])
    assert list(main.table("t").spec) == ["month(day)"]


# Hostile files


@pytest.mark.parametrize("levels", [40, 250, 900, 5000])
def test_a_line_with_objects_in_objects_is_refused_and_does_not_end_in_a_recursion_error(main, write, levels):
    path = write("deep.json", nested(levels))
    with pytest.raises(Invalid, match="nested too deeply"):
        main.import_json("t", path)
    write("deep.json", '{"a": ' + "[" * levels + "]" * levels + "}\n")
    with pytest.raises(Invalid, match="nested too deeply"):
        main.import_json("t", path)


def test_a_line_that_is_too_deep_is_set_apart_and_the_others_are_imported(main, write):
    path = write("deep.json", '{"a": 1}\n' + nested(300) + '{"a": 2}\n')
    found = main.import_json("t", path, on_bad="quarantine")
    assert (found.rows, found.quarantined) == (2, 1)
    assert "nested too deeply" in main.table("t__rejects").scan().to_arrow()["reason"][0].as_py()
    assert (
        main.import_json("u", write("left.json", '{"b": 1, "a": ' + nested(300)[:-1] + "}\n"), leave_out=["a"]).rows
        == 1
    )


def damaged(content: bytes) -> dict[str, bytes]:
    """Files whose name says that they are compressed, and which can't be decompressed."""
    zipped = gzip.compress(content)
    flipped = bytearray(zipped)
    flipped[-6] ^= 1
    return {
        "plain.gz": content,
        "cut.gz": zipped[: len(zipped) // 2],
        "without_its_end.gz": zipped[:-4],
        "flipped.gz": bytes(flipped),
        "plain.bz2": content,
        "cut.bz2": bz2.compress(content)[:-9],
    }


@pytest.mark.parametrize("name", damaged(b""))
def test_a_damaged_compressed_file_is_invalid_and_not_an_error_of_the_system(main, write, name):
    lines = damaged(b"".join(b"%d,%d\n" % (row, row * row) for row in range(1000)))[name]
    with pytest.raises(Invalid, match="can't be decompressed"):
        main.import_csv("t", write(f"a.csv.{name}", lines))
    lines = damaged(b"".join(b'{"a": %d}\n' % row for row in range(1000)))[name]
    with pytest.raises(Invalid, match="can't be decompressed"):
        main.import_json("t", write(f"a.json.{name}", lines))
    assert not main.table_exists("t")
