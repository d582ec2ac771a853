"""Law 8 of differences: applied to the first state they give the second, in any history; and blame is right in any."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lake.changes.test_changes_laws import SOME_STEPS, a_lake
from tests.support.examples import examples
from tests.support.feeds import STEPS, History, state_of
from tests.support.row_differences import expected, found_of, patched
from tests.support.row_lines import OPERATIONS, run

ABSENT = object()


def difference_of(first, second, name="s.t"):
    return next((one for one in first.diff(second) if one.name == name and one.type == "table"), None)


def check(first, second):
    """Differences are those that brute force finds, and turn the first state into the second."""
    old, new = first.table("s.t"), second.table("s.t")
    found = difference_of(first, second)
    rows = [] if found is None else list(found.rows())
    assert found_of(rows) == expected(old, new, new.schema)
    assert patched(state_of(old, new.schema).values(), rows) == patched(state_of(new, new.schema).values(), [])
    if found is not None:
        summary = found.summary()
        kinds = [row.change for row in rows]
        counted = {"inserted": summary.inserted, "deleted": summary.deleted, "updated": summary.updated}
        assert counted == {kind: kinds.count(kind) for kind in counted}
        assert summary.cells == {name: sum(name in row.columns for row in rows) for name in new.schema.names}
        assert found.rows().count() == len(rows)
        assert list(found.rows(limit=3)) == rows[:3]


@given(SOME_STEPS, st.data())
@settings(max_examples=examples(4, 200), deadline=None)
def test_a_diff_applied_to_the_first_of_two_versions_gives_the_second(steps, data):
    with a_lake() as lake:
        history = History(lake.catalog(), steps)
        one, other = (data.draw(st.sampled_from(history.versions)) for _ in range(2))
        check(history.main.at(one), history.main.at(other))


@given(SOME_STEPS, SOME_STEPS)
@settings(max_examples=examples(2, 80), deadline=None)
def test_a_diff_applied_to_one_branch_gives_the_other(ours, theirs):
    with a_lake() as lake:
        history = History(lake.catalog(), ours[:4])
        branch = history.main.create_branch("other line")
        for name, number in ours[4:]:
            history.step(name, number)
        there = History.__new__(History)
        there.main, there.table, there.count, there.versions = branch, branch.table("s.t"), 50, [branch.version]
        for name, number in theirs:
            there.step(name, number)
        check(history.main, branch)
        check(branch, history.main)


SOME_OPERATIONS = st.lists(
    st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 1), st.integers(0, 30)), min_size=3, max_size=12
)


@given(SOME_OPERATIONS, st.booleans())
@settings(max_examples=examples(3, 100), deadline=None)
def test_a_diff_of_branches_that_merged_rows_in_any_order_turns_one_into_the_other(steps, keyed):
    """Also in tables without a key, and where rows were deleted and inserted again with their keys."""
    with a_lake() as lake:
        lines = run(lake.catalog(), steps, keyed=keyed)
        one, other = (side.catalog for side in lines.sides)
        for first, second in ((one, other), (other, one)):
            found = difference_of(first, second, "t")
            newest = second.table("t").schema
            rows = [] if found is None else list(found.rows())
            before, after = (state_of(catalog.table("t"), newest).values() for catalog in (first, second))
            assert patched(before, rows) == patched(after, [])
            if keyed:
                assert found_of(rows) == expected(first.table("t"), second.table("t"), newest)


def cell_changes(main, table):
    """For each row id and column, the version of the last commit of the line that changed it, by reading them all."""
    last, before = {}, {}
    for commit in reversed(main.log(table=table)):
        past = table.at(commit)
        rows = past.scan(columns=[*past.schema.names, "_row_id"]).to_arrow().to_pylist()
        now = {(row["_row_id"], field.id): row[field.name] for row in rows for field in past.schema.fields}
        for cell, value in now.items():
            if before.get(cell, ABSENT) is ABSENT or before[cell] != value:
                last[cell] = commit
        before = now
    return {cell: last[cell] for cell in before}


BLAMED = [step for step in STEPS if step != "restore"]  # a restored schema makes columns come back with their past


@given(st.lists(st.tuples(st.sampled_from(BLAMED), st.integers(0, 9)), min_size=2, max_size=12))
@settings(max_examples=examples(4, 150), deadline=None)
def test_every_cell_is_blamed_on_the_last_commit_that_changed_it(steps):
    """What a merge brought is blamed on a commit of its branch, from before the merge."""
    with a_lake() as lake:
        history = History(lake.catalog(), steps)
        table = history.table
        last = cell_changes(history.main, table)
        blamed = table.blame()
        assert len(blamed) == table.scan().count()
        for number, row in enumerate(blamed):
            for field in table.schema.fields:
                truth, found = last[row.row_id, field.id], row.cells[field.name]
                if found.line == truth.line:
                    assert found == truth, (row, field.name)
                else:
                    assert len(truth.parents) == 2, (row, field.name)
                    assert found.version < truth.version
            if number % 8 == 0:
                assert table.blame(row.values[table.schema.names[0]]) == row
