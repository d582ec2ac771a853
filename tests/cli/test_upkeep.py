"""Inside and upkeep: files, explain, inspect, usage, editions, partitions, compact, check, backup, doctor."""

import subprocess
import sys
from pathlib import Path

import pytest

import lakebed
from tests.cli.conftest import Cli


def test_files_and_explain_show_what_a_scan_reads(cli: Cli, lake: lakebed.Lake) -> None:
    [file] = cli("files", "sales.orders", "--json").json
    assert (file["rows"], file["deleted_rows"]) == (3, 0)
    assert cli("files", "sales.orders#3", "--json").json == []
    assert cli("explain", "sales.orders", "--where", "id = 99").lines[0].startswith("reads 0 of 1 file")


def test_json_of_a_partition_is_an_object_and_not_base64(cli: Cli, lake: lakebed.Lake) -> None:
    rows = [{"id": 1, "region": "eu"}, {"id": 2, "region": None}]
    lake.catalog().create_table("sold", rows, partition_by=["region"])
    assert [file["partition"] for file in cli("files", "sales.orders", "--json").json] == [{}]
    found = [file["partition"] for file in cli("files", "sold", "--json").json]
    assert sorted(found, key=str) == [{"region": "eu"}, {"region": None}]
    [shown] = cli("inspect", "__files", "--where", "table_name = 'sales.orders'", "--json").json
    assert shown["partition_values"] == {}
    [table] = cli("inspect", "__tables", "--where", "table_name = 'sales.orders'", "-c", "schema", "--json").json
    assert [column["name"] for column in table["schema"]["fields"]] == ["id", "price", "note"]
    assert '{"region": "eu"}' in {line.split("\t")[4] for line in cli("files", "sold").lines}, "in a pipe it is text"


def test_explain_has_its_numbers_as_keys(cli: Cli, lake: lakebed.Lake) -> None:
    [plan] = cli("explain", "sales.orders", "--where", "id = 99", "--json").json
    assert {name: plan[name] for name in ("files_read", "files", "row_groups_read")} == {
        "files_read": 0,
        "files": 1,
        "row_groups_read": 0,
    }
    assert sum(step["files_cut"] for step in plan["steps"]) == 1
    assert plan["text"].startswith("reads 0 of 1 file")


def test_inspect_dumps_entries_by_the_paths_that_files_and_segments_show(cli: Cli, lake: lakebed.Lake) -> None:
    [file] = cli("files", "sales.orders", "--json").json
    [entry] = cli("inspect", file["path"], "--json").json
    assert file["path"].startswith("inline:")
    assert (entry["path"], entry["num_rows"]) == (file["path"], 3)
    assert cli("checkpoint", "sales.orders").code == 0
    [segment] = cli("inspect", "__segments", "-c", "base_key", "--json").json
    assert segment["base_key"].endswith(".part")
    assert cli("inspect", segment["base_key"], "--json").json == [[entry]]


def test_inspect_of_no_name_speaks_in_words_of_the_command_line(cli: Cli, lake: lakebed.Lake) -> None:
    for wrong in ("", "inline:1"):
        answer = cli("inspect", wrong)
        assert answer.code in (7, 9)
        assert "describe()" not in answer.err
        assert "`lakebed inspect __manifests` has paths" in answer.err


def test_inspect_lists_the_system_tables(cli: Cli, lake: lakebed.Lake) -> None:
    listed = {row["name"]: row["columns"] for row in cli("inspect", "--json").json}
    assert listed["__tables"][0] == "table_name"
    for name, columns in listed.items():
        assert cli("inspect", name).lines[0].split("\t") == columns


def test_inspect_shows_system_tables_and_what_their_paths_stand_for(cli: Cli, lake: lakebed.Lake) -> None:
    [table] = cli("inspect", "__tables", "-c", "table_name,total_rows", "--json").json
    assert table == {"table_name": "sales.orders", "total_rows": 3}
    snapshots = cli("inspect", "__snapshots", "-c", "manifest_list", "--json").json
    document = cli("inspect", snapshots[-1]["manifest_list"])
    assert document.code == 0
    assert document.out.lstrip().startswith("[")
    manifests = cli("inspect", "__manifests", "-c", "manifest_path", "--json").json
    [manifest] = cli("inspect", manifests[-1]["manifest_path"], "--json").json
    assert manifest["data_files"][0]["num_rows"] == 3
    [records] = cli("inspect", "__records", "--where", "name = 'sales'", "-c", "name", "--json").json[:1]
    assert records == {"name": "sales"}


def test_usage_sums_up_and_compaction_makes_one_file(cli: Cli, lake: lakebed.Lake) -> None:
    lake.catalog().table("sales.orders").append([{"id": 9}])
    assert cli("compact", "sales.orders", "--json").json[0]["operations"][0]["type"] == "compact"
    assert len(cli("files", "sales.orders", "--json").json) == 1
    assert cli("compact", "sales.orders").out.startswith("nothing changed")
    assert cli("checkpoint", "sales.orders", "--json").json[0]["version"] == 6
    by_hold = {row["hold"]: row["bytes"] for row in cli("usage", "--by", "hold", "--json").json}
    assert by_hold["catalog"] > 0


def test_an_edition_is_created_filled_and_activated(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("edition", "sales.orders", "--create", "2", "--column", "id:long", "--column", "total:double").code == 0
    assert cli("load", "sales.orders.edition_2", "-", "--append", given="id,total\n1,2.5\n").code == 0
    assert cli("edition", "sales.orders", "--activate", "2").code == 0
    assert cli("head", "sales.orders", "--json").json == [{"id": 1, "total": 2.5}]
    # Of the first edition, the active one's were listed.
    assert [row["rows"] for row in cli("files", "sales.orders.edition_1", "--json").json] == [3]
    assert cli("edition", "sales.orders", "--activate", "1").code == 0
    assert cli("edition", "sales.orders", "--state", "2=beta").code == 0
    assert [row["state"] for row in cli("edition", "sales.orders", "--json").json] == ["active", "beta"]
    assert cli("edition", "sales.orders", "--state", "2").code == 2
    assert cli("drop", "sales.orders.edition_2").code == 9
    assert cli("edition", "sales.orders", "--drop", "2").code == 0
    assert cli("edition", "sales.orders", "--undrop", "2").code == 0
    assert [row["name"] for row in cli("edition", "sales.orders", "--json").json] == ["1", "2"]


def test_a_stream_is_staged_filled_by_its_name_and_committed(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("stream", "sales.orders", "--stage").code == 0
    [committed, staged] = cli("stream", "sales.orders", "--json").json
    assert [one["state"] for one in (committed, staged)] == ["committed", "staged"]
    name = f"sales.orders.stream_{staged['id']}"
    assert cli("load", name, "-", "--append", given="id,price,note\n7,1.5,x\n").code == 0
    assert (cli("count", name).out, cli("count", "sales.orders").out) == ("1\n", "3\n")
    assert cli("stream", "sales.orders", "--discard", staged["id"]).code == 0
    assert cli("stream", "sales.orders", "--commit", staged["id"]).code == 7
    assert cli("stream", "sales.orders", "--undrop", staged["id"]).code == 0
    assert cli("load", "sales.orders", "-", "--append", given="id,price,note\n8,1.5,y\n").code == 0
    lost = cli("stream", "sales.orders", "--commit", staged["id"])
    assert (lost.code, "--seen VERSION" in lost.err) == (5, True)
    [newest] = cli("history", "sales.orders", "--json", "-n", "1").json
    assert cli("stream", "sales.orders", "--commit", staged["id"], "--seen", str(newest["version"])).code == 0
    assert cli("count", "sales.orders").out == "1\n"


def test_a_partition_is_created_dropped_and_undropped(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("create", "sales.days", "day:string", "id:long", "--partition-by", "day").code == 0
    assert cli("partition", "sales.days", "--create", "day=monday").code == 0
    assert cli("load", "sales.days", "-", given="day,id\nmonday,1\ntuesday,2\n").code == 0
    assert cli("partition", "sales.days", "--drop", "day=monday").code == 0
    assert cli("count", "sales.days").out == "1\n"
    assert cli("partition", "sales.days", "--undrop", "day=monday").code == 0
    assert [(row["name"], row["rows"]) for row in cli("partition", "sales.days", "--json").json] == [
        ("(root)", 1),
        ("day=monday", 1),
    ]
    assert cli("partition", "sales.days", "--create", "monday").code == 2


def test_a_backup_is_a_lake_and_the_next_one_copies_what_is_new(cli: Cli, lake: lakebed.Lake, tmp_path: Path) -> None:
    copy = str(tmp_path.parent / f"{tmp_path.name}-copy")
    assert cli("backup", copy, "--json").json[0]["version"] == 4
    assert dict(line.split("\t") for line in cli("backup", copy).lines)["bytes"] == "0", "a number, in a pipe"
    assert cli("count", "sales.orders", "--lake", copy).out == "3\n"
    assert cli("backup", copy, "--json").json[0]["files"] == 0


def test_a_damaged_lake_fails_the_check_with_3(cli: Cli, folder: Path) -> None:
    with lakebed.connect(folder) as lake:
        rows = [{"id": number, "text": str(number) * 100} for number in range(1000)]
        lake.catalog().create_table("many", rows)
    assert cli("check").code == 0
    [file] = folder.rglob("*.parquet")
    file.unlink()
    answer = cli("check", "--json")
    assert answer.code == 3
    assert file.name in answer.json[0]["problem"]
    assert "Traceback" not in cli("head", "many").err


def test_the_doctor_finds_what_is_missing_and_what_is_wrong(
    cli: Cli, lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {row["check"]: row["status"] for row in cli("doctor", "--json").json}
    assert {found[name] for name in ("python", "lakebed", "apsw", "lake", "disk", "locks")} == {"ok"}
    monkeypatch.setattr("lakebed.cli.commands.doctor.LEAST_FREE", 2**80)
    answer = cli("doctor")
    assert answer.code == 3
    assert "Free some space" in answer.out


HOLDING = """
import fcntl, sys
lock = open(sys.argv[1], "r+")
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""
WRITING = """
import apsw, sys
database = apsw.Connection(sys.argv[1])
database.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(("program", "file"), [(HOLDING, "catalog.db-lock"), (WRITING, "catalog.db")])
def test_the_doctor_names_the_process_that_blocks_writers_although_reads_go_on(
    cli: Cli, folder: Path, lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch, program: str, file: str
) -> None:
    monkeypatch.setattr("lakebed.cli.commands.doctor.SLOW", 0.05)
    command = [sys.executable, "-c", program, str(folder / file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        answer = cli("doctor", "--json")
        holder.communicate()
    [locks] = [row for row in answer.json if row["check"] == "locks"]
    assert answer.code == 3
    assert (locks["status"], f"process {holder.pid} has held" in locks["found"]) == ("problem", True)
    assert [row["status"] for row in cli("doctor", "--json").json if row["check"] == "locks"] == ["ok"]


def test_the_doctor_works_without_a_lake(cli: Cli, folder: Path) -> None:
    answer = cli("doctor", "--json")
    assert answer.code == 0
    assert answer.json[-1]["status"] == "missing"
