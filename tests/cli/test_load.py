"""Rows in and out: load, export, query."""

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from tests.cli.conftest import Cli
from tests.support.damage.mutate import footer_span, mutated

CSV = "id,zip,price,at,empty\n1,00123,9.5,2026-11-01T10:00:00,\n2,45678,12,2026-11-02T11:00:00,\n"


@pytest.fixture
def empty(folder: Path) -> lakebed.Lake:
    return lakebed.connect(folder, author="ada")


def test_a_csv_becomes_a_table_with_its_namespace_in_one_commit(cli: Cli, empty: lakebed.Lake, folder: Path) -> None:
    (folder / "orders.csv").write_text(CSV)
    answer = cli("load", "sales.orders", "orders.csv", "-m", "first")
    assert answer.out == "version 3: sales.orders created, loaded 2 rows\n"
    assert "id long, zip string, price double, at timestamp, empty string" in answer.err
    [commit] = empty.catalog().log()
    assert commit.message == "first"
    rows = empty.catalog().table("sales.orders").scan().to_arrow().to_pylist()
    assert rows[0] == {"id": 1, "zip": "00123", "price": 9.5, "at": datetime(2026, 11, 1, 10), "empty": None}


def test_a_table_with_a_key_is_upserted_and_one_without_is_appended_to(cli: Cli, empty: lakebed.Lake) -> None:
    for table, key, rows in (("a.keyed", ["--primary-key", "id"], 2), ("a.plain", [], 3)):
        assert cli("load", table, "-", *key, given="id,v\n1,a\n2,b\n").code == 0
        assert cli("load", table, "-", given="id,v\n2,c\n").code == 0
        assert cli("count", table).out == f"{rows}\n"


def test_an_existing_table_gives_a_csv_its_types(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("load", "sales.orders", "-", "--append", given="id,price,note\n7,1,123\n").code == 0
    assert lake.catalog().table("sales.orders").get(7) == {"id": 7, "price": 1.0, "note": "123"}


def test_modes_refuse_what_they_do_not_mean(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("load", "sales.orders", "-", "--create", given="id\n1\n").code == 8
    assert cli("load", "sales.new", "-", "--append", given="id\n1\n").code == 7
    assert cli("load", "sales.orders", "-", "--primary-key", "id", given="id\n1\n").code == 9
    assert cli("count", "sales.orders").out == "3\n"


def test_an_upsert_that_is_to_add_columns_is_refused_and_not_half_heeded(cli: Cli, lake: lakebed.Lake) -> None:
    answer = cli("load", "sales.orders", "-", "--evolve", given="id,region\n8,eu\n")
    assert answer.code == 9
    assert "lakebed evolve sales.orders --add" in answer.err


def test_overwrite_replaces_all_rows_and_evolve_adds_columns(cli: Cli, lake: lakebed.Lake) -> None:
    refused = cli("load", "sales.orders", "-", "--append", given="id,region\n8,eu\n")
    assert refused.code == 9
    assert cli("load", "sales.orders", "-", "--append", "--evolve", given="id,region\n8,eu\n").code == 0
    assert cli("load", "sales.orders", "-", "--overwrite", given="id,region\n9,us\n").code == 0
    assert cli("head", "sales.orders", "-c", "id,region").lines == ["id\tregion", "9\tus"]


def test_json_lines_and_compressed_files_are_known_by_their_names(cli: Cli, empty: lakebed.Lake, folder: Path) -> None:
    (folder / "events.jsonl").write_text('{"id": 1, "tags": ["a"]}\n{"id": 2, "tags": []}\n')
    with gzip.open(folder / "orders.csv.gz", "wt") as file:
        file.write(CSV)
    assert cli("load", "web.events", "events.jsonl").code == 0
    assert cli("head", "web.events", "--json").json == [{"id": 1, "tags": ["a"]}, {"id": 2, "tags": []}]
    assert cli("load", "web.orders", "orders.csv.gz").code == 0
    assert cli("load", "web.more", "-", given='{"a": 1}\n').code == 0


def test_a_folder_of_parquet_is_loaded_with_the_columns_of_its_folders(
    cli: Cli, empty: lakebed.Lake, folder: Path
) -> None:
    for month in (1, 2):
        (folder / f"data/month={month}").mkdir(parents=True)
        pq.write_table(pa.table({"id": [month * 10, month * 10 + 1]}), folder / f"data/month={month}/part.parquet")
    assert cli("load", "a.b", "data").code == 0
    assert sorted(row["month"] for row in cli("head", "a.b", "--json").json) == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "id,v\n1\n2,3,4\n"),
        ("b.csv", "id,id\n1,2\n"),
        ("c.csv", ""),
        ("a.jsonl", "{nonsense"),
        ("a.parquet", "not parquet"),
        ("a.what", "x"),
    ],
)
def test_rows_that_cannot_be_read_are_invalid_and_change_nothing(
    cli: Cli, empty: lakebed.Lake, folder: Path, name: str, content: str
) -> None:
    (folder / name).write_text(content)
    answer = cli("load", "a.b", name)
    assert answer.code == 9, answer.err
    assert name in answer.err
    assert empty.catalog().log() == []


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_what_is_exported_can_be_loaded_again(cli: Cli, lake: lakebed.Lake, folder: Path, format: str) -> None:
    file = f"orders.{format}"
    assert cli("export", "sales.orders", file, "--json").json[0]["rows"] == 3
    assert not list(folder.glob("*.partial"))
    assert cli("export", "sales.orders", file).code == 8
    assert cli("export", "sales.orders", file, "--replace").code == 0
    assert cli("load", "sales.again", file).code == 0
    [before, after] = [cli("head", f"sales.{name}", "--json", "-c", "id,price").json for name in ("orders", "again")]
    assert before == after


def test_an_export_to_the_output_is_nothing_but_rows(cli: Cli, lake: lakebed.Lake) -> None:
    out = cli("export", "sales.orders", "-", "--format", "json", "--where", "id = 1").out
    assert json.loads(out) == {"id": 1, "price": 9.5, "note": "a"}


def test_a_query_reads_branches_and_moments(cli: Cli, lake: lakebed.Lake) -> None:
    pytest.importorskip("duckdb", reason="pip install 'lakebed[duckdb]'")
    lake.catalog().create_branch("dev").table("sales.orders").append([{"id": 9}])
    assert cli("query", "select count(*) as n from sales.orders@dev").lines == ["n", "4"]
    assert cli("query", "-", "--at", "3", given="select count(*) as n from sales.orders").lines == ["n", "0"]
    assert cli("query", "delete from sales.orders").code == 9


def test_a_query_without_duckdb_says_what_to_install(
    cli: Cli, lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakebed.lake.engines.find_spec", lambda name: None)
    answer = cli("query", "select 1")
    assert answer.code == 11
    assert "pip install 'lakebed[duckdb]'" in answer.err


def test_times_of_json_that_have_a_zone_lost_it_and_now_keep_the_instant(cli: Cli, empty: lakebed.Lake) -> None:
    lines = '{"id": 1, "at": "2026-01-02T03:04:05+02:00"}\n{"id": 2, "at": null}\n{"id": 3}\n'
    loaded = cli("load", "a.zoned", "-", "--json", given=lines).json[0]
    assert loaded["columns"] == [{"name": "id", "type": "long"}, {"name": "at", "type": "timestamptz"}]
    assert cli("head", "a.zoned", "--json").json[0] == {"id": 1, "at": "2026-01-02T01:04:05+00:00"}


@pytest.mark.parametrize(
    ("texts", "type"),
    [
        (["2026-01-02T03:04:05Z", "2026-01-02 03:04:05Z"], "timestamptz"),
        (["2026-01-02T03:04:05", "2026-01-02T03:04:05"], "timestamp"),
        (["2026-01-02T03:04:05Z", "2026-01-02T03:04:05"], "string"),
        (["2026-01-02", "2026-01-03"], "timestamp"),
    ],
)
def test_times_of_json_get_a_type_by_their_zones(cli: Cli, empty: lakebed.Lake, texts: list[str], type: str) -> None:
    lines = "\n".join(json.dumps({"at": text}) for text in texts)
    assert cli("load", "a.times", "-", "--json", given=lines).json[0]["columns"] == [{"name": "at", "type": type}]


def test_the_type_of_a_column_was_heeded_for_csv_only_and_now_for_json(cli: Cli, empty: lakebed.Lake) -> None:
    columns = ("--column", "id:string", "--column", "zip:long", "--column", "price:decimal(20,2)")
    lines = '{"id": 1, "zip": "01234", "price": 123456789012345678.10}\n'
    assert cli("load", "a.typed", "-", *columns, given=lines).code == 0
    assert cli("head", "a.typed", "--json").json == [{"id": "1", "zip": 1234, "price": "123456789012345678.10"}]


def test_json_gives_a_decimal_column_all_of_its_digits_and_leaves_the_others(cli: Cli, empty: lakebed.Lake) -> None:
    empty.catalog().create_namespace("a")
    columns = {"id": "long", "price": "decimal(20, 2)", "note": "string"}
    table = empty.catalog().create_table("a.b", columns, primary_key=["id"])
    table.append([{"id": 1, "note": "stays"}])
    assert cli("load", "a.b", "-", given='{"id": 1, "price": 123456789012345678.10}\n').code == 0
    assert table.get(1) == {"id": 1, "price": Decimal("123456789012345678.10"), "note": "stays"}


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ("id\n1\n", ("--column", "nosuch:string"), "'nosuch': the rows have no such column"),
        ('{"id": 1}\n', ("--column", "nosuch:string"), "expected: one of id"),
        ('{"id": "x"}\n', ("--column", "id:long"), "the values do not have the type of --column"),
        ('[{"id": 1}]', (), "Write one object a line"),
        ('{"id": 1}\n{"id": "a"}\n', (), "one type in all lines"),
        (b"id,name\n1,caf\xe9\n", (), "iconv"),
        ("id,id\n1,2\n", (), "a name of its own"),
        ("a;b\n1;2,3\n", (), "--delimiter"),
        ("", (), "The first line has the names"),
        ("id\n1\nx\n", ("--column", "id:long"), "--column zip:string"),
    ],
)
def test_rows_that_cannot_be_read_are_answered_with_what_to_do(
    cli: Cli, empty: lakebed.Lake, given: str | bytes, options: tuple[str, ...], said: str
) -> None:
    answer = cli("load", "a.b", "-", *options, given=given)
    assert answer.code == 9
    assert said in answer.err
    assert empty.catalog().log() == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (",a\n0,1\n", "a column has no name"),
        ("a;b\n1;2\n", "--delimiter ';'"),
        ("a\tb\n1\t2\n", "--delimiter tab"),
        ('{"a": 1}\nnonsense\n', "Each line has to be an object"),
        ('{"a": 1, "a": 2}\n', "one value in a line"),
    ],
)
def test_a_file_that_was_loaded_as_one_column_or_refused_with_other_advice_says_what_to_do(
    cli: Cli, empty: lakebed.Lake, given: str, said: str
) -> None:
    answer = cli("load", "a.b", "-", given=given)
    assert answer.code == 9
    assert said in answer.err
    assert empty.catalog().log() == []


@pytest.mark.parametrize("typed", ["tab", "\\t", "\t"])
def test_a_tab_could_not_be_typed_as_delimiter(cli: Cli, empty: lakebed.Lake, typed: str) -> None:
    assert cli("load", "a.b", "-", "--delimiter", typed, given="id\tname\n1\tx\n").code == 0
    assert cli("head", "a.b", "--json").json == [{"id": 1, "name": "x"}]


def test_a_delimiter_of_two_characters_was_called_a_bug(cli: Cli, empty: lakebed.Lake) -> None:
    answer = cli("load", "a.b", "-", "--delimiter", ";;", given="id\n1\n")
    assert answer.code == 2
    assert "';;' is not one character" in answer.err


def test_a_column_name_may_have_the_sign_if_the_delimiter_is_given(cli: Cli, empty: lakebed.Lake) -> None:
    assert cli("load", "a.b", "-", "--delimiter", ",", given="a|b\n1\n").code == 0


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        ('id,v\n1,\n2,""\n3,NA\n', [None, "", "NA"]),
        ('id,v\n1,\n2,""\n', [None, ""]),
        ("id,v\n1,\n2,x\n", [None, "x"]),
        ("id,v\n1,NA\n2,\n", ["NA", None]),
        ("id,v\n1,NA\n2,2.5\n", [None, 2.5]),
    ],
)
def test_an_empty_text_of_a_csv_was_not_null_and_a_quoted_one_was_if_it_was_alone(
    cli: Cli, empty: lakebed.Lake, given: str, rows: list[object]
) -> None:
    assert cli("load", "a.b", "-", given=given).code == 0
    assert [row["v"] for row in cli("head", "a.b", "--json").json] == rows
    cli("export", "a.b", "b.csv")
    assert cli("load", "a.again", "b.csv").code == 0
    assert cli("head", "a.again", "--json").json == cli("head", "a.b", "--json").json


@pytest.mark.parametrize(
    ("given", "types"),
    [
        ("id,v\n12345678901234567890,1\n2,1e300\n", {"id": "string", "v": "double"}),
        (
            '{"id": 12345678901234567890, "v": 1e300}\n{"id": 2, "v": 2.5}\n',
            {"id": "decimal(38, 0)", "v": "double"},
        ),
    ],
)
def test_whole_numbers_of_twenty_digits_were_rounded(
    cli: Cli, empty: lakebed.Lake, given: str, types: dict[str, str]
) -> None:
    assert cli("load", "a.b", "-", given=given).code == 0
    assert {row["name"]: row["type"] for row in cli("schema", "a.b", "--json").json} == types
    assert cli("head", "a.b", "--json").json[0]["id"] == "12345678901234567890"


@pytest.mark.parametrize(
    "given",
    [
        "id,at\n1,2026-11-01T10:00:00\n2,2026-11-01 12:00+02\n3,2026-11-01\n4,\n",
        '{"id": 1, "at": "2026-11-01T10:00:00"}\n{"id": 2, "at": "2026-11-01T12:00:00+02:00"}\n'
        '{"id": 3, "at": "2026-11-01"}\n{"id": 4, "at": null}\n',
    ],
)
def test_a_time_without_a_zone_was_refused_in_a_column_of_instants_and_is_utc(
    cli: Cli, empty: lakebed.Lake, given: str
) -> None:
    for table, options in (("a.b", ("--column", "at:timestamptz")), ("a.b", ("--overwrite",))):
        assert cli("load", table, "-", *options, given=given).code == 0
        noon, midnight = "2026-11-01T10:00:00+00:00", "2026-11-01T00:00:00+00:00"
        assert [row["at"] for row in cli("head", table, "--json").json] == [noon, noon, midnight, None]
    answer = cli("load", "a.b", "-", given="id,at\n1,2026-11-01\n2,soon\n")
    assert answer.code == 9
    assert "found: 'soon'" in answer.err


def test_uuids_of_a_csv_were_called_a_bug(cli: Cli, empty: lakebed.Lake) -> None:
    text = "0a0b0c0d-0000-4000-8000-000000000001"
    assert cli("load", "a.b", "-", "--column", "id:uuid", given=f"id\n{text}\n").code == 0
    assert cli("load", "a.b", "-", given=f"id\n{text}\n").code == 0
    assert cli("load", "a.b", "-", given=f'{{"id": "{text}"}}\n').code == 0
    assert cli("head", "a.b", "--json").json == [{"id": text}] * 3
    answer = cli("load", "a.b", "-", given="id\nx\n")
    assert answer.code == 9
    assert "found: 'x'" in answer.err


def test_a_list_in_a_csv_was_called_a_bug(cli: Cli, lake: lakebed.Lake) -> None:
    lake.catalog().create_table("t", {"id": "long", "tags": "list<string>"})
    answer = cli("load", "t", "-", given="id,tags\n1,a\n")
    assert answer.code == 9
    assert "load lines of JSON" in answer.err


def test_a_list_that_is_always_empty_is_loaded_as_a_list_of_texts(cli: Cli, empty: lakebed.Lake) -> None:
    assert cli("load", "a.b", "-", given='{"id": 1, "tags": [], "deep": {"x": [{"y": null}]}}\n').code == 0
    types = {row["name"]: row["type"] for row in cli("schema", "a.b", "--json").json}
    assert types == {"id": "long", "tags": "list<string>", "deep": "struct<x: list<struct<y: string>>>"}


def test_a_folder_is_loaded_without_what_is_not_for_readers(cli: Cli, empty: lakebed.Lake, folder: Path) -> None:
    """What it did: any file beside the Parquet files, and a `_delta_log`, ended it; `A.PARQUET` was not seen."""
    (folder / "data/k=1").mkdir(parents=True)
    (folder / "data/_delta_log").mkdir()
    (folder / "data/_delta_log/0.json").write_text("{}")
    (folder / "data/README").write_text("words")
    pq.write_table(pa.table({"id": [1]}), folder / "data/k=1/A.PARQUET")
    assert cli("load", "a.b", "data").code == 0
    assert cli("head", "a.b", "--json").json == [{"id": 1, "k": 1}]


def test_a_pipe_with_a_name_can_be_loaded(cli: Cli, empty: lakebed.Lake, folder: Path) -> None:
    """What it did: `<(zcat orders.csv.gz)` ended in "lseek failed"."""
    os.mkfifo(folder / "pipe")
    with ThreadPoolExecutor() as pool:
        pool.submit((folder / "pipe").write_text, CSV)
        assert cli("load", "a.b", "pipe").code == 0
    assert cli("count", "a.b").out == "2\n"


def test_a_file_whose_name_is_not_utf8_was_called_a_bug(cli: Cli, empty: lakebed.Lake, folder: Path) -> None:
    name = os.fsdecode(b"bad\xff.csv")
    (folder / name).write_text(CSV)
    answer = cli("load", "a.b", name)
    assert answer.code == 9
    assert "the file's name is not UTF-8" in answer.err


@pytest.mark.parametrize("end", ["tsv", "csv.gz", "csv.bz2", "jsonl.zst", "csv.lz4"])
def test_an_export_is_what_its_name_says(cli: Cli, lake: lakebed.Lake, folder: Path, end: str) -> None:
    """What it did: a .tsv had commas, and a .csv.gz was not compressed, so that nothing could read it."""
    assert cli("export", "sales.orders", f"orders.{end}").code == 0
    begins = {
        "tsv": b'"id"\t',
        "gz": b"\x1f\x8b",
        "bz2": b"BZh",
        "zst": b"\x28\xb5\x2f\xfd",
        "lz4": b"\x04\x22\x4d\x18",
    }
    assert (folder / f"orders.{end}").read_bytes().startswith(begins[end.rpartition(".")[2]])
    assert cli("load", "sales.again", f"orders.{end}").code == 0
    [before, after] = [cli("head", f"sales.{name}", "--json").json for name in ("orders", "again")]
    assert before == after


def test_an_export_replaced_a_pipe_or_a_link_and_now_writes_to_it(cli: Cli, lake: lakebed.Lake, folder: Path) -> None:
    """What it did: `--replace` put a file in the place of /dev/full."""
    os.mkfifo(folder / "pipe")
    (folder / "target.csv").write_text("old")
    (folder / "link.csv").symlink_to(folder / "target.csv")
    with ThreadPoolExecutor() as pool:
        read = pool.submit((folder / "pipe").read_bytes)
        assert cli("export", "sales.orders", "pipe", "--format", "csv", "--replace").code == 0
        assert read.result(timeout=60).startswith(b'"id","price","note"\n')
    assert (folder / "pipe").is_fifo()
    assert cli("export", "sales.orders", "link.csv").code == 8
    assert cli("export", "sales.orders", "link.csv", "--replace").code == 0
    assert (folder / "link.csv").is_symlink()
    assert (folder / "target.csv").read_bytes().startswith(b'"id"')


@pytest.mark.parametrize("options", [(), ("--replace",)])
def test_an_export_into_a_folder_was_called_a_bug(
    cli: Cli, lake: lakebed.Lake, folder: Path, options: tuple[str, ...]
) -> None:
    (folder / "out").mkdir()
    answer = cli("export", "sales.orders", "out", "--format", "csv", *options)
    assert answer.code == 9
    assert "Name a file in it: out/rows.csv" in answer.err


def test_bytes_that_are_not_text_are_loaded_if_they_are_asked_for(cli: Cli, empty: lakebed.Lake) -> None:
    assert cli("load", "a.b", "-", "--column", "name:binary", given=b"id,name\n1,caf\xe9\n").code == 0
    assert empty.catalog().table("a.b").scan().to_arrow().column("name").to_pylist() == [b"caf\xe9"]


def test_the_type_of_a_column_of_a_parquet_file_is_refused_and_not_ignored(
    cli: Cli, lake: lakebed.Lake, folder: Path
) -> None:
    assert cli("export", "sales.orders", "out.parquet").code == 0
    answer = cli("load", "sales.copy", "out.parquet", "--column", "id:string")
    assert answer.code == 9
    assert "Parquet files have types of their own" in answer.err


def test_damaged_parquet_reached_arrow_unchecked_and_could_end_the_command(cli: Cli, folder: Path) -> None:
    pq.write_table(pa.table({"i": range(50_000), "s": ["x" * 20] * 50_000}), folder / "sound.parquet")
    sound = (folder / "sound.parquet").read_bytes()
    assert cli("init").code == 0
    chance, start = Random(7), footer_span(sound)
    damaged = [mutated(sound, chance, start) for _ in range(40)] + [mutated(sound, chance) for _ in range(20)]
    damaged.append(sound[:3_000] + b"\xff" * 1_000 + sound[4_000:])  # which Snappy can't read
    for number, data in enumerate([b"", b"PAR1", *damaged]):
        (folder / "theirs.parquet").write_bytes(data)
        for source, given in (("theirs.parquet", b""), ("-", data)):
            answer = cli("load", f"t{number}{source[0]}".replace("-", "s"), source, "--format", "parquet", given=given)
            assert answer.code in (0, 9), answer.err
            assert "This is a bug" not in answer.err


@pytest.mark.parametrize("given", [b'{"a": 1, "\xff": 1}\n', b'{"a": {"\xff": 1}}\n'])
def test_a_name_that_is_not_utf8_was_a_bug_of_load(cli: Cli, folder: Path, given: bytes) -> None:
    assert cli("init").code == 0
    answer = cli("load", "t", "-", "--format", "json", given=given)
    assert (answer.code, "a column's name is not UTF-8" in answer.err) == (9, True)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("null", "line 1 is null"),
        ('{"a": 1}\n null', "line 2 is null"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"a": {"b": ' * 450 + "1" + "}}" * 450, "nested too deeply"),
    ],
    ids=["null", "a null behind a row", "lists", "objects"],
)
def test_a_line_of_json_ended_the_process_or_was_a_bug(cli: Cli, empty: lakebed.Lake, line: str, reason: str) -> None:
    answer = cli("load", "a.t", "-", "--format", "json", given=line + "\n")
    assert (answer.code, reason in answer.err) == (9, True)


def test_a_compressed_standard_input_was_called_names_that_are_not_utf8(cli: Cli, empty: lakebed.Lake) -> None:
    answer = cli("load", "a.t", "-", given=gzip.compress(b"a\n1\n"))
    assert answer.code == 9
    assert "gzip -dc" in answer.err


def test_a_key_without_an_upsert_is_refused_and_not_ignored(cli: Cli, folder: Path, lake: lakebed.Lake) -> None:
    (folder / "new.csv").write_text("id,price\n1,2.5\n")
    lake.catalog().create_table("plain", {"id": "long", "price": "double"})
    created = cli("load", "sold", "new.csv", "--key", "id")
    assert (created.code, "use --primary-key" in created.err) == (9, True)
    assert not lake.catalog().table_exists("sold")
    appended = cli("load", "plain", "new.csv", "--key", "id")
    assert (appended.code, "add --upsert" in appended.err) == (9, True)
    assert cli("count", "plain").out == "0\n"
    assert cli("load", "sales.orders", "new.csv", "--key", "id").code == 0, "it has a key, so this is an upsert"
