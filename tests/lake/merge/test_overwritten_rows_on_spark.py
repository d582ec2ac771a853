"""The tests of overwrites on one side of a merge once more, with Spark to read the rows."""

import pytest

from lakebed.lake import engines, merges
from tests.lake.merge.test_overwritten_rows import *  # noqa: F403

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def on_spark(spark, monkeypatch):
    """Give a session to every merge that has none."""
    monkeypatch.setattr(merges, "row_engine", lambda session=None: engines.row_engine(session or spark))
