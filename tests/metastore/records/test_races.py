"""Law 3, no write skew: whatever commits in the middle of another commit, it is as if it had come before it.

One change has a delta whose fold, inside the commit's own transaction, lets another change commit. The first must then
end as it would have ended after the other.
"""

import pytest

from lakebed.errors import LakebedError
from lakebed.metastore import DataChange, RecordsMetastore, life, new_id
from lakebed.metastore.change import AttributeRead, DataRead, ListingRead, NameRead
from lakebed.records import records_pb2 as pb
from lakebed.records.check.check import check
from lakebed.records.layout import Attribute
from lakebed.store import MemoryStore
from lakebed.testing.metastore.writer import RECORDS, Writer, appending, root_partition, trunk
from tests.support.examples import examples

pytestmark = pytest.mark.sampled(3)


class Scene:
    """Namespace a holds namespace b, which holds tables t and u and had v; c is a namespace beside a."""

    def __init__(self, branched):
        self.store = MemoryStore()
        writer = Writer(RecordsMetastore(self.store), trunk())
        self.a, self.c, self.ground = writer.namespace("a"), writer.namespace("c"), writer.table("ground")
        self.b = writer.namespace("b", self.a)
        self.t, self.u, self.v = (writer.table(name, self.b) for name in "tuv")
        writer.drop(self.v)
        self.writer = writer.fork() if branched else writer
        self.base = writer.metastore.newest()

    def life(self, object_id, **fields):
        return {object_id: self.writer.life(object_id, self.base, **fields)}

    def fresh(self, container, name):
        return {new_id(): life(pb.TABLE, container, name)}

    def changes(self):
        a, b, c, t, u, v, life = self.a, self.b, self.c, self.t, self.u, self.v, self.life
        properties = RECORDS[Attribute.PROPERTIES]
        return {
            "create n in b": {"lives": self.fresh(b, "n")},
            "create n in c": {"lives": self.fresh(c, "n")},
            "create a second c": {"lives": self.fresh(self.writer.line.top, "x")},
            "rename t to n": {"lives": life(t, name="n")},
            "rename u to n": {"lives": life(u, name="N")},
            "swap t and u": {"lives": life(t, name="u") | life(u, name="t")},
            "move t to c": {"lives": life(t, container_id=c)},
            "move b into c": {"lives": life(b, container_id=c)},
            "move c into b": {"lives": life(c, container_id=b)},
            "drop t": {"lives": life(t, dropped=True)},
            "drop b": {"lives": life(b, dropped=True)},
            "drop a": {"lives": life(a, dropped=True)},
            "drop b if empty": {"lives": life(b, dropped=True), "reads": (ListingRead(b),)},
            "drop c if empty": {"lives": life(c, dropped=True), "reads": (ListingRead(c),)},
            "undrop v": {"lives": life(v, dropped=False)},
            "undrop v as n": {"lives": life(v, dropped=False, name="n")},
            "set t": {"attributes": {(t, Attribute.PROPERTIES): properties(1)}},
            "set b": {"attributes": {(b, Attribute.PROPERTIES): properties(1)}},
            "ref t": {"attributes": {(t, Attribute.REF): pb.CatalogRecord(parent_id=self.a)}},
            "append to t": {"data": (appending(t),)},
            "overwrite t": {"data": (appending(t),), "reads": (DataRead(root_partition(t)),)},
            "read t, set u": {
                "reads": (AttributeRead(t, Attribute.PROPERTIES),),
                "attributes": {(u, Attribute.PROPERTIES): properties(2)},
            },
            "read u, set t": {
                "reads": (AttributeRead(u, Attribute.PROPERTIES),),
                "attributes": {(t, Attribute.PROPERTIES): properties(2)},
            },
            "read n, create m": {"reads": (NameRead(b, "n"),), "lives": self.fresh(b, "m")},
            "read m, create n": {"reads": (NameRead(b, "m"),), "lives": self.fresh(b, "n")},
            "body": {"bodies": {(t, "schema", 1): b"one"}},
            "another body": {"bodies": {(t, "schema", 1): b"two"}},
        }

    def run(self, name, meanwhile=None):
        """How the change ends: its error, or nothing. `meanwhile` commits in the middle of it."""
        parts = dict(self.changes()[name])
        inner = []

        def fold(previous, first):
            if meanwhile and not inner:
                inner.append(None)
                inner[0] = self.run(meanwhile)
            return pb.TableHistory()

        trigger = DataChange(self.ground, new_id(), fold)
        parts["data"] = (*parts.get("data", ()), trigger)
        try:
            self.writer.commit(base=self.base, **parts)
        except LakebedError as error:
            return error.kind
        return "committed"


CHANGES = list(Scene(False).changes())


@pytest.mark.parametrize("branched", [False, True], ids=["on a trunk", "on a branch"])
@pytest.mark.parametrize("first", CHANGES)
def test_a_commit_in_the_middle_of_another_is_as_if_it_came_before(first, branched):
    step = examples(5 if branched else 3, 1)
    for second in CHANGES[CHANGES.index(first) % step :: step]:
        racing, serial = Scene(branched), Scene(branched)
        raced = racing.run(first, meanwhile=second)
        assert serial.run(second) == "committed"
        assert raced == serial.run(first), f"{second!r} in the middle of {first!r}"
        if raced == "committed":
            assert check(racing.store) == []
