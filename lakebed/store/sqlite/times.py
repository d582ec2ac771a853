"""Other times for commits that a wrong clock stamped."""

from collections.abc import Mapping
from typing import Any

import apsw

from lakebed.store.sqlite.sums import commit_hash, signed
from lakebed.store.store import check_order


def rewrite_times(connection: apsw.Connection, times: Mapping[int, int]) -> None:
    """Write the times of these versions, inside a transaction; `Invalid` if times would decrease.

    The sum of every commit since the first of them has the old times in it, so it changes, too.
    """
    since = "SELECT version, time, sum FROM log WHERE version >= ? ORDER BY version"
    rows: Any = connection.execute(since, (min(times) - 1,)).fetchall()
    check_order([times.get(version, time) for version, time, _ in rows])
    changed, more = [], 0
    for version, time, total in rows:
        new = times.get(version, time)
        more += commit_hash(version, new) - commit_hash(version, time)
        changed.append((new, None if total is None else signed(total + more), version))
    connection.executemany("UPDATE log SET time = ?, sum = ? WHERE version = ?", changed)
