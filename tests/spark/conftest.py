"""What the tests of the Spark engine share."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakebed.files import LocalFiles


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    """An empty lake, at a path that would trip up whoever forgets to quote one."""
    return LocalFiles(tmp_path / "a lake, 100% [ünïcode]")


@pytest.fixture
def setting(spark: SparkSession) -> Callable[[dict[str, str]], AbstractContextManager[None]]:
    """The session with other settings for a while, as somebody else may have started it."""

    @contextmanager
    def changed(values: dict[str, str]) -> Iterator[None]:
        before = {name: spark.conf.get(name) for name in values}
        try:
            for name, value in values.items():
                spark.conf.set(name, value)
            yield
        finally:
            for name, value in before.items():
                spark.conf.set(name, value)

    return changed
