"""What all tests share."""

import ast
import gc
import os
import shutil
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Suites and support assert as tests do, and deserve the same messages when they fail. Before anything imports them.
pytest.register_assert_rewrite("lakebed.testing", "tests.support")

# Machines are shared, and no test may fail because one is slow.
settings.register_profile("quick", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Small and quick to start, and nothing listens beyond this machine.
SPARK = {
    "spark.master": "local[2]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.log.level": "OFF",  # failed jobs are tested, and their traces would bury the tests' own
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


MEMORY = Path("/dev/shm")
"""A disk in memory, where Linux has one. Half of the time of `make test` was spent waiting for a disk to write."""


def pytest_configure(config: pytest.Config) -> None:
    # Shells let what they start in the background ignore it, and its children too: tests of Ctrl-C would wait for ever.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "not long" not in config.option.markexpr:
        settings.load_profile("long")
        return
    settings.load_profile("quick")
    # Kills of processes lose nothing that was written, on either disk. The long tests run on the one that there is.
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 4 << 30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.hookimpl(tryfirst=True)  # before what is long is deselected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One in n of the cases of a function that is `sampled(n)` runs always; the others are long. Long is an hour."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("long"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for function, found in cases.items():
        [one_in] = found[0].get_closest_marker("sampled").args  # type: ignore[union-attr]
        quick = Random(function).sample(range(len(found)), -(-len(found) // one_in))
        for place in set(range(len(found))) - set(quick):
            found[place].add_marker("long")
    for item in items:
        if item.get_closest_marker("long") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(3600))  # machines are shared


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay: nobody looks for garbage among them, while they are made or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # libraries look for leaks at the end


class SparkTogether(LoadScopeScheduling):
    """Every function is sent to a worker on its own, but those that use Spark all go to one: it has the one session.

    Spark's are sent first, the others in their order, so that what modules share is made once. The worker that is done
    with Spark helps with the rest. xdist's own groups do nothing since pytest 9.2: pytest-dev/pytest-xdist, issue 1386.
    """

    def _split_scope(self, nodeid: str) -> str:
        function = nodeid.partition("[")[0]
        path, _, name = function.partition("::")
        users = spark_users(self.config.rootpath / path, self.config.rootpath)
        return SPARK_SCOPE if users & {name.rpartition("::")[2], ALL_TESTS} else function

    def _assign_work_unit(self, node: WorkerController) -> None:
        if SPARK_SCOPE in self.workqueue:
            self.workqueue.move_to_end(SPARK_SCOPE, last=False)
        super()._assign_work_unit(node)

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """What is done is forgotten, or each of thousands of tests would be counted at the end of each."""
        super().mark_test_complete(node, item_index, duration)
        units = self.assigned_work[node]
        scope = self._split_scope(self.registered_collections[node][item_index])
        if all(units[scope].values()):
            del units[scope]


SPARK_SCOPE = "spark"
ALL_TESTS = "*"


@cache
def spark_users(path: Path, root: Path) -> frozenset[str]:
    """The functions of a file, and of the conftests above it, that get the fixture below, by whichever fixtures.

    Only names are compared. A test that is missed starts a session of its own; one too many loses nothing but a worker.
    """
    folders = [folder for folder in reversed(path.parents) if folder.is_relative_to(root)]
    users = {"spark"}
    for file in (*(folder / "conftest.py" for folder in folders), path):
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        asked = fixtures_of_functions(text) if any(name in text for name in users) else {}
        while more := {name for name, fixtures in asked.items() if fixtures & users} - users:
            users |= more
    return frozenset(users)


@cache
def fixtures_of_functions(source: str) -> dict[str, set[str]]:
    """Each function of a file with the fixtures that it names; those with `autouse` are named by all tests."""
    found: dict[str, set[str]] = {ALL_TESTS: set()}
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            named = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
            calls = [call for call in ast.walk(function) if isinstance(call, ast.Call)]
            for call in calls:
                if ast.unparse(call.func).endswith(("getfixturevalue", "usefixtures")):
                    named |= {str(argument.value) for argument in call.args if isinstance(argument, ast.Constant)}
            found[function.name] = named
            if any(keyword.arg == "autouse" for call in calls for keyword in call.keywords):
                found[ALL_TESTS].add(function.name)
    return found


@pytest.hookimpl(optionalhook=True)  # for a run without xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SparkTogether | None:
    if config.getvalue("dist") != "load":
        return None
    config.option.loadscopereorder = False
    return SparkTogether(config, log)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """The one Spark session of the run, as Lakebed sets it up."""
    from lakebed.spark import session  # here, so that a run without Spark's tests does not load PySpark

    place = tmp_path_factory.mktemp("spark")
    # Quick to start, slow to run long. The code of so many queries fills the 48 MB that this compiler has by default,
    # and then it stops: a query that took 4 s takes 23.
    java = f"-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -Dderby.system.home={place}"
    own = {"spark.driver.extraJavaOptions": java, "spark.sql.warehouse.dir": str(place / "warehouse")}
    running = session(**SPARK, **own)
    yield running
    running.stop()


@pytest.fixture
def setting(spark: "SparkSession") -> Callable[[dict[str, str]], AbstractContextManager[None]]:
    """The session with other settings for a while, as somebody else may have started it."""

    @contextmanager
    def changed(values: dict[str, str]) -> Iterator[None]:
        before = {name: spark.conf.get(name, None) for name in values}
        try:
            for name, value in values.items():
                spark.conf.set(name, value)
            yield
        finally:
            for name, known in before.items():
                if known is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, known)

    return changed
