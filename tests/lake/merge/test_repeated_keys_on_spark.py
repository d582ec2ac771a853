"""The tests of repeated keys once more, with Spark to look for them."""

import pytest

from lakebed.lake import engines, merges
from lakebed.lake.merging import progress
from tests.lake.merge.test_repeated_keys import *  # noqa: F403

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def on_spark(spark, monkeypatch):
    """Give a session to every merge that has none."""
    for module in (merges, progress):
        monkeypatch.setattr(module, "row_engine", lambda session=None: engines.row_engine(session or spark))
