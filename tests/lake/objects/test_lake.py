"""Opening lakes, and what the handles are: values that compare, and show nothing that they should not."""

import json
import pickle
import subprocess
import sys

import pytest

import lakebed
from lakebed import Invalid, LakebedError
from lakebed.records.check.check import check
from lakebed.records.layout import PREFIX, Space
from lakebed.store import SQLiteStore


def test_a_lake_is_made_where_there_is_none_and_opened_where_there_is(tmp_path):
    with lakebed.connect(tmp_path / "new" / "lake", create=True, author="ada") as lake:
        lake.catalog().create_namespace("n")
    with lakebed.connect(str(tmp_path / "new" / "lake")) as lake:
        assert [one.name for one in lake.catalog().namespaces()] == ["n"]
        assert lake.format_version == 2
        assert lake.catalog().log()[0].author == "ada"
        url = lake.url
    with lakebed.connect(url) as lake:
        assert lake.catalog().namespace_exists("n")
    with SQLiteStore(tmp_path / "new" / "lake" / "catalog.db") as store:
        assert check(store) == []


def test_the_check_that_errors_advise_can_be_called(tmp_path):
    with lakebed.connect(tmp_path) as lake:
        lake.catalog().create_table("t", {"id": "long"})
        assert lake.check() == []
    with SQLiteStore(tmp_path / "catalog.db") as store:
        store.run(lambda transaction: transaction.set(PREFIX[Space.CURRENT] + b"x", b"damaged"))
    with lakebed.connect(tmp_path) as lake:
        assert len(lake.check()) == 1


def test_a_folder_with_a_space_can_be_opened_by_its_url(tmp_path):
    with lakebed.connect(tmp_path / "a lake") as lake:
        lake.catalog().create_namespace("n")
        url = lake.url
    with lakebed.connect(url) as lake:
        assert (lake.catalog().namespace_exists("n"), lake.url) == (True, url)


def test_commits_are_signed_by_whoever_runs_this_unless_told(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGNAME", "grace")
    with lakebed.connect(tmp_path / "lake") as lake:
        lake.catalog().create_namespace("n")
        lake.catalog().create_namespace("m", author="bob")
        assert [one.author for one in lake.catalog().log()] == ["bob", "grace"]


def test_projects_do_not_see_each_other(tmp_path):
    with lakebed.connect(tmp_path / "lake") as lake, lakebed.connect(tmp_path / "lake", project="other") as other:
        lake.catalog().create_namespace("n")
        lake.create_catalog("second")
        assert (other.catalog().namespaces(), [one.name for one in other.catalogs()]) == ([], ["default"])


@pytest.mark.parametrize("url", ["", "s3://bucket/lake", "postgresql://host/db", None, 17, b"lake"])
def test_what_is_no_address_of_a_lake_is_refused(url):
    with pytest.raises(Invalid):
        lakebed.connect(url)


@pytest.mark.parametrize("project", ["", "a/b", None, 17])
def test_what_is_no_name_of_a_project_is_refused(tmp_path, project):
    with pytest.raises(Invalid):
        lakebed.connect(tmp_path / "lake", project=project)


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "lake").write_text("not a lake")
    with pytest.raises(LakebedError):
        lakebed.connect(tmp_path / "lake")


def test_a_database_that_is_none_is_refused(tmp_path):
    (tmp_path / "catalog.db").write_text("not a database, but a text of some length" * 100)
    with pytest.raises(LakebedError):
        lakebed.connect(tmp_path)


def test_a_closed_lake_is_of_no_use(tmp_path):
    with lakebed.connect(tmp_path / "lake") as lake:
        main = lake.catalog()
        table = main.create_table("t", {"id": "long"})
    for call in (lake.catalog, main.tables, lambda: table.name, lambda: main.create_namespace("n")):
        with pytest.raises(Invalid, match="closed"):
            call()
    lake.close()


def test_two_that_open_a_lake_see_each_others_commits(tmp_path):
    with lakebed.connect(tmp_path / "lake") as one, lakebed.connect(tmp_path / "lake") as other:
        table = one.catalog().create_table("t", {"id": "long"})
        assert other.catalog().table("T").id == table.id
        other.catalog().rename_table("t", "u")
        assert table.name == "u"


def test_handles_of_the_same_thing_are_equal(lake, main):
    main.create_namespace("n")
    main.create_table("n.t", {"id": "long"})
    dev = main.create_branch("dev")
    version = main.version
    same = [
        (main, lake.catalog("default@main")),
        (dev, main.branch("dev")),
        (main.at(version), lake.catalog(f"default#{version}")),
        (main.table("n.t"), main.tables("n")[0]),
        (main.namespace("n"), main.namespaces()[0]),
        (main.table("n.t").at(version=version), main.at(version).table("n.t")),
    ]
    for one, other in same:
        assert one == other
        assert hash(one) == hash(other)
        assert one is not other
    different = [one for one, _ in same] + [dev.table("n.t"), dev.namespace("n"), lake, "default"]
    assert len(set(different)) == len(different)


def test_handles_inside_a_transaction_are_its_own(main):
    main.create_table("t", {"id": "long"})
    with main.transaction("one") as one, main.transaction("two") as two:
        assert one.table("t") == one.table("t")
        assert one.table("t") != two.table("t")
        assert one.table("t") != main.table("t")


def test_a_commit_crosses_a_process_border(main):
    commit = main.set_properties({"a": "b"})
    assert pickle.loads(pickle.dumps(commit)) == commit


LOADED = """
import json, sys
import lakebed
with lakebed.connect(sys.argv[1]) as lake:
    main = lake.catalog()
    main.create_namespace("n")
    main.create_table("n.t", {"id": "long"}).set_properties({"a": "b"})
    main.create_branch("dev").rename_table("n.t", "n.u")
    with main.transaction("x") as tx:
        tx.drop_table("n.t")
    main.log()
print(json.dumps(sorted(sys.modules)))
"""


def test_a_lake_is_used_without_any_engine_until_there_are_rows(tmp_path):
    """Opening, naming, branching and transactions load neither engine nor the SQL parser. Plans are made of Arrow."""
    command = [sys.executable, "-c", LOADED, str(tmp_path / "lake")]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(json.loads(answer.stdout))
    assert "lakebed" in loaded
    engines = {"lakebed.arrow", "lakebed.spark", "pyarrow.parquet", "pyarrow.dataset"}
    assert loaded & {*engines, "pyspark", "pandas", "sqlglot", "duckdb"} == set()
