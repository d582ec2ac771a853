"""Tags: names for a line at a version, which never move."""

import pyarrow
import pytest

from lakebed import AlreadyExists, Ambiguous, Expired, Forbidden, Invalid, NotFound


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def rows(catalog):
    return catalog.table("t").scan().to_arrow()["id"].to_pylist()


@pytest.fixture
def grown(main):
    main.create_table("t", {"id": "long"}).append(numbers(1))
    return main


def test_a_tag_shows_its_version_for_ever(lake, grown):
    made = grown.create_tag("2026-Q4", message="closed")
    grown.table("t").append(numbers(2))
    for tagged in (made, grown.tag("2026-q4"), grown.at(tag="2026-q4"), lake.catalog("default@2026-q4")):
        assert tagged == made
        assert (rows(tagged), tagged.ref) == ([1], "2026-Q4")
    assert grown.at(made.version) == made
    assert rows(grown) == [1, 2]


def test_a_tag_can_name_the_past(grown):
    first = grown.log(limit=1)[0]
    grown.table("t").append(numbers(2))
    made = [
        grown.create_tag("by version", first.version),
        grown.create_tag("by commit", first),
        grown.create_tag("by time", first.time),
        grown.at(first.version).create_tag("from the past"),
        grown.create_tag("again", at=grown.tag("by version").version),
    ]
    assert [rows(one) for one in made] == [[1]] * 5
    assert [one.ref for one in grown.tags()] == ["again", "by commit", "by time", "by version", "from the past"]
    assert [one.ref for one in grown.tags(prefix="BY")] == ["by commit", "by time", "by version"]
    assert grown.tags(prefix="by v") == [made[0]]


def test_a_tag_of_a_branch_is_found_from_every_line(grown):
    dev = grown.create_branch("dev")
    dev.table("t").append(numbers(2))
    dev.create_tag("q4")
    dev.table("t").append(numbers(3))
    for line in (grown, dev, grown.at(grown.version), grown.tag("q4")):
        assert (line.at(tag="q4").ref, rows(line.at(tag="q4"))) == ("q4", [1, 2])
    grown.drop_branch("dev")
    assert rows(grown.tag("q4")) == [1, 2]


def test_a_branch_can_begin_at_a_tag(grown):
    tagged = grown.create_tag("q4")
    grown.table("t").append(numbers(2))
    fixes = tagged.create_branch("fixes")
    fixes.table("t").append(numbers(3))
    assert (rows(fixes), rows(grown), rows(tagged)) == ([1, 3], [1, 2], [1])


def test_a_tag_is_never_moved_and_never_written(grown, unchanged):
    tagged = grown.create_tag("q4")
    grown.table("t").append(numbers(2))
    with unchanged(), pytest.raises(AlreadyExists, match="never moves"):
        grown.create_tag("Q4")
    calls = [
        lambda: tagged.create_namespace("n"),
        lambda: tagged.table("t").append(numbers(3)),
        lambda: tagged.set_properties({"k": "v"}),
        lambda: tagged.transaction("t"),
        lambda: tagged.drop_tag("q4"),
        lambda: tagged.rename_tag("q4", "q5"),
        lambda: tagged.drop_branch("dev"),
    ]
    for call in calls:
        with unchanged(), pytest.raises(Forbidden):
            call()


def test_branches_tags_and_shares_have_one_name_space(grown, unchanged):
    grown.create_branch("b")
    grown.create_tag("t")
    grown.create_share("s", ["t"])
    for taken in ("b", "t", "s", "main"):
        for make in (grown.create_branch, grown.create_tag, lambda name: grown.create_share(name, ["t"])):
            with unchanged(), pytest.raises(AlreadyExists):
                make(taken)
        for rename, own in ((grown.rename_branch, "b"), (grown.rename_tag, "t"), (grown.rename_share, "s")):
            if taken != own:
                with unchanged(), pytest.raises(AlreadyExists):
                    rename(own, taken)
    for find, others in ((grown.branch, "ts"), (grown.tag, "bs"), (grown.share, "bt")):
        for other in others:
            with pytest.raises(NotFound, match="found a"):
                find(other)
    with pytest.raises(NotFound, match="the trunk"):
        grown.tag("main")
    exists = [
        [one(name) for name in ("b", "t", "s", "main", "x")]
        for one in (grown.branch_exists, grown.tag_exists, grown.share_exists)
    ]
    assert exists == [
        [True, False, False, True, False],
        [False, True, False, False, False],
        [False, False, True, False, False],
    ]


def test_a_tag_is_renamed_dropped_undropped_and_purged(grown, unchanged):
    made = grown.create_tag("q4")
    grown.rename_tag("q4", "final")
    assert (made.ref, grown.tag("final"), grown.tag_exists("q4")) == ("final", made, False)
    grown.drop_tag("final")
    assert (grown.tags(), rows(made)) == ([], [1])
    with pytest.raises(NotFound):
        grown.tag("final")
    grown.undrop_tag("final", as_name="q4")
    assert grown.tag("q4") == made
    with unchanged(), pytest.raises(Invalid, match="not dropped"):
        grown.purge_tag("q4")
    grown.drop_tag("q4")
    commit = grown.purge_tag("q4")
    assert grown.purge_tag("q4").id == commit.id
    with unchanged(), pytest.raises(Expired):
        grown.undrop_tag("q4")
    assert rows(made) == [1]


def test_dropped_tags_of_one_name_are_told_apart(grown, unchanged):
    for value in (2, 3):
        grown.create_tag("q4")
        grown.drop_tag("q4")
        grown.table("t").append(numbers(value))
    with unchanged(), pytest.raises(Ambiguous) as caught:
        grown.undrop_tag("q4")
    older = min(caught.value.candidates, key=lambda one: one.created)
    grown.undrop_tag("q4", older.id)
    assert rows(grown.tag("q4")) == [1]


@pytest.mark.parametrize("call", ["create_tag", "create_branch"])
def test_a_moment_that_is_not_there_is_refused(lake, grown, unchanged, call):
    before = grown.version
    other = lake.create_catalog("other")
    for catalog, moment, error in (
        (grown, int(other.version) + 1, Invalid),
        (other, before, NotFound),
        (grown, "17", Invalid),
        (grown, grown.log()[-1].time.replace(year=1999), NotFound),
        (grown, grown.log()[-1].time.replace(year=2999), Invalid),
    ):
        with unchanged(), pytest.raises(error):
            getattr(catalog, call)("new", moment)


def test_a_moment_is_named_once(lake, grown, unchanged):
    grown.create_tag("q4")
    with unchanged(), pytest.raises(Invalid, match="one moment"):
        grown.at(17, tag="q4")
    with unchanged(), pytest.raises(Invalid, match="a tag has a version"):
        lake.catalog("default@q4#17")
    with unchanged(), pytest.raises(NotFound):
        grown.at(tag="q5")


@pytest.mark.parametrize("name", ["", "a@b", "a#b", "a//b", "..", "a\nb", "x" * 256, 17, None])
def test_a_tag_name_that_cannot_be_one_is_refused(grown, unchanged, name):
    for call in (grown.create_tag, grown.tag, grown.drop_tag, grown.undrop_tag, grown.purge_tag, grown.tag_exists):
        with unchanged(), pytest.raises(Invalid):
            call(name)
