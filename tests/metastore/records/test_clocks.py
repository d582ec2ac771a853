"""Times of commits that a wrong clock gave."""

from hypothesis import given
from hypothesis import strategies as st

from lakebed.metastore.records.clocks import repaired_times


def test_a_commit_gets_the_time_of_its_clock_or_else_of_the_commit_after_it() -> None:
    assert repaired_times([900, 900, 900, 900], [None, 12, None, 14], 10, 20) == [12, 12, 14, 14]
    assert repaired_times([900], [None], 10, 20) == [20]
    assert repaired_times([], [], 10, 20) == []


@given(st.lists(st.none() | st.integers(-50, 200), max_size=8), st.integers(0, 100), st.integers(0, 100))
def test_repaired_times_have_passed_and_never_decrease(clocks: list[int | None], floor: int, more: int) -> None:
    now = floor + more
    times = [now + 1 + number for number in range(len(clocks))]
    repaired = repaired_times(times, clocks, floor, now)
    assert repaired == sorted(repaired) and len(repaired) == len(times)
    assert all(floor <= time <= now for time in repaired)
