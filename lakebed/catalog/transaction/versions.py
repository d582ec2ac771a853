"""Versions and times as people write them."""

from datetime import UTC, date, datetime
from time import time_ns

from lakebed.catalog.transaction.ago import FORMS, time_ago
from lakebed.catalog.transaction.commits import EPOCH, Commit, datetime_of
from lakebed.errors import Invalid, NotFound, Unavailable
from lakebed.metastore import Metastore
from lakebed.store import Version

FAR_AHEAD = 300_000_000
"""Microseconds by which a commit's time may be in the future without a word: clocks differ by seconds."""

Moment = Version | int | date | datetime | Commit | str
"""A version, its number, a commit or a time. Text of digits is a version, other text a time."""


def parse_version(given: "Version | int | str") -> Version:
    """The version of a number, or of its text."""
    return Version.parse(given)


def microseconds(given: "date | str") -> int:
    """A time in microseconds since 1970. A time without a zone is UTC; text is ISO 8601, or says how long ago."""
    moment = _parsed_time(given) if isinstance(given, str) else given
    if not isinstance(moment, datetime) and isinstance(moment, date):
        moment = datetime(moment.year, moment.month, moment.day)
    if not isinstance(moment, datetime):
        raise Invalid("this is not a time", expected="a datetime or ISO 8601 text", found=type(given).__name__)
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    since = aware - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _parsed_time(text: str) -> datetime:
    ago = time_ago(text, datetime.now(UTC))
    if ago is not None:
        return ago
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise Invalid(
            "this is not a time", subject=repr(text), expected=f"ISO 8601, such as 2026-11-01T00:00, or {FORMS}"
        ) from None


def version_at(metastore: Metastore, given: "date | str") -> Version:
    """The last version up to a time; `NotFound` before the first, `Invalid` for a time in the future."""
    moment = microseconds(given)
    # The newest commit's time is asked for only beyond this machine's clock: others may be ahead of it.
    if moment > time_ns() // 1000 and moment > metastore.times([metastore.newest()])[0]:
        raise Invalid("that time is in the future", subject=str(given), advice="Choose a time that has passed.")
    try:
        found = metastore.version_at(moment)
    except NotFound:
        raise NotFound(
            "the lake is younger than that time", subject=str(given), advice="log() shows the times of its commits."
        ) from None
    _refuse_guess(metastore, found, moment, str(given))
    return found


def _refuse_guess(metastore: Metastore, found: Version, moment: int, subject: str) -> None:
    """Refuse a version if the next one was made by a clock that was far ahead: it may be from before the moment."""
    made, following = metastore.times([found, found.next()])  # the time of the last version, if it is that
    if made < moment and following > time_ns() // 1000 + FAR_AHEAD:
        raise Unavailable(
            f"version {found.next()} and all later ones have times in the future, because a clock was wrong",
            subject=subject,
            expected="times that have passed",
            found=f"{datetime_of(following):%Y-%m-%d %H:%M}",
            advice="Call lake.repair_times() on a machine whose clock is right, or name a version.",
        )


def find_version(
    metastore: Metastore,
    moment: "Moment | None" = None,
    *,
    version: "Version | int | str | None" = None,
    time: "date | str | None" = None,
) -> Version:
    """The version that exactly one of the three names."""
    if sum(given is not None for given in (moment, version, time)) != 1:
        raise Invalid(
            "name one moment",
            expected="a version, a time or a tag",
            advice='For example at(17), at(-1), at("1 hour ago") or at(tag="v1").',
        )
    if isinstance(moment, Commit):
        version = moment.version
    elif isinstance(moment, str):
        version, time = (moment.strip(), None) if moment.strip().isdigit() else (None, _named_time(moment))
    elif isinstance(moment, date):
        time = moment
    elif isinstance(moment, int | bytes):
        version = moment
    elif moment is not None:
        raise Invalid(
            "this is not a moment", expected="a version, a Commit, a datetime or text", found=type(moment).__name__
        )
    return version_at(metastore, time) if time is not None else parse_version(version)  # type: ignore[arg-type]


def _named_time(text: str) -> datetime:
    """A time that is given where a version may be given too."""
    try:
        return _parsed_time(text)
    except Invalid as error:
        raise Invalid(
            "this is neither a version nor a time",
            subject=repr(text),
            expected=f"a number, or {error.expected}",
            advice="For a tag say so: tag=….",
        ) from error
