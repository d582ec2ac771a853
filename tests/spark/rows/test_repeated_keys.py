"""Keys that a merge would repeat, found by both engines alike."""

import pytest

import lakebed
from lakebed import Catalog, Field
from tests.lake.merge.test_merge_engines import check_engines_agree, shown


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with lakebed.connect(tmp_path_factory.mktemp("keys") / "a lake") as lake:
        yield lake


def disputed(lake, name: str) -> tuple[Catalog, Catalog]:
    """Two lines that make one key of two others in every way: with cells of both, by new rows, by a narrower key."""
    main = lake.create_catalog(name)
    fields = [Field("a b", "long", required=True), Field("`d", "string", required=True), Field("v", "double")]
    table = main.create_table("t", fields, primary_key=["a b", "`d"])
    table.set_properties({"write.inline-bytes": "64000" if name == "inline" else "0"})
    table.append([{"a b": number, "`d": f"d{number}", "v": number / 2} for number in range(12)])
    dev = main.create_branch("dev")
    main.table("t").update({"a b": "50 + `a b` / 3"}, "`a b` < 6 and `a b` % 3 = 0")
    dev.table("t").update({"`d": "'e'"}, "`a b` < 6 and `a b` % 3 = 0")
    main.table("t").append([{"a b": 50, "`d": "e", "v": 7.5}, {"a b": 99, "`d": "e", "v": 7.5}])
    dev.table("t").append([{"a b": 51, "`d": "e", "v": 8.5}, {"a b": 8, "`d": "e", "v": 8.5}])
    main.table("t").update({"v": "9"}, "`a b` = 7")
    dev.table("t").update({"v": "10"}, "`a b` = 7")
    return main, dev


def given(conflict):
    return {"a b": 11, "`d": "d11"} if conflict.what == "row" else {"a b": 99, "`d": "e"}


@pytest.mark.parametrize("name", ["files", pytest.param("inline", marks=pytest.mark.long)])
def test_both_engines_find_repeated_keys_alike(lake, spark, name):
    main, dev = disputed(lake, name)
    here, there = (main.merge(dev, dry_run=True, resolve=given, spark=session).conflicts for session in (None, spark))
    assert sorted(one.what for one in here) == ["key", "key", "keys", "keys", "keys", "keys", "row"]
    assert shown(here) == shown(there)


@pytest.mark.long
@pytest.mark.parametrize("turned", [False, True])
def test_both_engines_merge_repeated_keys_alike(lake, spark, turned):
    one, other = disputed(lake, f"merged {turned}")[:: -1 if turned else 1]
    check_engines_agree(one, other, spark, {"strategy": "theirs"}, {"resolve": given})


@pytest.mark.parametrize("turned", [False, pytest.param(True, marks=pytest.mark.long)])
def test_both_engines_find_rows_under_a_narrowed_key_alike(lake, spark, turned):
    main = lake.create_catalog(f"narrowed {turned}")
    fields = [Field("a b", "long", required=True), Field("`d", "string", required=True)]
    main.create_table("t", fields, primary_key=["a b", "`d"])
    main.table("t").append([{"a b": number, "`d": "d"} for number in range(12)])
    dev = main.create_branch("dev")
    dev.table("t").append([{"a b": number, "`d": "e"} for number in (3, 20)])
    dev.table("t").append([{"a b": number, "`d": "f"} for number in (20, 30)])
    with main.table("t").evolve() as change:
        change.primary_key(["a b"])
    one, other = (dev, main) if turned else (main, dev)
    here, there = (one.merge(other, dry_run=True, spark=session).conflicts for session in (None, spark))
    assert sorted((one.what, one.key["a b"]) for one in here) == [("keys", 3), ("keys", 20)]
    assert shown(here) == shown(there)
