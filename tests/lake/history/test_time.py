"""Looking at the past: versions, times, the log; and that nothing can be written there."""

import threading
from datetime import UTC, date, datetime, timedelta, timezone

import pyarrow
import pytest

import lakebed
from lakebed import Forbidden, Invalid, NotFound
from lakebed.catalog.transaction.ago import time_ago


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def rows(table):
    return table.scan().to_arrow()["id"].to_pylist()


@pytest.fixture
def commits(main):
    """Three commits to a table, each later than the one before."""
    table = main.create_table("t", {"id": "long"})
    made = []
    for number in range(3):
        while made and datetime.now(UTC) <= made[-1].time:
            pass
        made.append(table.append(numbers(number), author="ab"[number % 2], message=f"number {number}"))
    return made


def test_a_version_can_be_named_in_many_ways(main, commits):
    version = commits[1].version
    ways = [main.at(version), main.at(int(version)), main.at(version=str(version)), main.at(version=int(version))]
    ways.append(main.at(commits[1]))
    for way in ways:
        assert (way.version, rows(way.table("t"))) == (version, [0, 1])
    assert len(set(ways)) == 1
    assert main.table("t").at(version=str(version)) == ways[0].table("t")


def test_a_time_without_a_zone_is_utc(main, commits):
    time = commits[1].time
    elsewhere = time.astimezone(timezone(timedelta(hours=5, minutes=30)))
    ways = [
        main.at(time),
        main.at(time=time),
        main.at(time=time.replace(tzinfo=None)),
        main.at(time=time.replace(tzinfo=None).isoformat()),
        main.at(time=time.isoformat()),
        main.at(time=time.isoformat().replace("+00:00", "Z")),
        main.at(time=elsewhere),
        main.at(time=elsewhere.isoformat()),
    ]
    assert [way.version for way in ways] == [commits[1].version] * len(ways)


def test_a_time_between_two_commits_shows_the_earlier(main, commits):
    assert main.at(commits[1].time - timedelta(microseconds=1)).version < commits[1].version
    assert main.at(commits[2].time + timedelta(microseconds=1)).version == commits[2].version
    assert main.at(datetime.now(UTC)).version == commits[2].version


def test_a_time_that_is_yet_to_come_is_refused(main, commits):
    for call in (main.at, main.table("t").at, lambda time: main.create_branch("dev", time)):
        with pytest.raises(Invalid, match="in the future"):
            call(datetime.now(UTC) + timedelta(hours=1))


def test_a_version_that_is_yet_to_come_is_refused(main, commits):
    for call in (main.at, main.table("t").at):
        with pytest.raises(Invalid, match="does not exist yet"):
            call(int(main.version) + 1)


def test_before_the_lake_there_was_nothing(main, commits):
    with pytest.raises(NotFound, match="younger"):
        main.at(datetime(1999, 12, 31))
    with pytest.raises(NotFound, match="the catalog did not exist yet"):
        main.at(version=0)
    with pytest.raises(NotFound, match="t: the table did not exist at that version"):
        main.table("t").at(version=0)


def test_a_table_before_it_was_made_is_named_and_not_an_id(main, commits):
    table = main.table("t")
    created = commits[0].version
    for before in (main.at(-4).version, -5):
        with pytest.raises(NotFound):
            table.at(before)
    with pytest.raises(NotFound, match=r"^t: the table did not exist at that version .found version"):
        table.at(main.at(-4).version)
    main.drop_table("t")
    dropped = main.version
    main.undrop_table("t")
    with pytest.raises(NotFound, match=r"^t: the table did not exist at that version"):
        table.at(dropped)
    assert table.at(created).version == created


def test_a_catalog_cannot_be_seen_before_it_was_made(lake, commits):
    other = lake.create_catalog("other")
    assert other.at(version=other.version).tables() == []
    with pytest.raises(NotFound, match="the catalog did not exist yet"):
        other.at(commits[-1].version)


@pytest.mark.parametrize("moment", ["17", "main", "2026-99-01", "an age ago", "", 1.5, True, b"short", 2**96])
def test_what_is_no_moment_is_refused(main, moment):
    with pytest.raises(Invalid):
        main.at(moment)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"version": 3, "time": datetime(2026, 1, 1)},
        {"version": "three"},
        {"version": ""},
        {"time": "tomorrow"},
        {"version": -1, "time": "yesterday"},
        {"time": 17},
        {"time": ""},
    ],
)
def test_what_names_no_moment_or_two_is_refused(main, asked):
    with pytest.raises(Invalid):
        main.at(**asked)


def test_a_negative_number_counts_commits_back(main, commits):
    assert [main.at(-back).version for back in (1, 2)] == [commits[1].version, commits[0].version]
    assert main.at(version=-1) == main.at(-1) == main.at(commits[1])
    assert main.at(-1).at(-1) == main.at(-2)
    assert main.at(-4).tables() == []  # before the table was created
    with pytest.raises(NotFound, match=r"not as many commits .expected at least -4, found -5"):
        main.at(-5)
    assert main.create_branch("dev", -1).table("t").scan().count() == 2
    assert main.create_tag("before", at=-1).version == commits[1].version


def test_a_table_counts_its_own_commits_back(main, commits):
    other = main.create_table("other", {"id": "long"})
    other.append(numbers(7))
    table = main.table("t")
    assert rows(table.at(-1)) == [0, 1]
    assert rows(table.at(-3)) == []
    with pytest.raises(NotFound, match="at least -3"):
        table.at(-4)
    assert rows(other.at(-1)) == []
    dev = main.create_branch("dev")
    assert rows(dev.table("t").at(-1)) == [0, 1]
    view = main.create_view("v", "SELECT 1")
    view.set_sql("SELECT 2")
    assert view.at(-1).sql_for() == "SELECT 1"


def test_many_commits_are_counted_back(main):
    table = main.create_table("t", {"id": "long"})
    for number in range(250):
        table.set_properties({"number": str(number)})
    assert table.at(-230).properties == {"number": "19"}
    assert main.at(-230).table("t").properties == {"number": "19"}


def test_text_may_be_a_version_or_a_time(main, commits):
    assert main.at(str(commits[1].version)).version == commits[1].version
    assert main.at(commits[1].time.isoformat()).version == commits[1].version
    assert main.at("now").version == commits[2].version
    with pytest.raises(NotFound, match="younger"):
        main.at("2026-01-01")
    with pytest.raises(NotFound, match="younger"):
        main.at(date(2026, 1, 1))
    with pytest.raises(Invalid, match=r"'main': this is neither a version nor a time .*tag=…"):
        main.at("main")


@pytest.mark.parametrize("ago", ["1 hour ago", "yesterday", "2 days, 3 hours and 1 minute ago", "1 month ago"])
def test_a_time_is_said_as_people_say_it(main, commits, ago):
    with pytest.raises(NotFound, match="younger"):  # but it is a time
        main.at(ago)
    with pytest.raises(NotFound, match="younger"):
        main.table("t").at(time=ago)
    assert main.log(since=ago) == main.log()
    assert main.log(until=ago) == []


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("now", datetime(2026, 3, 31, 12, tzinfo=UTC)),
        ("Yesterday", datetime(2026, 3, 30, 12, tzinfo=UTC)),
        ("1 hour ago", datetime(2026, 3, 31, 11, tzinfo=UTC)),
        (" 90m ago ", datetime(2026, 3, 31, 10, 30, tzinfo=UTC)),
        ("a week ago", datetime(2026, 3, 24, 12, tzinfo=UTC)),
        ("1 month ago", datetime(2026, 2, 28, 12, tzinfo=UTC)),
        ("2 years, 1 month and 1 day ago", datetime(2024, 2, 28, 12, tzinfo=UTC)),
        ("3 fortnights ago", None),
        ("ago", None),
        ("1 hour", None),
        ("about 1 hour ago", None),
        ("9999 years ago", None),
        ("2026-11-01", None),
    ],
)
def test_times_ago_are_counted_from_now(text, time):
    assert time_ago(text, datetime(2026, 3, 31, 12, tzinfo=UTC)) == time


def test_a_branch_from_a_time_ago_is_made_once_by_one_event_id(main, commits):
    event = lakebed.event_id("fork")
    assert main.create_branch("dev", "now", event_id=event) == main.create_branch("dev", "now", event_id=event)


def test_a_version_of_another_line_is_a_moment_too(main, commits):
    """Versions are lake-wide."""
    dev = main.create_branch("dev")
    version = dev.table("t").append(numbers(9)).version
    main.table("t").append(numbers(3))
    assert rows(main.at(version).table("t")) == [0, 1, 2]
    assert rows(dev.at(version).table("t")) == [0, 1, 2, 9]


def test_the_past_stays_what_it_was(main, commits):
    """Law 5: whatever happens later."""
    past = [main.at(commit.version) for commit in commits]
    seen = [(one.tables(), rows(one.table("t")), one.properties, one.log()) for one in past]
    main.set_properties({"a": "b"})
    main.table("t").append(numbers(9))
    main.rename_table("t", "u")
    main.create_table("t", {"id": "long"})
    main.drop_table("u")
    assert [(one.tables(), rows(one.table("t")), one.properties, one.log()) for one in past] == seen
    assert [rows(one.table("t")) for one in past] == [[0], [0, 1], [0, 1, 2]]


def test_the_past_cannot_be_written(main, commits, unchanged):
    main.create_namespace("n")
    past = main.at(main.version)
    table, namespace = past.table("t"), past.namespace("n")
    calls = [
        lambda: past.create_namespace("x"),
        lambda: past.rename_namespace("n", "x"),
        lambda: past.drop_namespace("n"),
        lambda: past.create_table("x", {"id": "long"}),
        lambda: past.rename_table("t", "x"),
        lambda: past.drop_table("t"),
        lambda: past.set_properties({"a": "b"}),
        lambda: past.unset_properties(["a"]),
        lambda: past.transaction("x"),
        lambda: namespace.set_properties({"a": "b"}),
        lambda: namespace.unset_properties(["a"]),
        lambda: table.append(numbers(1)),
        lambda: table.append(numbers(1), event_id=commits[0].id),
        lambda: table.rename("x"),
        lambda: table.set_properties({"a": "b"}),
        lambda: table.unset_properties(["a"]),
        lambda: main.table("t").at(version=main.version).append(numbers(1)),
    ]
    for call in calls:
        with unchanged(), pytest.raises(Forbidden, match="can't change the past") as caught:
            call()
        assert "create a branch" in str(caught.value)


def test_the_log_has_every_commit_newest_first(main, commits):
    log = main.log()
    assert log[:3] == commits[::-1]
    assert [commit.operations[0].type for commit in log] == ["insert", "insert", "insert", "create"]
    assert [commit.version for commit in log] == sorted((one.version for one in log), reverse=True)
    assert main.log(limit=2) == log[:2]
    assert main.log(limit=0) == []
    assert main.log(limit=100) == log


def test_the_log_of_a_table_has_its_commits_only(main, commits):
    """P8."""
    other = main.create_table("other", {"id": "long"})
    both = main.transaction("both")
    with both:
        both.table("t").append(numbers(7))
        both.table("other").append(numbers(7, 8))
    main.set_properties({"a": "b"})
    assert main.log(table="t")[:4] == [both.committed, *commits[::-1]]
    assert [commit.version for commit in other.history()] == [both.committed.version, other.snapshots()[-1].version]
    assert main.log(table=other) == main.log(table="other") == other.history()
    counts = {one.name: one.counts["added_rows"] for one in both.committed.operations}
    assert counts == {"t": 1, "other": 2}


def test_the_log_can_be_filtered_by_author_and_time(main, commits):
    first, second, third = commits
    assert main.log(author="a") == [third, first]
    assert main.log(author="nobody") == []
    assert main.log(since=second.time) == [third, second]
    assert second in main.log(until=second.time.isoformat())
    assert third not in main.log(until=second.time)
    assert main.log(since=second.time, until=second.time.replace(tzinfo=None)) == [second]
    assert main.log(since=second.time, author="a", table="t", limit=1) == [third]
    assert main.log(since=third.time + timedelta(days=1)) == []


@pytest.mark.parametrize("asked", [{"limit": -1}, {"limit": "5"}, {"limit": True}, {"since": "soon"}, {"until": 17}])
def test_a_log_that_cannot_be_asked_for_is_refused(main, asked):
    with pytest.raises(Invalid):
        main.log(**asked)


def test_the_log_goes_on_beyond_a_page(main, monkeypatch):
    monkeypatch.setattr("lakebed.catalog.objects.log.PAGE", 3)
    for number in range(10):
        main.set_properties({"n": str(number)})
    assert [len(main.log(limit=limit)) for limit in (2, 3, 4, 10)] == [2, 3, 4, 10]
    assert len(main.log()) == 10


def test_a_catalog_at_a_version_has_the_log_up_to_it(main, commits):
    assert main.at(commits[1].version).log(limit=2) == [commits[1], commits[0]]
    assert main.table("t").at(version=commits[1].version).history()[0] == commits[1]
    assert main.table("t").at(version=commits[1].version).version == commits[1].version


def test_a_name_can_carry_a_branch_and_a_moment(lake, main, commits):
    dev = main.create_branch("feature/x")
    version, time = commits[1].version, commits[1].time
    assert lake.catalog("default@feature/x") == dev
    assert lake.catalog("default@main") == main == lake.catalog("DEFAULT")
    assert lake.catalog(f"default#{version}") == main.at(version)
    assert lake.catalog(f"default#{time.isoformat()}") == main.at(version)
    assert lake.catalog(f"default@feature/x#{version}") == dev.at(version)


@pytest.mark.parametrize(
    "name", ["default@", "default#", "@main", "#3", "", "default#soon", "a/", "/a", "a/b/c", "default#²"]
)
def test_a_catalog_name_that_cannot_be_one_is_refused(lake, name):
    with pytest.raises(Invalid):
        lake.catalog(name)


def test_times_survive_a_lake_that_is_opened_again(tmp_path):
    with lakebed.connect(tmp_path / "lake") as lake:
        lake.catalog().create_namespace("n")
        [commit] = lake.catalog().log()
    with lakebed.connect(tmp_path / "lake") as lake:
        assert lake.catalog().at(commit.time).version == commit.version
        assert lake.catalog().log() == [commit]


def test_a_time_that_was_answered_once_is_answered_alike_for_ever(tmp_path):
    """A commit takes its time before it can be seen: two tables read as of now could come from two commits."""
    stop = threading.Event()
    with lakebed.connect(tmp_path / "lake") as lake:
        main = lake.catalog()
        main.set_properties({"n": "0"})

        def write():
            number = 0
            while not stop.is_set():
                main.set_properties({"n": str(number := number + 1)})

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(300):
                now = datetime.now(UTC)
                assert main.at(now).version == main.at(now).version
        finally:
            stop.set()
            writer.join()


def test_the_log_comes_in_pages(main):
    for number in range(7):
        main.set_properties({"n": str(number)})
    whole = main.log()
    found, page = [], main.log(limit=3)
    while True:
        found += page
        main.set_properties({"later": str(len(found))})
        if page.token is None:
            break
        page = main.log(limit=3, token=page.token)
    assert found == whole
    assert (main.log().token, main.log(limit=100).token) == (None, None)


def test_the_log_of_a_view_or_a_namespace_has_its_commits_only(main):
    namespace, view = main.create_namespace("n"), main.create_view("n.v", "select 1")
    main.create_table("n.t", {"id": "long"})
    view.set_sql("select 2")
    assert [one.operations[0].type for one in main.log(table=view)] == ["alter_view", "create"]
    assert [one.operations[0].name for one in main.log(table=namespace)] == ["n"]
    assert (main.log(table="n.v"), main.log(table="n")) == (main.log(table=view), main.log(table=namespace))
    main.drop_view("n.v")
    with pytest.raises(NotFound, match="undrop_view brings it back"):
        main.log(table="n.v")


@pytest.mark.parametrize("token", ["", "nonsense", 17])
def test_a_token_that_is_none_is_refused(main, token):
    with pytest.raises(Invalid):
        main.log(limit=3, token=token)
    with pytest.raises(Invalid):
        main.log(limit=3, author="ada", token=main.log(limit=1).token or "x")
