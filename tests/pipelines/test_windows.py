"""Windows by number, label and condition, and which of them are due."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed import pipelines as lp
from lakebed.errors import Invalid
from lakebed.pipelines.facts import DoneWindows
from lakebed.pipelines.windows import Schedule, runs_of, window_of

MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1))
SCHEDULES = st.sampled_from([lp.hourly, lp.daily, lp.monthly]).map(lambda make: make("at", since="2026-01-01"))


@given(SCHEDULES, MOMENTS)
def test_every_moment_is_in_the_window_of_its_number(schedule: Schedule, moment: datetime) -> None:
    number = schedule.number(moment)
    assert schedule.start(number) <= moment < schedule.start(number + 1)


@pytest.mark.parametrize(
    ("schedule", "labels"),
    [
        (lp.daily("at", since="2026-11-01"), ["2026-11-01", "2026-11-02", "2026-11-03"]),
        (lp.daily("at", since="2026-11-01", wait="1 hour"), ["2026-11-01", "2026-11-02"]),
        (lp.daily("at", since="2026-11-01", until="2026-11-02"), ["2026-11-01"]),
        (lp.monthly("at", since="2026-09"), ["2026-09", "2026-10", "2026-11"]),
        (lp.hourly("at", since="2026-11-03T09:30"), ["2026-11-03T09", "2026-11-03T10"]),
        (lp.daily("at", since="2026-12-01"), []),
    ],
)
def test_windows_are_due_from_since_until_now(schedule: Schedule, labels: list[str]) -> None:
    now = datetime(2026, 11, 3, 10, 30)
    assert [schedule.label(number) for number in schedule.due(now)] == labels


def test_a_window_waits_until_it_has_ended_so_long_ago() -> None:
    schedule = lp.daily("at", since="2026-11-01", wait="2 hours")
    assert len(schedule.due(datetime(2026, 11, 2, 1, 59))) == 0
    assert len(schedule.due(datetime(2026, 11, 2, 2, 0))) == 1


@given(st.sets(st.integers(0, 60)), st.integers(1, 7))
def test_windows_in_a_row_are_made_together_up_to_a_batch(numbers: set[int], batch: int) -> None:
    runs = list(runs_of(sorted(numbers), batch))
    assert [number for run in runs for number in run] == sorted(numbers)
    assert all(len(run) <= batch for run in runs)


@given(st.lists(st.tuples(st.sets(st.integers(0, 40)), st.sampled_from(["a", "b"]), st.booleans()), max_size=8))
def test_done_windows_are_remembered_as_a_set_is(steps: list[tuple[set[int], str, bool]]) -> None:
    done, model = DoneWindows("run"), dict[int, str]()
    for numbers, code, is_made in steps:
        if is_made:
            done = done.with_made(numbers, code, "run")
            model |= dict.fromkeys(numbers, code)
        else:
            done = done.without(numbers)
            model = {number: by for number, by in model.items() if number not in numbers}
        done = DoneWindows.parse(done.text())
        for one in ("a", "b"):
            assert done.numbers(one) == {number for number, by in model.items() if by == one}


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("date", "`at` >= DATE '2026-11-01' AND `at` < DATE '2026-11-03'"),
        ("timestamptz", "`at` >= TIMESTAMP '2026-11-01 00:00:00Z' AND `at` < TIMESTAMP '2026-11-03 00:00:00Z'"),
    ],
)
def test_a_window_is_a_condition_by_the_columns_type(kind: str, condition: str) -> None:
    schedule = lp.daily("at", since="2026-11-01")
    first = schedule.number(datetime(2026, 11, 1))
    window = window_of(schedule, range(first, first + 2), {"at": kind})
    assert window.condition("at") == condition
    assert (window.label, window.end - window.start) == ("2026-11-01..2026-11-02", timedelta(days=2))


@pytest.mark.parametrize(
    "wrong", [{"since": "yesterday"}, {"since": "2026-01-01", "batch": 0}, {"since": "2026-01-01", "wait": "soon"}]
)
def test_windows_that_mean_nothing_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        lp.daily("at", **wrong)  # type: ignore[arg-type]
