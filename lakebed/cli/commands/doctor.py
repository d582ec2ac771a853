"""The word that looks at the machine: doctor."""

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from time import perf_counter

from lakebed.cli.advice import in_words
from lakebed.cli.failures import CHECK_FAILED
from lakebed.cli.session import Session, with_session
from lakebed.cli.settings import word
from lakebed.cli.values import byte_text
from lakebed.errors import LakebedError, NotFound, Unavailable
from lakebed.lake.address import DATABASE
from lakebed.store.sqlite.write_lock import writer_of

LEAST_FREE = 1_000_000_000
SLOW = 0.5
"""Seconds after which a read of the newest version, or a wait for the writer's lock, is worth a look."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `status` is ok, missing (an optional part) or problem."""

    check: str
    status: str
    found: str
    advice: str = ""


@word("lakebed doctor", "lakebed doctor --json")
@with_session
def doctor_word(session: Session) -> int:
    """Look at Python, the libraries, Java, Spark, the disk and the locks. The exit code is 3 if something is wrong."""
    found = [*_python(), *_libraries(), *_java(), *_lake(session)]
    if session.output.is_terminal and not session.output.is_quiet:
        session.output.rows(("check", "status", "found"), [(one.check, one.status, one.found) for one in found])
        for one in found:  # below the table, which would cut them
            if one.advice:
                session.output.sentences(f"{one.check}: {one.advice}")
    else:
        rows = [(one.check, one.status, one.found, one.advice or None) for one in found]
        session.output.rows(("check", "status", "found", "advice"), rows)
    return CHECK_FAILED if any(one.status == "problem" for one in found) else 0


def _python() -> Iterator[Finding]:
    good = sys.version_info >= (3, 11)
    yield Finding(
        "python", "ok" if good else "problem", platform.python_version(), "" if good else "Use 3.11 or newer."
    )


def _libraries() -> Iterator[Finding]:
    for name in ("lakebed", "apsw", "pyarrow", "protobuf"):
        yield Finding(name, *_installed(name, "problem", f"Run: pip install {name}"))
    for name, extra in (("pyspark", "spark"), ("duckdb", "duckdb"), ("polars", "polars"), ("fastavro", "iceberg")):
        yield Finding(name, *_installed(name, "missing", f"Run: pip install 'lakebed[{extra}]'"))


def _installed(name: str, otherwise: str, advice: str) -> tuple[str, str, str]:
    try:
        return "ok", version(name), ""
    except PackageNotFoundError:
        return otherwise, "not installed", advice


def _java() -> Iterator[Finding]:
    """The Java that Spark would use, which is started once; nothing if there is no Spark."""
    if find_spec("pyspark") is None:
        return
    from lakebed.spark.java import java_home  # here: where Spark is not installed, it can't be imported

    try:
        yield Finding("java", "ok", java_home())
    except Unavailable as error:
        yield Finding("java", "missing", str(error.found), error.advice)


def _lake(session: Session) -> Iterator[Finding]:
    try:
        folder = session.folder
    except NotFound as error:
        yield Finding("lake", "missing", str(error.problem), error.advice)
        return
    except LakebedError as error:
        yield Finding("lake", "problem", error.problem, in_words(error.advice))
        return
    yield Finding("lake", "ok", f"{folder}, format {session.lake.format_version}")
    yield _free(folder)
    yield _writable(folder)
    yield _asked(session.lake.catalog)
    yield _written(folder)


def _free(folder: str) -> Finding:
    free = shutil.disk_usage(folder).free
    advice = "" if free > LEAST_FREE else "Free some space: commits fail on a full disk."
    return Finding("disk", "ok" if free > LEAST_FREE else "problem", f"{byte_text(free)} free", advice)


def _writable(folder: str) -> Finding:
    if os.access(folder, os.W_OK):
        return Finding("permissions", "ok", "the folder can be written")
    return Finding("permissions", "missing", "the folder can only be read", "Changes will be refused.")


def _asked(ask: Callable[[], object]) -> Finding:
    """How long a read of the newest version takes."""
    begun = perf_counter()
    ask()
    took = perf_counter() - begun
    advice = "The disk or the machine may be busy." if took > SLOW else ""
    return Finding("reads", "ok" if took <= SLOW else "problem", f"a read took {took * 1000:.0f} ms", advice)


def _written(folder: str) -> Finding:
    """Who holds the writer's lock, which blocks no read."""
    writer = writer_of(f"{folder}/{DATABASE}", SLOW)
    if writer is None:
        return Finding("locks", "ok", "a writer can begin")
    found = f"{writer} has held the writer's lock for more than {SLOW:g} s"
    return Finding("locks", "problem", found, "Changes wait for it. If it hangs, end that process.")
