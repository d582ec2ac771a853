"""Commits with times in the future, which a wrong clock made, and their repair."""

from dataclasses import dataclass
from datetime import datetime

from lakebed.catalog.transaction.commits import datetime_of
from lakebed.catalog.transaction.context import Context
from lakebed.store import Version


@dataclass(frozen=True, slots=True)
class RepairedTime:
    """A version whose time was in the future, and the time that it has now."""

    version: Version
    before: datetime
    after: datetime

    def __str__(self) -> str:
        return f"{self.version}  {self.before:%Y-%m-%d %H:%M:%S} becomes {self.after:%Y-%m-%d %H:%M:%S}"


def wrong_times(context: Context) -> list[RepairedTime]:
    """What `repair_times` would repair."""
    return [
        RepairedTime(one.version, datetime_of(one.before), datetime_of(one.after))
        for one in context.metastore.wrong_times()
    ]


def repair_times(context: Context) -> list[RepairedTime]:
    """Give every version whose time is in the future a time that has passed."""
    context.check_writable("repair_times")
    return [
        RepairedTime(one.version, datetime_of(one.before), datetime_of(one.after))
        for one in context.metastore.repair_times()
    ]
