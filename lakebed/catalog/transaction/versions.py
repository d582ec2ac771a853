"""Versions and times as people write them."""

from datetime import UTC, datetime
from time import time_ns

from lakebed.catalog.transaction.commits import EPOCH, Commit
from lakebed.errors import Invalid, NotFound
from lakebed.metastore import Metastore
from lakebed.store import Version

Moment = Version | int | datetime | Commit


def parse_version(given: "Version | int | str") -> Version:
    """The version of a number, or of its text."""
    return Version.parse(given)


def microseconds(given: "datetime | str") -> int:
    """A time in microseconds since 1970. A time without a zone is UTC; text is ISO 8601."""
    moment = given
    if isinstance(given, str):
        try:
            moment = datetime.fromisoformat(given)
        except ValueError:
            raise Invalid(
                "this is not a time", subject=repr(given), expected="ISO 8601, such as 2026-11-01T00:00"
            ) from None
    if not isinstance(moment, datetime):
        raise Invalid("this is not a time", expected="a datetime or ISO 8601 text", found=type(given).__name__)
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    since = aware - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def version_at(metastore: Metastore, given: "datetime | str") -> Version:
    """The last version up to a time; `NotFound` before the first, `Invalid` for a time in the future."""
    moment = microseconds(given)
    # The newest commit's time is asked for only beyond this machine's clock: others may be ahead of it.
    if moment > time_ns() // 1000 and moment > metastore.times([metastore.newest()])[0]:
        raise Invalid("that time is in the future", subject=str(given), advice="Choose a time that has passed.")
    try:
        return metastore.version_at(moment)
    except NotFound:
        raise NotFound(
            "the lake is younger than that time", subject=str(given), advice="log() shows the times of its commits."
        ) from None


def find_version(
    metastore: Metastore,
    moment: "Moment | None" = None,
    *,
    version: "Version | int | str | None" = None,
    time: "datetime | str | None" = None,
) -> Version:
    """The version that exactly one of the three names."""
    if sum(given is not None for given in (moment, version, time)) != 1:
        raise Invalid("name one moment", expected="a version, a time or a tag", advice="For example at(version=17).")
    if isinstance(moment, str):
        raise Invalid(
            "text may be a version or a time",
            subject=repr(moment),
            advice="Say which: at(version=…) or at(time=…); or give an int or a datetime.",
        )
    if isinstance(moment, Commit):
        version = moment.version
    elif isinstance(moment, datetime):
        time = moment
    elif isinstance(moment, int | bytes):
        version = moment
    elif moment is not None:
        raise Invalid("this is not a moment", expected="a version, a Commit or a datetime", found=type(moment).__name__)
    return version_at(metastore, time) if time is not None else parse_version(version)  # type: ignore[arg-type]
