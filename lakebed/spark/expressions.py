"""SQL that somebody gives, run by Spark, with errors that say what the table has to do with it."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import cast

from pyspark.errors import AnalysisException, PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from lakebed.errors import Invalid, LakebedError
from lakebed.table.sql.tree import short

# What may hold quotes that are no literal's, and literals, in which a doubled quote does not end them.
_PIECES = re.compile(r"""--[^\n]*|/\*.*?\*/|`[^`]*`|"(?:[^"\\]|\\.)*"|'((?:[^'\\]|\\.|'')*)'""", re.DOTALL)


def check_quotes(session: SparkSession, text: str, told: str, table: str) -> None:
    """Refuse SQL that this session would take for something else; `told` is what errors call it."""
    if means_otherwise(session, text):
        raise Invalid(
            f"{told} has a doubled quote, which Spark {session.version} leaves out",
            subject=f"{table}: {short(text)}",
            expected=r"a quote behind a backslash: 'it\'s'",
            advice="Or use Spark 4.1.",
        )


def means_otherwise(session: SparkSession, text: str) -> bool:
    """Whether the text has a literal with a doubled quote, and the session takes it for two; no job runs."""
    return any("''" in (one[1] or "") for one in _PIECES.finditer(text)) and _splits(session)


def _splits(session: SparkSession) -> bool:
    return session.sql("SELECT 'a''b'").columns == ["ab"]


ANSI = "spark.sql.ansi.enabled"
ZONE = "spark.sql.session.timeZone"
UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
UNFIT = "Lakebed found a value that does not fit a column: "
"""What Spark's error says, with the column, its type and the value behind it, when a job meets such a value."""

_UNFIT = re.compile(f"{re.escape(UNFIT)}«(.*?)»«(.*?)»«(.*?)»", re.DOTALL)
# PySpark prints the whole trace of each error that it can place in somebody's SQL, though it is told by an exception.
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_is_quiet: ContextVar[bool] = ContextVar("is_quiet", default=False)
for _name in _LOGGERS:
    PySparkLogger.getLogger(_name).addFilter(lambda _: not _is_quiet.get())

_DATA_ERROR = "22"  # the class of SQL's states for values that an expression can't calculate with


def is_utc(session: SparkSession) -> bool:
    """Whether the session's time zone is UTC."""
    return session.conf.get(ZONE) in UTC


def is_ansi(session: SparkSession) -> bool:
    """Whether the session is in ANSI mode."""
    return str(session.conf.get(ANSI, "true")).lower() == "true"


def typed(frame: DataFrame, text: str, told: str, table: str) -> tuple[Column, spark.DataType]:
    """The expression that a text is over the frame's columns, and its type; `Invalid` if Spark can't read it.

    `told` is what errors call it.
    """
    if not isinstance(text, str):
        raise Invalid(f"{told} is text in SQL", subject=table, expected="str", found=f"{text!r:.80}")
    check_quotes(frame.sparkSession, text, told, table)
    with told_as_invalid(told, text, table):
        found = F.expr(text)
        # In a struct: what gives several rows, or none, is refused there.
        [held] = frame.select(F.struct(found)).schema.fields
        return found, cast(spark.StructType, held.dataType).fields[0].dataType


def predicate(frame: DataFrame, text: str, told: str, table: str) -> Column:
    """The condition that a text is; `Invalid` if it is none."""
    found, kind = typed(frame, text, told, table)
    if not isinstance(kind, spark.BooleanType | spark.NullType):
        raise Invalid(
            f"{told} is neither true nor false",
            subject=f"{table}: {short(text)}",
            expected="a condition",
            found=kind.simpleString(),
            advice="Compare it with something.",
        )
    return found.cast("boolean")


def check_session(session: SparkSession) -> None:
    """Refuse a session in which an overflow or a division by zero is a null instead of an error."""
    if not is_ansi(session):
        raise Invalid(
            "this session has nulls for what can't be calculated, and they would be stored",
            subject=ANSI,
            expected="true",
            found="false",
            advice=f'Run `spark.conf.set("{ANSI}", "true")`.',
        )


@contextmanager
def told_as_invalid(told: str, text: str, table: str) -> Iterator[None]:
    """What Spark refuses in somebody's SQL before any job runs, as `Invalid`."""
    try:
        with quietly():
            yield
    except AnalysisException as error:
        raise _refused(error, told, text, table) from error


@contextmanager
def values_told(table: str) -> Iterator[None]:
    """What a job finds wrong with a row's values, as `Invalid`; other errors of Spark go through."""
    try:
        with quietly():
            yield
    except LakebedError:
        raise
    except PySparkException as error:
        if isinstance(error, AnalysisException):
            problem = "an expression can't stand here"
            raise Invalid(problem, subject=table, found=first_line(error), advice="Nothing was changed.") from error
        if (found := _UNFIT.search(str(error))) is not None:
            raise _unfit(table, *found.groups()) from error
        if _state(error).startswith(_DATA_ERROR):
            raise _uncalculated(table, error) from error
        raise


@contextmanager
def quietly() -> Iterator[None]:
    """Without what PySpark prints of errors that are told by exceptions."""
    before = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(before)


def _refused(error: AnalysisException, told: str, text: str, table: str) -> Invalid:
    condition = error.getCondition() or ""
    parameters = error.getMessageParameters() or {}
    name = parameters.get("objectName") or parameters.get("name") or ""
    if condition.startswith("UNRESOLVED_COLUMN"):
        # Not those that rows are found again by.
        proposal = ", ".join(one for one in parameters.get("proposal", "").split(", ") if "lakebed." not in one)
        return Invalid(
            "there is no such column",
            subject=f"{table}: {name}",
            expected=f"one such as {proposal}" if proposal else None,
            found=f"{told} {short(text)}",
        )
    if condition == "AMBIGUOUS_REFERENCE":
        return Invalid(
            "a column's name stands for more than one",
            subject=f"{table}: {name}",
            expected="target.… or source.…",
            found=f"{told} {short(text)}",
        )
    return Invalid(f"{told} can't be read by Spark", subject=f"{table}: {short(text)}", found=first_line(error))


def _unfit(table: str, column: str, kind: str, value: str) -> Invalid:
    return Invalid(
        "a value does not fit the column",
        subject=f"{table}, column {column!r}",
        expected=kind,
        found=value,
        advice="Nothing was changed.",
    )


def _uncalculated(table: str, error: PySparkException) -> Invalid:
    return Invalid(
        "an expression can't be calculated for a row",
        subject=table,
        found=first_line(error),
        advice="Nothing was changed. Mend the rows, or ask for null: try_divide, try_cast, …",
    )


def _state(error: PySparkException) -> str:
    try:
        return error.getSqlState() or ""
    except (AttributeError, NotImplementedError):  # some of Connect's errors have none
        return ""


def first_line(error: PySparkException) -> str:
    """What Spark says, without the plan that it says it of."""
    lines: Sequence[str] = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
