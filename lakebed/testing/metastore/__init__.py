"""The suite that every `Metastore` passes: subclass it, with a fixture `metastore` that gives the one of an empty lake.

Each topic is a class of its own, in a module of its own. `reopen`, if a fixture of that name gives a function, opens
the same lake again.
"""

from collections.abc import Callable

import pytest

from lakebed.metastore.metastore import Metastore
from lakebed.testing.metastore.branches import BranchesSuite
from lakebed.testing.metastore.checkpoints import CheckpointsSuite
from lakebed.testing.metastore.commits import CommitsSuite
from lakebed.testing.metastore.data import DataSuite
from lakebed.testing.metastore.erasure import ErasureSuite
from lakebed.testing.metastore.lives import LivesSuite
from lakebed.testing.metastore.names import NamesSuite
from lakebed.testing.metastore.pages import PagesSuite
from lakebed.testing.metastore.reads import ReadsSuite
from lakebed.testing.metastore.refusals import RefusalsSuite
from lakebed.testing.metastore.writer import Writer, picture, trunk


class MetastoreSuite(
    NamesSuite,
    LivesSuite,
    ReadsSuite,
    BranchesSuite,
    PagesSuite,
    CommitsSuite,
    DataSuite,
    CheckpointsSuite,
    RefusalsSuite,
    ErasureSuite,
):
    @pytest.fixture
    def reopen(self) -> Callable[[], Metastore] | None:
        """None: a lake that lasts as long as its metastore."""
        return None

    def test_a_lake_that_is_opened_again_is_the_same(
        self, metastore: Metastore, reopen: Callable[[], Metastore] | None
    ) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        writer.set(table, 1)
        writer.append(table, 2)
        branch = writer.fork()
        branch.drop(table)
        token = writer.reader().log(limit=1).token
        again = reopen() if reopen else metastore
        assert (again.lake_id, again.newest()) == (metastore.lake_id, metastore.newest())
        for one in (writer, branch):
            before, after = metastore.reader(one.line), again.reader(one.line)
            assert picture(after, [table], ["t"]) == picture(before, [table], ["t"])
        assert again.reader(writer.line).log(limit=1, token=token) == writer.reader().log(limit=1, token=token)
        assert again.allocate(table, "row") == 3
