"""Catalogs as a whole: made, renamed, dropped, undropped, purged; case-sensitive ones; how they are opened by name."""

import pyarrow
import pytest

from lakebed import AlreadyExists, Ambiguous, Expired, Invalid, NotFound


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def rows(catalog):
    return catalog.table("t").scan().to_arrow()["id"].to_pylist()


@pytest.fixture
def second(lake):
    made = lake.create_catalog("second")
    made.create_table("t", {"id": "long"}).append(numbers(1))
    return made


def test_a_lake_knows_its_project(lake):
    assert lake.project == "default"


def test_a_renamed_catalog_keeps_its_handles(lake, second):
    table, dev = second.table("t"), second.create_branch("dev")
    commit = lake.rename_catalog("Second", "third", message="why")
    assert (commit.message, commit.operations[0].type, commit.operations[0].detail) == ("why", "rename", "third")
    assert (second.name, dev.name, rows(second)) == ("third", "third", [1])
    assert [one.name for one in lake.catalogs()] == ["default", "third"]
    assert (lake.catalog("third"), lake.catalog("third@dev")) == (second, dev)
    table.append(numbers(2))
    with pytest.raises(NotFound):
        lake.catalog("second")


@pytest.mark.parametrize("name", ["default", "DEFAULT"])
def test_a_catalogs_name_that_is_taken_is_refused(lake, second, unchanged, name):
    with unchanged(), pytest.raises(AlreadyExists):
        lake.create_catalog(name)
    with unchanged(), pytest.raises(AlreadyExists):
        lake.rename_catalog("second", name)


@pytest.mark.parametrize("name", ["", "a/b", "a@b", "a#b", "..", "a\nb", "x" * 256, 17, None])
def test_a_catalogs_name_that_cannot_be_one_is_refused(lake, second, unchanged, name):
    calls = [
        lambda: lake.create_catalog(name),
        lambda: lake.rename_catalog("second", name),
        lambda: lake.rename_catalog(name, "third"),
        lambda: lake.drop_catalog(name),
        lambda: lake.undrop_catalog(name),
        lambda: lake.purge_catalog(name),
    ]
    for call in calls:
        with unchanged(), pytest.raises(Invalid):
            call()


def test_a_dropped_catalog_can_not_be_read_or_written_until_it_is_undropped(lake, second):
    table, past = second.table("t"), second.at(second.version)
    lake.drop_catalog("second", cascade=True)
    assert (lake.catalog_exists("second"), [one.name for one in lake.catalogs()]) == (False, ["default"])
    calls = [
        second.tables,
        lambda: rows(second),
        lambda: table.append(numbers(2)),
        lambda: second.create_branch("dev"),
        lambda: second.create_namespace("n"),
        lambda: lake.catalog("second"),
        lambda: lake.drop_catalog("second"),
        lambda: lake.rename_catalog("second", "third"),
    ]
    for call in calls:
        with pytest.raises(NotFound):
            call()
    assert rows(past) == [1]
    lake.undrop_catalog("Second")
    assert (rows(second), second.name, lake.catalog("second")) == ([1], "second", second)
    table.append(numbers(2))


def test_a_catalog_with_branches_is_dropped_only_with_all_of_them(lake, second, unchanged):
    """P20."""
    dev = second.create_branch("dev")
    second.create_share("partner", ["t"])
    with unchanged(), pytest.raises(Invalid, match="branch dev, share partner"):
        lake.drop_catalog("second")
    lake.drop_catalog("second", cascade=True)
    with pytest.raises(NotFound):
        dev.tables()
    lake.undrop_catalog("second")
    assert (rows(dev), second.branch("dev")) == ([1], dev)
    with unchanged(), pytest.raises(Invalid, match="True or False"):
        lake.drop_catalog("second", cascade="yes")


def test_a_catalog_full_of_tables_was_dropped_without_a_question(lake, second, unchanged):
    with unchanged(), pytest.raises(Invalid, match="not empty"):
        lake.drop_catalog("second")
    second.drop_table("t")
    lake.drop_catalog("second")


def test_a_catalog_comes_back_under_another_name_or_by_its_id(lake, second, unchanged):
    lake.drop_catalog("second", cascade=True)
    other = lake.create_catalog("second")
    with unchanged(), pytest.raises(AlreadyExists):
        lake.undrop_catalog("second")
    lake.drop_catalog("second")
    with unchanged(), pytest.raises(Ambiguous) as caught:
        lake.undrop_catalog("second")
    assert {one.id for one in caught.value.candidates} == {second._line.ref.catalog, other._line.ref.catalog}
    lake.undrop_catalog("second", id=second._line.ref.catalog, as_name="first")
    assert (lake.catalog("first"), second.name) == (second, "first")
    lake.undrop_catalog("second")
    assert lake.catalog("second") == other


def test_a_purged_catalog_is_gone_for_good(lake, second, unchanged):
    past = second.at(second.version)
    dev = second.create_branch("dev")
    with unchanged(), pytest.raises(Invalid, match="not dropped"):
        lake.purge_catalog("second")
    lake.drop_catalog("second", cascade=True)
    with unchanged(), pytest.raises(Invalid, match="branch dev"):
        lake.purge_catalog("second")
    lake.undrop_catalog("second")
    second.drop_branch("dev")
    second.purge_branch("dev")
    lake.drop_catalog("second", cascade=True)
    commit = lake.purge_catalog("second")
    assert lake.purge_catalog("second").id == commit.id
    for call in (lambda: rows(past), past.tables, dev.at(past.version).tables):
        with pytest.raises(Expired):
            call()
    with pytest.raises(NotFound):
        second.tables()
    with unchanged(), pytest.raises(Expired):
        lake.undrop_catalog("second")


def test_a_case_sensitive_catalog_tells_names_apart_by_their_case(lake):
    exact = lake.create_catalog("exact", case_sensitive=True)
    exact.create_namespace("N")
    for name in ("N.t", "N.T"):
        exact.create_table(name, {"id": "long"})
    dev = exact.create_branch("Dev")
    grandchild = dev.create_branch("child")
    for line in (exact, dev, grandchild, lake.catalog("EXACT@dev"), exact.create_tag("q4")):
        assert [one.name for one in line.tables("N")] == ["N.T", "N.t"]
        assert line.table("N.t") != line.table("N.T")
        assert (line.namespace_exists("n"), line.table_exists("N.t")) == (False, True)
        assert [one.name for one in line.tables("N", prefix="T")] == ["N.T"]
    dev.rename_table("N.t", "N.tt")
    dev.create_table("N.t", {"id": "long"})
    assert len(dev.tables("N")) == 3
    share = exact.create_share("partner", ["N.t"])
    assert [one.name for one in share.tables("N")] == ["N.t"]


def test_other_catalogs_compare_names_without_case(lake, second, unchanged):
    with unchanged(), pytest.raises(AlreadyExists):
        second.create_table("T", {"id": "long"})
    with unchanged(), pytest.raises(Invalid, match="True or False"):
        lake.create_catalog("third", case_sensitive=1)


def test_catalog_exists_answers_for_all_that_can_be_opened(lake, second):
    second.create_branch("dev")
    second.create_tag("q4")
    second.create_share("partner", ["t"])
    for there in ("second", "SECOND@dev", "second@q4", "second@partner", "second@main", f"second#{second.version}"):
        assert lake.catalog_exists(there), there
        assert lake.catalog(there).name == "second"
    for absent in ("third", "second@x", "third@main", "default@dev", "second#0"):
        assert not lake.catalog_exists(absent), absent
    with pytest.raises(Invalid):
        lake.catalog_exists("second@q4#1")


def test_what_follows_a_hash_pins_a_branch_or_a_share(lake, second):
    version = second.version
    second.create_branch("dev").table("t").append(numbers(2))
    second.create_share("partner", ["t"])
    second.table("t").append(numbers(3))
    names = ("second", "second@dev", "second@partner")
    assert [rows(lake.catalog(name)) for name in names] == [[1, 3], [1, 2], [1, 3]]
    assert [rows(lake.catalog(f"{name}#{version}")) for name in names] == [[1]] * 3
