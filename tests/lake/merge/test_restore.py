"""Going back: a branch by reset, a table by restore."""

import pyarrow as pa
import pytest

import lakebed
from lakebed import Catalog, Forbidden, Invalid, NotFound
from tests.support.changed_files import live


@pytest.fixture
def grown(main: Catalog) -> Catalog:
    main.create_namespace("s")
    for name in ("s.a", "s.b"):
        main.create_table(name, {"id": "long", "note": "string"}).append(rows(0))
    return main


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(line: Catalog, name: str) -> list[int]:
    return sorted(line.table(name).scan().to_arrow()["id"].to_pylist())


def test_a_reset_is_what_was_there_and_can_be_undone(grown):
    before = grown.version
    grown.table("s.a").append(rows(1))
    grown.rename_table("s.b", "s.c")
    grown.create_table("s.d", {"id": "long"})
    grown.set_properties({"k": "v"})
    with grown.table("s.a").evolve() as change:
        change.add_column("x", "int")
        change.partition_by(["x"])
    after = grown.version
    commit = grown.reset(before)
    assert [(at.line, at.version) for at in commit.parents] == [(grown._line.ref.line.id, before)]
    assert grown.diff(grown.at(before)) == []
    assert grown.properties == {}
    grown.reset(after)
    assert grown.diff(grown.at(after)) == []
    assert [one.name for one in grown.tables("s")] == ["s.a", "s.c", "s.d"]


def test_what_a_reset_undid_merges_again(grown):
    dev = grown.create_branch("dev")
    dev.table("s.a").append(rows(1))
    before = grown.version
    grown.merge(dev)
    grown.reset(before)
    assert ids(grown, "s.a") == [0]
    grown.merge(dev)
    assert ids(grown, "s.a") == [0, 1]


def test_a_branch_is_reset_to_before_its_fork(grown):
    before = grown.version
    grown.table("s.a").append(rows(1))
    dev = grown.create_branch("dev")
    dev.reset(before)
    assert (ids(dev, "s.a"), ids(grown, "s.a")) == ([0], [0, 1])


def test_a_restored_table_is_what_it_was_under_a_new_version(grown):
    table = grown.table("s.a")
    before = grown.version
    state = table.schema, table.properties, ids(grown, "s.a")
    table.append(rows(1))
    table.set_properties({"k": "v"})
    with table.evolve() as change:
        change.rename_column("note", "remark")
    table.rename("s.other")
    grown.table("s.b").append(rows(9))
    commit = grown.restore_table("s.other", before)
    assert (table.name, (table.schema, table.properties, ids(grown, "s.a"))) == ("s.a", state)
    assert ids(grown, "s.b") == [0, 9]
    assert (commit.version > before, commit.operations[0].type, commit.parents) == (True, "restore", ())
    assert ids(grown.at(commit.version.previous()), "s.other") == [0, 1]


def test_a_dropped_table_is_restored(grown):
    before = grown.version
    dropped = grown.table("s.a")
    grown.drop_table("s.a")
    grown.restore_table("s.a", before)
    assert (grown.table("s.a").id, ids(grown, "s.a")) == (dropped.id, [0])


def test_a_restore_onto_a_name_that_is_taken_is_refused(grown, unchanged):
    before = grown.version
    grown.table("s.a").rename("s.c")
    grown.create_table("s.a", {"id": "long"})
    with unchanged(), pytest.raises(lakebed.AlreadyExists):
        grown.restore_table("s.c", before)
    with unchanged(), pytest.raises(NotFound):
        grown.restore_table("s.c", grown.log()[-1].version)
    with unchanged(), pytest.raises(Invalid):
        grown.restore_table("s.c", grown.version.next())


def test_every_state_that_a_table_had_can_be_restored_and_none_is_forgotten(grown):
    """P12: schema, key, spec, order, properties, storage, name and files of then, as a new version; there and back."""
    grown.create_namespace("elsewhere")
    table = grown.create_table("s.t", {"id": "long", "note": "string"}, location="tables/there")
    table.append(rows(1))

    def evolve(**steps):
        with table.evolve() as change:
            for step, arguments in steps.items():
                getattr(change, step)(*arguments)

    def state(at):
        names = (at.name, at.id, at.storage, at.properties)
        shape = (at.schema, at.primary_key, str(at.spec), str(at.sort_order))
        return (*names, *shape, live(at), at.scan().to_arrow().to_pylist())

    changes = [
        lambda: table.set_properties({"k": "v"}),
        lambda: evolve(add_column=("more", "int"), rename_column=("note", "remark")),
        lambda: evolve(partition_by=(["bucket(4, id)"],), sort_by=(["id desc"],)),
        lambda: table.append(rows(2, 3)),
        lambda: table.set_storage(location="tables/moved", properties={"tier": "hot"}),
        lambda: table.delete("id = 2"),
        lambda: table.rename("elsewhere.t"),
        lambda: evolve(drop_column=("remark",)),
        lambda: table.unset_properties(["k"]),
        lambda: table.append(rows(4)),
    ]
    seen = {grown.version: state(table)}
    for change in changes:
        change()
        seen[grown.version] = state(table)
    assert len({repr(one) for one in seen.values()}) == len(seen)
    for version, then in [*seen.items(), *reversed(seen.items())]:
        commit = grown.restore_table(table.name, version)
        assert (commit.version, state(table)) == (grown.version, then)
        assert commit.version > max(seen)
    for version, then in seen.items():
        assert state(table.at(version)) == then
    table.append(rows(5))


def test_a_restore_to_a_version_that_is_none_is_refused(grown, unchanged):
    """P12."""
    for wrong, error in ((grown.version.next(), Invalid), (0, NotFound), ("yesterday", NotFound)):
        with unchanged(), pytest.raises(error):
            grown.restore_table("s.a", wrong)
    with unchanged(), pytest.raises(NotFound):
        grown.restore_table("s.nothing", grown.version)


def test_a_table_is_restored_by_its_handle(main: Catalog) -> None:
    table = main.create_table("t", {"id": "long"})
    first = table.append(pa.table({"id": [1]}))
    table.append(pa.table({"id": [2]}))
    assert table.restore(-1, message="undo").message == "undo"
    assert table.scan().to_arrow()["id"].to_pylist() == [1]
    table.rename("u")
    table.restore(first.version)
    assert table.name == "t"
    main.drop_table("t")
    table.restore(first)
    assert main.table("t").id == table.id
    event = lakebed.event_id("restored")
    assert table.restore("now", event_id=event) == table.restore("now", event_id=event)


def test_a_table_is_restored_only_by_a_commit_of_its_own(main: Catalog) -> None:
    table = main.create_table("t", {"id": "long"})
    with pytest.raises(NotFound, match="did not exist at that version"):
        table.restore(main.at(-1).version)
    with main.transaction() as tx, pytest.raises(Invalid, match="inside a transaction"):
        tx.table("t").restore(-1)
    with pytest.raises(Forbidden):
        main.at(main.version).table("t").restore(main.version)


WIDER = {
    "int": ("long", 1, 5_000_000_000),
    "float": ("double", 1.5, 1e300),
    "decimal(4,2)": ("decimal(20,2)", 1, 10**15),
}


@pytest.mark.parametrize("back", ["restore", "reset"])
@pytest.mark.parametrize("narrow", list(WIDER))
def test_a_table_from_before_a_widening_is_read_by_filters_though_its_checkpoint_is_younger(
    main: Catalog, narrow: str, back: str
) -> None:
    """Every filter and upsert was `Corrupt`: the checkpoint's bounds have the wider type."""
    wide, small, large = WIDER[narrow]
    table = main.create_table("widened", {"id": narrow, "name": "string"})
    table.set_properties({"write.inline-bytes": "0"})
    table.append([{"id": small, "name": "a"}], cast=True)
    before = main.version
    with table.evolve() as change:
        change.widen_column("id", wide)
    table.append([{"id": large, "name": "b"}], cast=True)
    table.compact()
    table.checkpoint()
    if back == "restore":
        table.restore(before)
    else:
        main.reset(before)
    assert str(table.schema.field("id").type).replace(" ", "") == narrow
    assert table.scan(f"id = {small}").count() == 1
    assert table.scan(f"id > {small}").count() == 0
    table.update({"name": "'c'"}, f"id = {small}")
    assert table.scan().to_arrow().column("name").to_pylist() == ["c"]
