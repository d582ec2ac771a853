"""Clocks that disagree with the times of commits: what is noted of them, and what repairs the times.

Times never decrease. So after one commit of a clock that was far ahead, all others would have its time, and a look at
the lake "now" would leave them out. A commit whose writer's clock is far behind the newest time notes that clock.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from time import time_ns

from lakebed.errors import Invalid
from lakebed.metastore.metastore import Retimed
from lakebed.records import codec, layout
from lakebed.records.commits import operations_part
from lakebed.records.layout import PREFIX, Space
from lakebed.store import KeyRange, Page, Store, Transaction, Version
from lakebed.store.transaction import STAMP_BYTES

BOUND = 300_000_000
"""Microseconds that a clock may be behind the newest commit's time without a word: clocks are set back by seconds."""

_PAGE = 1000


def now() -> int:
    return time_ns() // 1000


def clock_to_note(transaction: Transaction) -> int | None:
    """What this machine's clock shows, if that is far behind the time of the newest commit."""
    clock, [newest] = now(), transaction.times_of([transaction.read_stamp])
    return clock if newest - clock > BOUND else None


def noted_clocks(store: Store, time: int) -> dict[bytes, int]:
    """What commits with times after `time` noted of their clocks, by their stamps. It looks at every commit."""
    noted: dict[bytes, int] = {}
    last = store.read(lambda transaction: transaction.stamp_at(time)) or bytes(STAMP_BYTES)
    rest: KeyRange | None = layout.prefix_range(PREFIX[Space.COMMIT])
    while rest is not None:
        page = store.read(partial(_page, part=rest))
        for _, row in page.entries:
            version, value = codec.split_current(row)
            if version.stamp > last and (record := operations_part(value)).HasField("clock"):
                noted[version.stamp] = record.clock
        rest = page.rest
    return noted


def _page(transaction: Transaction, part: KeyRange) -> Page:
    return transaction.snapshot.get_range(part, limit=_PAGE)


def wrong_times(transaction: Transaction, incarnation: int, time: int, noted: Mapping[bytes, int]) -> list[Retimed]:
    """The commits with times after `time`, which is now, each with the time that it should have."""
    right = transaction.stamp_at(time)
    if right is None:
        raise Invalid(
            "this machine's clock is before the lake's first commit",
            advice="Set the clock, then run again.",
        )
    first, newest = int.from_bytes(right) + 1, int.from_bytes(transaction.read_stamp)
    stamps = [number.to_bytes(STAMP_BYTES) for number in range(first, newest + 1)]
    before, [floor] = transaction.times_of(stamps), transaction.times_of([right])
    after = repaired_times(before, [noted.get(stamp) for stamp in stamps], floor, time)
    return [
        Retimed(Version.of(incarnation, stamp), was, becomes)
        for stamp, was, becomes in zip(stamps, before, after, strict=True)
    ]


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
