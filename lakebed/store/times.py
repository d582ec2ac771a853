"""Times of commits that a wrong clock gave."""

from collections.abc import Sequence


def repaired_times(times: Sequence[int], clocks: Sequence[int | None], floor: int, now: int) -> list[int]:
    """Times for commits, in their order, that have times after `now`: not before `floor`, and never decreasing.

    `clocks` are what their writers' own clocks showed, where that is known. Another commit gets the time of the one
    after it: nobody sees it earlier than it was made.
    """
    repaired: list[int] = []
    latest = now
    for time, clock in zip(reversed(times), reversed(clocks), strict=True):
        latest = max(floor, min(latest, time if clock is None else clock))
        repaired.append(latest)
    return repaired[::-1]
