"""What the machine of merges has found once more, with Spark to read the rows."""

import pytest

from lakebed.lake import engines, merges
from tests.lake.changes.test_changes_laws import a_lake
from tests.lake.merge.test_merge_rows_machine import FOUND, FOUND_KEYS
from tests.support import keyed_lines
from tests.support.row_lines import run

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def on_spark(spark, monkeypatch):
    """Give a session to every merge that has none."""
    monkeypatch.setattr(merges, "row_engine", lambda session=None: engines.row_engine(session or spark))


@pytest.mark.parametrize("steps", FOUND.values(), ids=FOUND)
def test_what_the_machine_has_found_on_spark(steps):
    with a_lake() as lake:
        run(lake.catalog(), steps, keyed=True)


@pytest.mark.parametrize("steps", FOUND_KEYS.values(), ids=FOUND_KEYS)
def test_what_the_machine_has_found_of_keys_on_spark(steps):
    with a_lake() as lake:
        keyed_lines.run(lake.catalog(), steps)
