"""Clocks that are wrong for a while: times of commits, time travel, and the repair."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from lakebed import Forbidden, Invalid, Unavailable, connect
from lakebed.catalog.transaction import versions
from lakebed.metastore.records import clocks, form

YEARS = timedelta(days=50 * 365)


class Clock:
    """This machine's clock, which a test sets."""

    def __init__(self):
        self._real = time.time_ns
        self.ahead = timedelta()

    def __call__(self):
        return self._real() + self.ahead // timedelta(microseconds=1) * 1000

    def now(self):
        time.sleep(0.002)  # so that commits before and after it have other times
        return datetime.fromtimestamp(self() / 1e9, UTC)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", clock)
    for module in (versions, clocks, form):
        monkeypatch.setattr(module, "time_ns", clock)
    return clock


@pytest.fixture
def lake(tmp_path, clock):
    with connect(tmp_path / "lake") as lake:
        lake.catalog().create_table("t", {"id": "long"})
        yield lake
        assert lake.check() == []


def append(lake, clock, number, ahead=timedelta()):
    """Commit a row while the clock is ahead, and answer a moment after it, by the right clock."""
    clock.ahead = ahead
    lake.catalog().table("t").append([{"id": number}])
    clock.ahead = timedelta()
    return clock.now()


def seen(lake, moment):
    return [row["id"] for row in lake.catalog().at(time=moment).table("t").scan().to_arrow().to_pylist()]


def test_one_commit_of_a_clock_50_years_ahead_does_not_hide_what_follows(lake, clock):
    # What it did: at(time=now) left out all later commits for 50 years, without a word.
    first = append(lake, clock, 0)
    append(lake, clock, 1, YEARS)
    second = append(lake, clock, 2)
    third = append(lake, clock, 3)
    for moment in (first, second, third, clock.now() + timedelta(days=1)):
        with pytest.raises(Unavailable, match=r"times in the future.*lake\.repair_times\(\)"):
            seen(lake, moment)
    assert seen(lake, lake.catalog().log()[3].time) == [0]  # its own time can't be wrong
    assert [commit.time > clock.now() for commit in lake.catalog().log()[:4]] == [True, True, True, False]

    planned = lake.repair_times(dry_run=True)
    assert planned == lake.repair_times(dry_run=True)
    repaired = lake.repair_times()
    assert [one.version for one in repaired] == [one.version for one in planned]
    assert [int(one.version) for one in repaired] == list(
        range(int(repaired[0].version), int(lake.catalog().version) + 1)
    )
    assert str(repaired[0]).startswith(f"{repaired[0].version}  20") and " becomes 20" in str(repaired[0])
    assert [seen(lake, moment) for moment in (first, second, third)] == [[0], [0, 1, 2], [0, 1, 2, 3]]
    times = [commit.time for commit in lake.catalog().log()]
    assert times == sorted(times, reverse=True) and times[0] <= clock.now()
    fourth = append(lake, clock, 4)
    assert seen(lake, third) == [0, 1, 2, 3] and seen(lake, fourth) == [0, 1, 2, 3, 4]
    assert lake.repair_times() == []


def test_a_clock_9000_years_ahead_does_not_fail_a_commit_that_took_effect(lake, clock):
    # What it did: a raw OverflowError from the commit, and then from log(), history() and repair_times().
    main = lake.catalog()
    before = append(lake, clock, 1)
    append(lake, clock, 2, timedelta(days=9000 * 365))
    table = main.table("t")
    assert [row["id"] for row in table.scan().to_arrow().to_pylist()] == [1, 2]
    newest = table.history()[0]
    assert (newest, newest.time.year) == (main.log(limit=1)[0], 9999)
    assert "9999-12-31" in str(newest)
    assert table.snapshots()[0].time == newest.time
    for name in ("__commits", "__snapshots", "__tables", "__files", "__changes", "__dropped"):
        assert main.inspect(name) is not None
    assert "t" in str(main.describe())
    assert str(table.describe())
    with pytest.raises(Unavailable, match="9999-12-31"):
        seen(lake, before)
    [repaired] = lake.repair_times()
    assert (repaired.version, repaired.before.year) == (newest.version, 9999)
    assert table.history()[0].time <= clock.now()
    assert seen(lake, clock.now()) == [1, 2]


def test_a_repair_lasts_and_other_handles_see_it(lake, clock, tmp_path):
    append(lake, clock, 0, YEARS)
    with connect(tmp_path / "lake") as other:
        assert len(other.repair_times()) == 1
        moment = append(other, clock, 1)
    assert seen(lake, moment) == [0, 1]
    with connect(tmp_path / "lake", read_only=True) as reader:
        assert seen(reader, moment) == [0, 1]


def test_a_clock_that_is_far_behind_is_reported_once(lake, clock, caplog):
    append(lake, clock, 0, YEARS)
    assert caplog.messages == []  # a lake may have been idle for 50 years
    for number in range(3):
        append(lake, clock, number)
    [warning] = caplog.messages
    assert "18249 days" in warning or "18250 days" in warning
    assert "lake.repair_times()" in warning


def test_a_clock_that_was_set_back_by_seconds_is_nobody_s_concern(lake, clock, caplog):
    append(lake, clock, 0, timedelta(seconds=30))
    append(lake, clock, 1)
    assert caplog.messages == [] and seen(lake, lake.catalog().log()[0].time) == [0, 1]
    lake.catalog().at("now")
    times = [commit.time for commit in lake.catalog().log()]
    assert times == sorted(times, reverse=True)


def test_a_clock_that_fell_back_to_1970_changes_no_time_and_repairs_nothing(lake, clock):
    moment = append(lake, clock, 0)
    append(lake, clock, 1, timedelta(days=-50 * 365))
    assert seen(lake, moment) == [0, 1]  # it has the time of the commit before it
    clock.ahead = timedelta(days=-50 * 365)
    with pytest.raises(Invalid, match="before the lake's first commit"):
        lake.repair_times()
    clock.ahead = timedelta()
    assert lake.repair_times() == []


def test_a_repair_needs_the_right_to_write(lake, clock, tmp_path):
    append(lake, clock, 0, YEARS)
    with connect(tmp_path / "lake", read_only=True) as reader:
        assert len(reader.repair_times(dry_run=True)) == 1
        with pytest.raises(Forbidden):
            reader.repair_times()
