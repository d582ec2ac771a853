"""What a flow asks for while it is evaluated: names as they are written, and how they are read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed.errors import Invalid
from lakebed.pipelines.inputs import OnChange

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Parts = tuple[str, ...]

_IGNORING = ("skipchangecommits", "ignorechanges", "ignoredeletes")
"""What other table formats call a stream that leaves out changes of old rows."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A name, of which the rows are read, at a version or a time if one is named."""

    parts: Parts
    at: str | int | None = None

    @property
    def spelled(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class WantedStream:
    """A name, of which the new rows are read as a stream."""

    parts: Parts
    on_change: OnChange = "error"
    max_files: int | None = None
    max_bytes: int | None = None

    @property
    def spelled(self) -> str:
        return ".".join(self.parts)


Asked = Wanted | WantedStream
Find = Callable[[Asked], "DataFrame | None"]
"""The rows of a name; None if it is Spark's own."""


def wanted_rows(parts: Parts, options: Mapping[str, Any]) -> Wanted:
    """A table that is read by `spark.read`, with the options that it was given."""
    given = {name.lower(): value for name, value in options.items()}
    at = given.pop("versionasof", given.pop("timestampasof", None))
    if given:
        raise Invalid(
            "a table of the lake has no such option",
            subject=f"{'.'.join(parts)}, {next(iter(given))}",
            expected="versionAsOf or timestampAsOf",
        )
    return Wanted(parts, at if at is None or isinstance(at, int) else str(at))


def wanted_stream(parts: Parts, options: Mapping[str, Any]) -> WantedStream:
    """A table that is read by `spark.readStream`, with the options that it was given."""
    given = {name.lower(): value for name, value in options.items()}
    ignoring = [given.pop(name) for name in _IGNORING if name in given]
    files, size = given.pop("maxfilespertrigger", None), given.pop("maxbytespertrigger", None)
    if given:
        raise Invalid(
            "a stream of a table of the lake has no such option",
            subject=f"{'.'.join(parts)}, {next(iter(given))}",
            expected="skipChangeCommits, maxFilesPerTrigger or maxBytesPerTrigger",
        )
    is_ignoring = any(str(value).lower() == "true" for value in ignoring)
    return WantedStream(
        parts,
        "ignore" if is_ignoring else "error",
        None if files is None else int(files),
        None if size is None else int(size),
    )
