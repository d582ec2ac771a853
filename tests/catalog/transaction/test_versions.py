"""Versions and times as people write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.catalog.transaction.versions import find_version, microseconds, version_at
from lakebed.errors import Invalid, NotFound
from lakebed.metastore import Change, Line, RecordsMetastore, new_id
from lakebed.store import MemoryStore, Version

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), zones)
def test_a_time_is_exact_whatever_its_zone(moment, zone):
    exact = microseconds(moment)
    assert EPOCH + timedelta(microseconds=exact) == moment.replace(tzinfo=UTC)
    elsewhere = moment.replace(tzinfo=UTC).astimezone(zone)
    assert microseconds(elsewhere) == microseconds(elsewhere.isoformat()) == exact
    assert microseconds(moment.isoformat()) == exact


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00", 0),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("1970-01-01 01:00+01:00", 0),
        ("1969-12-31T23:59:59.999999", -1),
        ("2026-11-01T00:00", 1_793_491_200_000_000),
    ],
)
def test_text_is_iso_8601_and_utc_without_a_zone(text, found):
    assert microseconds(text) == found


@pytest.mark.parametrize("bad", ["", "tomorrow", "2026-13-01", "17", 17, None, 1.5])
def test_what_is_no_time_is_refused(bad):
    with pytest.raises(Invalid, match="not a time"):
        microseconds(bad)


@pytest.fixture
def metastore():
    metastore = RecordsMetastore(MemoryStore())
    catalog = new_id()
    for _ in range(3):
        metastore.commit(Change(event_id=new_id(), line=Line(catalog, catalog), base=metastore.newest()))
    yield metastore
    metastore.close()


def test_one_moment_is_found_by_version_or_by_time(metastore):
    newest = metastore.newest()
    [time] = metastore.times([newest])
    at = EPOCH + timedelta(microseconds=time)
    found = [
        find_version(metastore, newest),
        find_version(metastore, int(newest)),
        find_version(metastore, version=str(newest)),
        find_version(metastore, at),
        find_version(metastore, time=at.isoformat()),
    ]
    assert found == [newest] * 5


@pytest.mark.parametrize("asked", [{}, {"version": 1, "time": "1970-01-01"}, {"moment": 1, "version": 1}])
def test_not_one_moment_is_refused(metastore, asked):
    with pytest.raises(Invalid, match="name one moment"):
        find_version(metastore, **asked)


def test_bare_text_of_digits_is_a_version_and_other_text_a_time(metastore):
    newest = metastore.newest()
    assert find_version(metastore, "20261101") == Version.parse(20261101)
    assert [find_version(metastore, text) for text in (str(newest), f" {newest} ", "now")] == [newest] * 3
    with pytest.raises(Invalid, match="neither a version nor a time"):
        find_version(metastore, "main")


def test_a_time_has_to_be_between_the_first_commit_and_now(metastore):
    [first] = metastore.times([Version.parse(1)])
    with pytest.raises(NotFound):
        version_at(metastore, EPOCH + timedelta(microseconds=first - 1))
    with pytest.raises(Invalid, match="in the future"):
        version_at(metastore, datetime.now(UTC) + timedelta(minutes=5))
    assert version_at(metastore, datetime.now(UTC)) == metastore.newest()
