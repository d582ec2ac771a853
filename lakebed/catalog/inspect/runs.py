"""The system tables of pipelines: runs, their steps and checks, what columns were made from, and windows.

Their rows are rows of tables in the catalog `_runs`, which runs write: `docs/internals/pipelines.md`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from lakebed.catalog.inspect.system_table import Keep, Row, SystemTable, columns
from lakebed.catalog.transaction.commits import event_id
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Corrupt

CATALOG = "_runs"
"""The catalog that has the tables; the first run makes it."""


@dataclass(frozen=True, slots=True)
class RunTable(SystemTable):
    """A system table that is kept as a table of the catalog of runs. `key` are the columns that name a row."""

    table: str = ""
    key: tuple[str, ...] = ()


def _elsewhere(work: Work, keep: Keep) -> Iterator[Row]:
    raise Corrupt("the rows of this table are kept in a catalog", subject=CATALOG)


def _kept(table: str, about: str, key: tuple[str, ...], *given: tuple[str, str, str]) -> RunTable:
    return RunTable(f"__{table}", about, columns(*given), _elsewhere, table, key)


def publish_event(run: str) -> str:
    """The event id of the merge that publishes a run, by the run's uuid: it says whether the run is published."""
    return event_id(run, "publish")


RUNS = _kept(
    "runs",
    "The runs of pipelines.",
    ("id",),
    ("id", "long", "its number"),
    ("pipeline", "string", "the pipeline's name"),
    (
        "status",
        "string",
        "how it stands: running, published, unchanged, ready, discarded, or what went wrong",
    ),
    ("catalog", "string", "the catalog that it publishes into"),
    ("into", "string", "the branch that it publishes into"),
    ("branch", "string", "the branch that it works on"),
    ("base", "string", "the version that all its steps read"),
    ("published", "string", "the version of the commit that published it"),
    ("started", "timestamptz", "when it began"),
    ("ended", "timestamptz", "when it ended, or stopped"),
    ("author", "string", "who ran it"),
    ("params", "string", "its parameters, as JSON"),
    ("code", "string", "the fingerprint of each step"),
    ("error", "string", "what was wrong"),
    ("uuid", "string", "its id: event ids are made from it"),
    ("attempt", "int", "how often it began, because others changed its inputs"),
    ("asked", "string", "the steps, parameters and windows that it was asked for, as JSON: a resume goes on with them"),
    ("file", "string", "the file that makes the pipeline"),
    ("revision", "string", "the commit of the repository that the file is in, with -dirty if files were changed"),
    ("process", "string", "the host and the process that ran it"),
    ("checked", "string", "the version of its branch that its checks saw"),
)
STEPS = _kept(
    "steps",
    "The steps of runs.",
    ("run", "step"),
    ("run", "long", "the run's number"),
    ("step", "string", "the step's name"),
    ("status", "string", "waiting, running, done, skipped or failed"),
    ("action", "string", "create, update, rebuild, windows, skip or hook"),
    ("reason", "string", "why"),
    ("started", "timestamptz", "when it began"),
    ("ended", "timestamptz", "when it ended"),
    ("rows", "long", "how many rows it made"),
    ("dropped", "long", "how many rows expectations dropped"),
    ("quarantined", "long", "how many rows went to its quarantine"),
    ("code", "string", "its fingerprint"),
    ("inputs", "string", "the states of its inputs, as JSON"),
    ("error", "string", "what was wrong"),
)
CHECKS = _kept(
    "checks",
    "What expectations and checks of runs found.",
    ("run", "check"),
    ("run", "long", "the run's number"),
    ("check", "string", "its table and its name"),
    ("table", "string", "the table that it is about"),
    ("severity", "string", "error or warn"),
    ("passed", "boolean", "whether it passed"),
    ("failed", "long", "how many rows failed"),
    ("value", "string", "the value that it looked at; of an expectation, how many rows there were"),
    ("message", "string", "what it says"),
    ("examples", "string", "some of the rows that failed, as JSON"),
    ("time", "timestamptz", "when it ended"),
)
LINEAGE = _kept(
    "lineage",
    "What the columns of tables were made from, by the run that made them.",
    ("run", "table", "column", "input_table", "input_column"),
    ("run", "long", "the run's number"),
    ("table", "string", "the table"),
    ("column", "string", "its column; empty for what decides which rows there are, or if only tables are known"),
    ("input_table", "string", "a table that it was made from"),
    ("input_column", "string", "a column of that; empty if only the tables are known"),
    ("input_version", "string", "the version at which that was read"),
)
WINDOWS = _kept(
    "windows",
    "The windows that runs made.",
    ("run", "step", "window"),
    ("run", "long", "the run's number"),
    ("step", "string", "the step's name"),
    ("window", "string", "the window, or the first and the last of several"),
    ("first", "timestamp", "the first moment of it, in UTC"),
    ("last", "timestamp", "the first moment after it"),
    ("reason", "string", "why it was made"),
    ("rows", "long", "how many rows it has"),
    ("time", "timestamptz", "when it was noted"),
)
RUN_TABLES = {table.name: table for table in (RUNS, STEPS, CHECKS, LINEAGE, WINDOWS)}
