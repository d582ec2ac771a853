"""SQL from a caller, evaluated by Spark: its meaning in this session, and its errors in terms of the table."""

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
from lakebed.spark.variables import written_expression
from lakebed.table.sql.tree import short
from lakebed.table.types.limits import check_expression

ANSI = "spark.sql.ansi.enabled"
ZONE = "spark.sql.session.timeZone"
UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
UNFIT = "Lakebed found a value that does not fit a column: "
"""How Spark's error begins when a job meets such a value; the column, its type and the value follow."""

_UNFIT = re.compile(f"{re.escape(UNFIT)}«(.*?)»«(.*?)»«(.*?)»", re.DOTALL)
_DATA_ERROR = "22"  # the class of SQL states for values that an expression can't be evaluated on

# Comments, quoted names and texts in double quotes, where a quote is not a literal's; then literals in single quotes,
# which a doubled quote does not end.
_PIECES = re.compile(r"""--[^\n]*|/\*.*?\*/|`[^`]*`|"(?:[^"\\]|\\.)*"|'((?:[^'\\]|\\.|'')*)'""", re.DOTALL)

# PySpark logs the whole trace of each error that it can place in a caller's SQL, although it raises the error too.
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_is_quiet: ContextVar[bool] = ContextVar("is_quiet", default=False)
for _name in _LOGGERS:
    PySparkLogger.getLogger(_name).addFilter(lambda _: not _is_quiet.get())


def is_utc(session: SparkSession) -> bool:
    """Whether the session's time zone is UTC."""
    return session.conf.get(ZONE) in UTC


def is_ansi(session: SparkSession) -> bool:
    """Whether the session is in ANSI mode."""
    return str(session.conf.get(ANSI, "true")).lower() == "true"


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


def check_quotes(session: SparkSession, text: str, label: str, table: str) -> None:
    """Refuse SQL that this session would misread; `label` is what errors call it."""
    if drops_quotes(session, text):
        raise Invalid(
            f"{label} has a doubled quote, which Spark {session.version} leaves out",
            subject=f"{table}: {short(text)}",
            expected=r"a quote behind a backslash: 'it\'s'",
            advice="Or use Spark 4.1.",
        )


def drops_quotes(session: SparkSession, text: str) -> bool:
    """Whether the text has a literal with a doubled quote, and the session reads it as two literals; no job runs."""
    return any("''" in (piece[1] or "") for piece in _PIECES.finditer(text)) and _splits_literals(session)


def typed_expression(frame: DataFrame, text: str, label: str, table: str) -> tuple[Column, spark.DataType]:
    """A text as an expression over the frame's columns, and its type; `Invalid` if Spark can't read it.

    `label` is what errors call it.
    """
    if not isinstance(text, str):
        raise Invalid(f"{label} is text in SQL", subject=table, expected="str", found=f"{text!r:.80}")
    check_expression(text, label)
    check_quotes(frame.sparkSession, text, label, table)
    with analysis_errors(label, text, table):
        expression = written_expression(frame.sparkSession, text)
        # In a struct, where Spark refuses an expression that gives several rows, or none.
        [struct] = frame.select(F.struct(expression)).schema.fields
        return expression, cast(spark.StructType, struct.dataType).fields[0].dataType


def predicate(frame: DataFrame, text: str, label: str, table: str) -> Column:
    """A text as a condition; `Invalid` if it is not one."""
    expression, kind = typed_expression(frame, text, label, table)
    if not isinstance(kind, spark.BooleanType | spark.NullType):
        raise Invalid(
            f"{label} is neither true nor false",
            subject=f"{table}: {short(text)}",
            expected="a condition",
            found=kind.simpleString(),
            advice="Compare it with something.",
        )
    return expression.cast("boolean")


@contextmanager
def analysis_errors(label: str, text: str, table: str) -> Iterator[None]:
    """Raise what Spark refuses in a caller's SQL, before any job runs, as `Invalid`."""
    try:
        with quietly():
            yield
    except AnalysisException as error:
        raise _analysis_error(error, label, text, table) from error


@contextmanager
def value_errors(table: str) -> Iterator[None]:
    """Raise what a job finds wrong with a row's values as `Invalid`; Spark's other errors go through."""
    try:
        with quietly():
            yield
    except LakebedError:
        raise
    except PySparkException as error:
        if isinstance(error, AnalysisException):
            problem = "an expression can't stand here"
            raise Invalid(problem, subject=table, found=first_line(error), advice="Nothing was changed.") from error
        if (unfit := unfit_value(str(error), table)) is not None:
            raise unfit from error
        if _sql_state(error).startswith(_DATA_ERROR):
            raise _evaluation_error(table, error) from error
        raise


def unfit_value(message: str, table: str = "") -> Invalid | None:
    """The error of a job that met a value that does not fit a column, by its message; None for any other."""
    found = _UNFIT.search(message)
    if found is None:
        return None
    column, kind, value = found.groups()
    return Invalid(
        "a value does not fit the column",
        subject=f"{table}, column {column!r}".removeprefix(", "),
        expected=kind,
        found=value,
        advice="Nothing was changed.",
    )


@contextmanager
def quietly() -> Iterator[None]:
    """Keep PySpark from logging errors that are raised too."""
    before = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(before)


def first_line(error: PySparkException) -> str:
    """Spark's message without the plan behind it."""
    lines: Sequence[str] = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _splits_literals(session: SparkSession) -> bool:
    return session.sql("SELECT 'a''b'").columns == ["ab"]


def _analysis_error(error: AnalysisException, label: str, text: str, table: str) -> Invalid:
    condition = error.getCondition() or ""
    parameters = error.getMessageParameters() or {}
    name = parameters.get("objectName") or parameters.get("name") or ""
    if condition.startswith("UNRESOLVED_COLUMN"):
        # Without the columns of rows' addresses, which are Lakebed's own.
        names = parameters.get("proposal", "").split(", ")
        proposal = ", ".join(column for column in names if "lakebed." not in column)
        return Invalid(
            "there is no such column",
            subject=f"{table}: {name}",
            expected=f"one such as {proposal}" if proposal else None,
            found=f"{label} {short(text)}",
        )
    if condition == "AMBIGUOUS_REFERENCE":
        return Invalid(
            "the name of a column is ambiguous",
            subject=f"{table}: {name}",
            expected="target.… or source.…",
            found=f"{label} {short(text)}",
        )
    return Invalid(f"{label} can't be read by Spark", subject=f"{table}: {short(text)}", found=first_line(error))


def _evaluation_error(table: str, error: PySparkException) -> Invalid:
    return Invalid(
        "an expression can't be calculated for a row",
        subject=table,
        found=first_line(error),
        advice="Nothing was changed. Fix the rows, or ask for null: try_divide, try_cast, …",
    )


def _sql_state(error: PySparkException) -> str:
    try:
        return error.getSqlState() or ""
    except (AttributeError, NotImplementedError):  # some of Connect's errors have none
        return ""
