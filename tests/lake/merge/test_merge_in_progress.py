"""Merges whose conflicts are kept, decided one by one, and finished, also by another process."""

import datetime
from decimal import Decimal

import pytest

import lakebed
from lakebed import AlreadyExists, Catalog, Conflict, Corrupt, Invalid, NotFound, TooLarge
from lakebed.catalog.merge.settling import IN_PROGRESS
from lakebed.catalog.objects.properties import put_properties
from lakebed.catalog.transaction.commits import Request


@pytest.fixture
def lines(main: Catalog):
    return two_lines(main)


def two_lines(main: Catalog) -> tuple[Catalog, Catalog]:
    """Two lines that dispute two rows and a property; one has a date as a part of its key."""
    columns = {"day": "date", "id": "long", "price": "decimal(9, 2)", "note": "string"}
    table = main.create_table("t", columns, primary_key=["day", "id"])
    day = datetime.date(2026, 11, 1)
    table.append([{"day": day, "id": number, "price": Decimal(number), "note": "n"} for number in (1, 2, 3)])
    dev = main.create_branch("dev")
    for line, price in ((main, "10"), (dev, "20")):
        line.table("t").update({"price": price}, "id < 3")
    dev.table("t").append([{"day": day, "id": 9, "price": Decimal(9), "note": "new"}])
    return main, dev


def prices(line: Catalog) -> dict[int, Decimal]:
    return {row["id"]: row["price"] for row in line.table("t").scan().to_arrow().to_pylist()}


def test_a_merge_with_conflicts_is_kept_decided_and_finished_in_one_commit(lines):
    main, dev = lines
    result = main.merge(dev, keep_conflicts=True)
    assert (result.commit, result.in_progress, len(result.conflicts)) == (None, True, 2)
    assert prices(main)[1] == 10  # nothing is merged yet
    merging = main.merge_in_progress()
    first = merging.conflicts[0]
    assert first.key == {"day": datetime.date(2026, 11, 1), "id": 1}
    merging.decide({"t": {(first.key["day"], 1): "theirs"}})
    assert [found.key["id"] for found in merging.conflicts] == [2]
    with pytest.raises(Conflict):
        merging.finish()
    merging.decide(lambda conflict: {"price": Decimal("15.50")})
    before = len(main.log())
    commit = merging.finish(message="both").commit
    assert len(main.log()) == before + 1
    assert (commit.message, commit.operations[0].type) == ("both", "merge_branch")
    assert prices(main) == {1: 20, 2: Decimal("15.50"), 3: 3, 9: 9}
    with pytest.raises(NotFound, match="no merge is in progress"):
        main.merge_in_progress().finish()
    assert "lakebed.merge" not in main.properties
    assert main.merge(dev).commit is None


def test_a_revert_of_a_finished_merge_began_it_again(lines):
    main, dev = lines
    main.merge(dev, keep_conflicts=True)
    merging = main.merge_in_progress()
    merging.decide(lambda conflict: "ours")
    finished = merging.finish().commit
    main.revert(finished)
    assert "lakebed.merge" not in main.properties
    with pytest.raises(NotFound, match="no merge is in progress"):
        main.merge_in_progress().abandon()
    begun = main.log()[3]
    assert begun.operations[0].detail == "merge of dev begun"
    main.cherry_pick(begun)
    assert "lakebed.merge" not in main.properties


def test_a_merge_in_progress_stays_its_own_line_s_when_others_are_merged(lines):
    """What it did: the property of the one and that of the other were in conflict."""
    main, dev = lines
    dev.merge(main, keep_conflicts=True)
    main.create_branch("third").table("t").append(
        [{"day": datetime.date(2026, 11, 2), "id": 7, "price": 7, "note": "n"}]
    )
    main.merge(dev, keep_conflicts=True)
    main.merge(main.branch("third"))
    assert main.merge_in_progress().source == "dev"
    assert main.merge(dev, dry_run=True).conflicts and all(
        conflict.what != "property lakebed.merge" for conflict in main.merge(dev, dry_run=True).conflicts
    )
    main.merge_in_progress().abandon()
    main.merge(dev, strategy="ours")
    assert dev.merge_in_progress().source == "main"
    with pytest.raises(NotFound):
        main.merge_in_progress().abandon()


def test_another_process_goes_on_with_it(tmp_path):
    with lakebed.connect(str(tmp_path / "lake")) as lake:
        _go_on_elsewhere(lake, *two_lines(lake.catalog()))


def _go_on_elsewhere(lake, main, dev):
    main.merge(dev, keep_conflicts=True)
    dev.table("t").update({"price": "99"}, "id = 3")  # after the merge began: it is not part of it
    with lakebed.connect(lake.url) as again:
        merging = again.catalog().merge_in_progress()
        assert (merging.source, str(merging)) == ("dev", "Merge of dev in progress, 0 conflicts decided")
        table = merging.to_arrow()
        assert table.column("what").to_pylist() == ["row", "row"]
        rows = [
            {**row, "decision": decision} for row, decision in zip(table.to_pylist(), ("ours", "theirs"), strict=True)
        ]
        merging.decide(rows)
        assert merging.to_arrow().column("decision").to_pylist() == ["ours", "theirs"]
        merging.finish()
    assert prices(main) == {1: 10, 2: 20, 3: 3, 9: 9}


def test_a_row_of_the_table_of_conflicts_can_be_edited_into_a_decision(lines):
    main, dev = lines
    main.merge(dev, keep_conflicts=True)
    merging = main.merge_in_progress()
    rows = merging.to_arrow().to_pylist()
    for row in rows:
        row["decision"] = row["ours"].replace('"10.00"', '"12.34"')
    merging.decide(rows)
    merging.finish()
    assert (prices(main)[1], prices(main)[2]) == (Decimal("12.34"), Decimal("12.34"))


def test_without_conflicts_it_is_merged_at_once(lines):
    main, dev = lines
    result = main.merge(dev, keep_conflicts=True, strategy="ours")
    assert (result.in_progress, prices(main)[9]) == (False, 9)


def test_one_merge_is_in_progress_at_a_time_and_it_can_be_abandoned(lines):
    main, dev = lines
    main.merge(dev, keep_conflicts=True)
    with pytest.raises(AlreadyExists, match="a merge is in progress"):
        main.merge(dev, keep_conflicts=True)
    main.merge_in_progress().abandon()
    with pytest.raises(NotFound):
        print(main.merge_in_progress().conflicts)
    assert prices(main)[1] == 10


def test_a_branch_that_forks_meanwhile_has_no_merge_in_progress(lines):
    main, dev = lines
    main.merge(dev, keep_conflicts=True)
    with pytest.raises(NotFound):
        print(main.create_branch("fork").merge_in_progress().source)


@pytest.mark.parametrize("given", [[{"decision": "ours"}], [{"id": "x", "decision": "mine"}], 5, None])
def test_what_is_not_a_decision_is_refused(lines, given):
    main, dev = lines
    main.merge(dev, keep_conflicts=True)
    with pytest.raises(Invalid):
        main.merge_in_progress().decide(given)


def test_what_changes_meanwhile_is_merged_too(lines):
    main, dev = lines
    main.merge(dev, keep_conflicts=True)
    main.table("t").update({"note": "'later'"}, "id = 1")
    main.table("t").delete("id = 2")
    merging = main.merge_in_progress()
    merging.decide(lambda conflict: "theirs")
    merging.finish()
    row = main.table("t").get(datetime.date(2026, 11, 1), 1)
    assert (row["note"], row["price"]) == ("later", 20)


BAD_ROWS = (
    '{"row": {"price": {"decimal": "x"}}}',
    '{"row": {"price": 1e999}}',
    '{"row": {"price": 123456789012}}',
    '{"row": {"note": "\\ud800"}}',
    '{"row": {"note": [1]}}',
    '{"row": {"id": null}}',
    "[" * 100_000,
    '{"row": ' * 3_000 + "1" + "}" * 3_000,
    {"price": Decimal("1.234")},
    {1: 2},
)


@pytest.mark.parametrize("row", BAD_ROWS, ids=lambda row: str(row)[:30])
def test_a_decision_that_does_not_fit_its_table_was_kept_and_no_call_could_go_on(lines, row):
    main, dev = lines
    main.merge(dev, keep_conflicts=True)
    merging = main.merge_in_progress()
    [first, *_] = merging.to_arrow().to_pylist()
    with pytest.raises(Invalid):
        merging.decide([{**first, "decision": row}])
    assert merging.to_arrow()["decision"].to_pylist() == [None, None]
    merging.decide(lambda conflict: "ours")
    merging.finish()
    assert prices(main) == {1: 10, 2: 10, 3: 3, 9: 9}


def test_decisions_are_counted_in_bytes_and_have_text_that_can_be_stored(lines):
    main, dev = lines
    main.merge(dev, keep_conflicts=True)
    merging = main.merge_in_progress()
    with pytest.raises(TooLarge, match="at most 60,000 bytes"):
        merging.decide(lambda conflict: {"note": "é" * 40_000})
    with pytest.raises(Invalid, match="text that can't be stored"):
        merging.decide([{"id": "\ud800", "decision": "ours"}])
    merging.abandon()


def test_a_merge_in_progress_that_somebody_spoilt_was_a_raw_error(lines):
    main, dev = lines
    main.merge(dev, keep_conflicts=True)
    with pytest.raises(Invalid, match=r"lakebed\.merge: properties of a catalog with this prefix are Lakebed's own"):
        main.set_properties({"lakebed.merge": "[" * 50_000})
    with pytest.raises(Invalid, match="prefix are Lakebed's own"):
        main.set_properties({"lakebed.consumer.x": "1"})
    line = main._scope.ref.line.id
    for text in ("[" * 50_000, "{}", f'{{"line": "{line}", "source": 1, "name": 1, "version": 1, "decisions": 7}}'):
        main._scope.change(
            lambda work, text=text: put_properties(work, work.top, {IN_PROGRESS: text}), Request("x", ())
        )
        with pytest.raises(Corrupt, match="the merge in progress can't be read"):
            main.merge_in_progress().finish()
    main.unset_properties([IN_PROGRESS])
    assert len(main.merge(dev, keep_conflicts=True).conflicts) == 2


def test_a_decided_row_takes_no_other_value_than_an_appended_one(lines):
    main, dev = lines
    main.merge(dev, keep_conflicts=True)
    merging = main.merge_in_progress()
    merging.decide(lambda conflict: {"price": 7, "note": 7})  # a whole number is text, as by cast=True
    merging.finish()
    rows = main.table("t").scan("id = 1").to_arrow().to_pylist()
    assert [(row["price"], row["note"]) for row in rows] == [(Decimal(7), "7")]


def test_a_merge_in_progress_took_few_decisions(main):
    """Of 3,000 conflicts 750 could be decided: all were in one property."""
    table = main.create_table("many", {"id": "long", "v": "long"}, primary_key=["id"])
    table.append([{"id": number, "v": 0} for number in range(3000)])
    dev = main.create_branch("dev")
    main.table("many").update({"v": "id + 1"})
    dev.table("many").update({"v": "id + 2"})
    main.merge(dev, keep_conflicts=True)
    merging = main.merge_in_progress()
    merging.decide(lambda conflict: "theirs")
    assert merging.conflicts == ()
    rows = merging.to_arrow().to_pylist()
    assert rows[8]["decision"] == "theirs"
    merging.decide([{**rows[7], "decision": "ours"}, {**rows[8], "decision": {"v": 80}}])  # a later decision counts
    merging.decide([{**row, "decision": "ours"} for row in rows[1000:2000]])
    decided = merging.to_arrow()["decision"].to_pylist()
    assert (decided.count("ours"), decided.count("theirs")) == (1001, 1998)
    merging.finish()
    rows = {row["id"]: row["v"] for row in main.table("many").to_arrow().to_pylist()}
    assert [rows[number] for number in (0, 7, 8, 999, 1000, 1999, 2000)] == [2, 8, 80, 1001, 1001, 2000, 2002]


def test_one_call_stores_only_so_many_decisions_and_else_nothing(lines):
    main, dev = lines
    main.merge(dev, keep_conflicts=True)
    merging = main.merge_in_progress()
    with pytest.raises(TooLarge, match="8,000,000 bytes"):
        merging.decide([{"id": f"{number:0100}", "decision": "ours"} for number in range(80_000)])
    assert len(merging.conflicts) == 2
