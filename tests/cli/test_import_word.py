"""The word that imports: dry runs, second calls, exit codes, one line of JSON."""

import sqlite3
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from deltalake import DeltaTable, write_deltalake

import lakebed
from lakebed.cli.commands.imports import PASSWORD
from tests.cli.conftest import Cli
from tests.cli.test_words import documented


@pytest.fixture
def empty(folder: Path) -> lakebed.Lake:
    return lakebed.connect(folder, author="ada")


def parquet(path: Path, *ids: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())}), path)


def test_a_folder_is_imported_and_a_second_call_brings_the_new_files(
    cli: Cli, empty: lakebed.Lake, folder: Path
) -> None:
    parquet(folder / "in/month=1/a.parquet", 1, 2)
    call = ("import", "parquet", "raw.orders", "in", "-m", "first")
    tried = cli(*call, "--dry-run")
    assert (tried.code, tried.lines[0].endswith("a dry run")) == (0, True)
    assert not empty.catalog().table_exists("raw.orders")
    done = cli(*call)
    assert "created, 1 file, 2 rows in the source, +2 in the table" in done.out
    assert empty.catalog().log()[0].message == "first"
    parquet(folder / "in/month=2/b.parquet", 3)
    [again] = cli(*call, "--json").json
    assert (again["files"], again["known_files"], again["rows"], again["source_rows"]) == (1, 1, 1, 1)
    assert again.keys() - {"on"} == documented("import")
    assert (again["table"], again["kind"], again["misfits"]) == ("raw.orders", "parquet", [])
    [last] = cli(*call, "--json").json
    assert (last["version"], last["files"]) == (None, 0)
    assert cli(*call, "--quiet").out == ""


def test_what_does_not_fit_ends_with_the_code_of_invalid_in_a_dry_run_too(
    cli: Cli, empty: lakebed.Lake, folder: Path
) -> None:
    (folder / "people.csv").write_text("id,zip\n1,a\nx,b\n")
    call = ("import", "csv", "crm.people", "people.csv", "--column", "id:long")
    tried = cli(*call, "--dry-run", "--json")
    assert (tried.code, len(tried.json[0]["misfits"])) == (9, 1)
    failed = cli(*call)
    assert (failed.code, failed.out) == (9, "")
    assert "--dry-run" in failed.err
    apart = cli(*call, "--quarantine", "--json")
    assert (apart.code, apart.json[0]["rows"], apart.json[0]["quarantined"]) == (0, 1, 1)
    assert cli("count", "crm.people__rejects").out == "1\n"
    (folder / "plain.csv").write_text("5;NIL\n")
    plain = ("import", "csv", "crm.plain", "plain.csv", "--no-header", "--delimiter", ";", "--null", "NIL")
    assert cli(*plain, "--column", "id:long", "--column", "zip:string").code == 0
    assert empty.catalog().table("crm.plain").scan().to_arrow().to_pylist() == [{"id": 5, "zip": None}]


def test_a_delta_table_comes_with_its_history(cli: Cli, empty: lakebed.Lake, folder: Path) -> None:
    for number in range(3):
        write_deltalake(folder / "theirs", pyarrow.table({"id": [number]}), mode="append")
    call = ("import", "delta", "raw.t", "theirs", "--history")
    assert cli(*call, "--since", "1", "--json").json[0]["versions"] == 2
    assert cli("log").out.count("Delta version") == 2
    DeltaTable(folder / "theirs").delete("id = 0")
    assert cli("import", "delta", "raw.t", "theirs", "--json").json[0]["rows"] == -1
    (folder / "theirs/_delta_log/00000000000000000003.json").unlink()
    assert cli(*call).code == 14  # the source went back behind what was imported
    assert cli("import", "delta", "raw.t", "nowhere").code == 7


def test_a_database_is_imported_and_its_password_is_on_no_command_line(
    cli: Cli, empty: lakebed.Lake, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite3.connect(folder / "shop.db") as shop:
        shop.execute("CREATE TABLE orders (id INTEGER, name TEXT)")
        shop.execute("INSERT INTO orders VALUES (1, 'a')")
    call = ("import", "database", "shop.orders", "sqlite:///shop.db", "--table", "orders", "--since", "id")
    assert cli(*call).code == 0
    with shop:
        shop.execute("INSERT INTO orders VALUES (2, 'b')")
    shop.close()
    assert cli(*call, "--json").json[0]["rows"] == 1
    refused = cli("import", "database", "shop.orders", "sqlite:///shop.db", "--table", "orders")
    assert (refused.code, "--replace" in refused.err) == (9, True)
    monkeypatch.setenv(PASSWORD, "hush")
    closed = cli("import", "database", "t", "postgresql://ada@127.0.0.1:1/x", "--table", "t", "--json")
    assert (closed.code, "hush" in closed.err) == (11, False)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("orc", "t", "x"), "orc"),
        (("csv", "t", "x", "--history"), "--history is of delta, iceberg, not of csv"),
        (("csv", "t", "x", "--copy"), "--copy is of"),
        (("delta", "t", "x", "--table", "y"), "--table is of database"),
        (("delta", "t", "x", "--history", "--since", "yesterday"), "not the number"),
        (("csv", "t"), "SOURCE"),
    ],
)
def test_an_option_of_another_kind_is_a_mistake_of_usage(
    cli: Cli, empty: lakebed.Lake, call: tuple[str, ...], said: str
) -> None:
    answer = cli("import", *call)
    assert answer.code == 2
    assert said in answer.err
