"""Changes as Spark asks for them: bounds that are inclusive unless they say otherwise, and options."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from lakebed.catalog.transaction.commits import datetime_of
from lakebed.catalog.transaction.versions import microseconds, version_at
from lakebed.errors import Invalid, NotFound
from lakebed.lake.rows.changes import Changes
from lakebed.lake.table import Table
from lakebed.store import Version

OPTIONS = ("startingVersion", "endingVersion", "startingTimestamp", "endingTimestamp")
BOUNDS = ("startingBoundInclusive", "endingBoundInclusive")
MODES = ("deduplicationMode", "computeUpdates")
_INSTANT = timedelta(microseconds=1)
_FIRST = Version.parse(0)


@dataclass(frozen=True, slots=True)
class AskedBound:
    """A version, or a tag's name, or a time, and whether what is there belongs to the feed."""

    version: str | None
    time: datetime | str | None
    is_inclusive: bool = True


@dataclass(frozen=True, slots=True)
class AskedChanges:
    """What Spark calls `deduplicationMode` and `computeUpdates`, with its defaults."""

    net: bool = False
    updates: bool = False


def asked_changes(options: Mapping[str, object]) -> AskedChanges:
    """The options, whose names are in lower case, as they are meant; `Invalid` for others."""
    known = {name.lower(): name for name in MODES}
    for name in options.keys() - known.keys():
        raise Invalid("changes have no such option", subject=name, expected=", ".join(MODES))
    return AskedChanges(
        _is_net(options.get("deduplicationmode", "dropCarryovers")), _flag(options, "computeUpdates", False)
    )


def options_of_reader(options: Mapping[str, object]) -> tuple[AskedBound, AskedBound | None, AskedChanges]:
    """The options of `spark.read.changes`, whose names are in lower case."""
    known = {name.lower() for name in (*OPTIONS, *BOUNDS)}
    own = {name: value for name, value in options.items() if name in known}
    asked = asked_changes({name: value for name, value in options.items() if name not in known})
    versions = [None if (given := own.get(name.lower())) is None else str(given) for name in OPTIONS[:2]]
    times = [_time(own.get(name.lower())) for name in OPTIONS[2:]]
    if any(versions) == any(times) or (versions[0] is None and times[0] is None):
        raise Invalid(
            "changes begin with a version or with a time, and end with the same",
            expected="startingVersion, or startingTimestamp",
            found=", ".join(sorted(own)) or "neither",
        )
    bounds = [
        AskedBound(version, time, _flag(options, name, True))
        for version, time, name in zip(versions, times, BOUNDS, strict=True)
    ]
    return bounds[0], None if versions[1] is None and times[1] is None else bounds[1], asked


def feed_between(table: Table, since: AskedBound | None, until: AskedBound | None, asked: AskedChanges) -> Changes:
    """The changes of a table between two bounds."""
    assert since is not None
    start = _version(table, since, is_start=True)
    stop = None if until is None else _version(table, until, is_start=False)
    return table.changes(start, stop, net=asked.net, updates=asked.updates)


def _version(table: Table, bound: AskedBound, *, is_start: bool) -> Version:
    """The version up to which a bound means: what is before the start, and what is up to the end."""
    keeps = bound.is_inclusive is not is_start
    if bound.version is not None:
        found = _named_version(table, bound.version)
        return found if keeps else found.previous()
    assert bound.time is not None
    moment = datetime_of(microseconds(bound.time))
    with suppress(NotFound):  # the lake is younger: a feed begins with its first commit
        return version_at(table._scope.context.metastore, moment if keeps else moment - _INSTANT)
    if is_start:
        return _FIRST
    return version_at(table._scope.context.metastore, moment)


def _named_version(table: Table, text: str) -> Version:
    return Version.parse(text) if text.isdigit() else table.at(tag=text)._scope.read().base


def _time(given: object) -> datetime | str | None:
    return given if given is None or isinstance(given, datetime) else str(given)


def _is_net(mode: object) -> bool:
    match str(mode).lower():
        case "dropcarryovers":
            return False
        case "netchanges":
            return True
        case "none":
            raise Invalid(
                "rows that were only copied are not changes of a lake's table",
                subject="deduplicationMode",
                expected="dropCarryovers or netChanges",
                found="none",
            )
    raise Invalid(
        "there is no such mode", subject="deduplicationMode", expected="dropCarryovers or netChanges", found=repr(mode)
    )


def _flag(options: Mapping[str, object], name: str, default: bool) -> bool:
    given = options.get(name.lower(), default)
    text = str(given).lower()
    if text not in ("true", "false"):
        raise Invalid("an option is true or false", subject=name, found=repr(given))
    return text == "true"
