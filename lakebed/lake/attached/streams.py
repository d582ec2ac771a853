"""`spark.readStream` and `df.writeStream`, which read and write the lake's tables by their names."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Self

from pyspark.sql import DataFrame

from lakebed.errors import Invalid, NotFound
from lakebed.lake.attached.names import Found
from lakebed.lake.attached.writes import FORMATS
from lakebed.spark.attachment.attachments import spark_alone
from lakebed.spark.attachment.extension import extended

Find = Callable[[str], Found | None]
"""Where the lake has a table of this name; None if it is Spark's."""

Noted = Callable[[], AbstractContextManager[None]]

OPTIONS = {
    "since": "since",
    "changes": "changes",
    "maxfilespertrigger": "max_files",
    "maxbytespertrigger": "max_bytes",
    "onchange": "on_change",
}
"""Of `readStream`, in lower case, and the arguments of `table.read_stream` that they are."""

CHECKPOINT = "checkpointlocation"
_MODES = {"append": "append", "update": "upsert"}


class LakeStreamReading:
    """What a reader of streams does more: it keeps its options, and asks the lake for a name first."""

    if TYPE_CHECKING:
        _find: Find
        _noted: Noted
        _asked: dict[str, Any]

    def option(self, key: str, value: Any) -> Self:
        self._asked[key.lower()] = value
        return super().option(key, value)  # type: ignore[misc, no-any-return]

    def options(self, **options: Any) -> Self:
        self._asked.update({key.lower(): value for key, value in options.items()})
        return super().options(**options)  # type: ignore[misc, no-any-return]

    def table(self, tableName: str) -> DataFrame:
        with spark_alone(), self._noted():
            found = self._find(tableName)
            if found is None:
                return super().table(tableName)  # type: ignore[misc, no-any-return]
            return found.table.read_stream(self._spark, **_arguments(self._asked))  # type: ignore[attr-defined]


class LakeStreamWriting:
    """What a writer of streams does more: it keeps what it was asked for, and asks the lake for a name first."""

    if TYPE_CHECKING:
        _find: Find
        _noted: Noted
        _frame: DataFrame
        _asked: dict[str, Any]
        _given: dict[str, Any]

    @property
    def _own(self) -> Any:
        return super()

    def option(self, key: str, value: Any) -> Self:
        self._asked[key.lower()] = value
        return self._own.option(key, value)  # type: ignore[no-any-return]

    def options(self, **options: Any) -> Self:
        self._asked.update({key.lower(): value for key, value in options.items()})
        return self._own.options(**options)  # type: ignore[no-any-return]

    def format(self, source: str) -> Self:
        self._given["format"] = source
        return self._own.format(source)  # type: ignore[no-any-return]

    def outputMode(self, outputMode: str) -> Self:
        self._given["outputMode"] = outputMode
        return self._own.outputMode(outputMode)  # type: ignore[no-any-return]

    def queryName(self, queryName: str) -> Self:
        self._given["queryName"] = queryName
        return self._own.queryName(queryName)  # type: ignore[no-any-return]

    def partitionBy(self, *cols: Any) -> Self:
        self._given["partitionBy"] = cols
        return self._own.partitionBy(*cols)  # type: ignore[no-any-return]

    def trigger(self, **given: Any) -> Self:
        self._given["trigger"] = given
        return self._own.trigger(**given)  # type: ignore[no-any-return]

    def toTable(
        self,
        tableName: str,
        format: str | None = None,
        outputMode: str | None = None,
        partitionBy: Any = None,
        queryName: str | None = None,
        **options: Any,
    ) -> Any:
        words = {"format": format, "outputMode": outputMode, "partitionBy": partitionBy, "queryName": queryName}
        with spark_alone(), self._noted():
            found = self._find(tableName)
            if found is None:
                return self._own.toTable(tableName, **words, **options)
            asked = {**self._asked, **{key.lower(): value for key, value in options.items()}}
            given = {**self._given, **{key: value for key, value in words.items() if value is not None}}
            return _written(found, self._frame, given, asked)


def stream_reader(own: Any, find: Find, noted: Noted) -> Any:
    """A reader of Spark's that asks `find` for names; `noted` adds to errors about them."""
    own.__class__ = extended(LakeStreamReading, own)
    own._find, own._noted, own._asked = find, noted, {}
    return own


def stream_writer(own: Any, frame: DataFrame, find: Find, noted: Noted) -> Any:
    """The same for a writer of the rows of a frame."""
    own.__class__ = extended(LakeStreamWriting, own)
    own._find, own._noted, own._frame, own._asked, own._given = find, noted, frame, {}, {}
    return own


def _arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    unknown = next((name for name in options if name not in OPTIONS), None)
    if unknown is not None:
        expected = "since, changes, maxFilesPerTrigger, maxBytesPerTrigger, onChange"
        raise Invalid("a stream of a table of the lake has no such option", subject=unknown, expected=expected)
    given = {OPTIONS[name]: value for name, value in options.items()}
    whole = {name: _number(name, given[name]) for name in ("max_files", "max_bytes") if name in given}
    return given | whole | ({"changes": _flag(given["changes"])} if "changes" in given else {})


def _number(name: str, value: Any) -> Any:
    """A number, which may be text as all options of Spark may."""
    return int(value) if isinstance(value, str) and value.strip().isdigit() else value


def _flag(value: Any) -> Any:
    texts = {"true": True, "false": False}
    return texts.get(value.strip().lower(), value) if isinstance(value, str) else value


def _written(found: Found, frame: DataFrame, given: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    if not found.is_table:
        advice = "Create it first: catalog.create_table(name, schema), or CREATE TABLE."
        raise NotFound("a stream writes to a table that is there", subject=found.spelled, advice=advice)
    if str(given.get("format", FORMATS[0])).lower() not in FORMATS:
        raise Invalid(
            "tables of the lake have one format",
            subject=found.spelled,
            expected="lakebed, or nothing",
            found=given["format"],
            advice="Leave the format out.",
        )
    if given.get("partitionBy"):
        advice = "Leave it out: a table knows its partitions."
        raise Invalid("a stream can't choose the partitions of a table", subject=found.spelled, advice=advice)
    asked = str(given.get("outputMode", "append")).lower()
    if asked not in _MODES:
        advice = "Pass a function to table.write_stream(df, checkpoint, mode=fn) that overwrites the table."
        raise Invalid("a stream can't be written so", subject=asked, expected="append or update", advice=advice)
    place = options.get(CHECKPOINT)
    if place is None:
        advice = '.option("checkpointLocation", "/a/folder")'
        raise Invalid("the query has no checkpoint", subject=found.spelled, advice=advice)
    name = given.get("queryName")
    return found.table.write_stream(frame, place, mode=_MODES[asked], trigger=given.get("trigger"), name=name)
