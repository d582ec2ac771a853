"""What the tests of the Spark engine share."""

from pathlib import Path

import pyspark
import pytest

from lakebed.files import LocalFiles


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")[:2]))


VERSION = _numbers(pyspark.__version__)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "since(version, reason): needs this version of Spark, `4.1`, or a later one")
    config.addinivalue_line("markers", "before(version, reason): needs an earlier version of Spark than this one")
    if VERSION < (4, 3):  # what it reads its rows from, it leaves to Python to close
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for version, reason in (mark.args for mark in item.iter_markers("since")):
        if _numbers(version) > VERSION:
            pytest.skip(f"from Spark {version} on: {reason}; this is {pyspark.__version__}")
    for version, reason in (mark.args for mark in item.iter_markers("before")):
        if _numbers(version) <= VERSION:
            pytest.skip(f"before Spark {version}: {reason}; this is {pyspark.__version__}")


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    """An empty lake, at a path that would trip up whoever forgets to quote one."""
    return LocalFiles(tmp_path / "a lake, 100% [ünïcode]")
