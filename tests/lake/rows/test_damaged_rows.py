"""Files and bodies that are not what was written: an error that names them, or the right rows; never others."""

import random
import shutil
from uuid import uuid4

import pyarrow
import pytest

import lakebed
from lakebed import Corrupt, LakebedError, NotFound
from lakebed.catalog.transaction import pending_delta
from lakebed.records import layout
from lakebed.records.layout import PREFIX, Space
from lakebed.store import SQLiteStore
from lakebed.table.manifest.inline import BODY_KIND

pytestmark = pytest.mark.sampled(2)

SCHEMA = {"id": "long", "place": "string", "amount": "double"}
FLIPS = 5  # of each file, spread over it


def rows(*ids):
    return pyarrow.table(
        {
            "id": pyarrow.array(ids, pyarrow.int64()),
            "place": [f"place {number % 7}" for number in ids],
            "amount": [number * 0.5 for number in ids],
        }
    )


def shown(table):
    return sorted(table.scan().to_arrow().to_pylist(), key=lambda one: one["id"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A lake with files of every kind, and its rows."""
    folder = tmp_path_factory.mktemp("whole") / "lake"
    with pytest.MonkeyPatch.context() as patch, lakebed.connect(folder, author="ada") as lake:
        patch.setattr(pending_delta, "INLINE_BYTES", 10)  # so that manifests are files
        table = lake.catalog().create_table(
            "t", SCHEMA, primary_key=["id"], properties={"write.inline-bytes": "0", "checkpoint.deltas": "0"}
        )
        table.append(rows(*range(100)))
        table.append(rows(*range(100, 200)))
        table.delete("id in (3, 55, 103)")
        table.checkpoint()
        table.append(rows(*range(200, 250)))
        table.delete("id in (7, 211)")
        table.set_properties({"write.inline-bytes": "64000"})
        table.append(rows(*range(300, 310)))
        table.append(rows(*range(310, 320)))
        expected = shown(table)
    assert len(expected) == 265
    return folder, expected


@pytest.fixture
def copies(whole, tmp_path):
    """Copies of the lake, one by one: caches know it by its folder."""

    def copies():
        return shutil.copytree(whole[0], tmp_path / str(uuid4()))

    return copies


def kinds(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "catalog.db" not in path.name:
            found.setdefault(path.suffix, []).append(path.relative_to(folder))
    return found


def damages(data, chance):
    yield b""
    yield data[: len(data) // 2]
    yield data[:-1]
    yield data + b"\0"
    yield data[1:]
    yield bytes(len(data))
    yield bytes(reversed(data))
    for place in sorted(chance.sample(range(len(data)), min(FLIPS, len(data)))):
        yield data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]


CALLS = {
    "scan": lambda table: None,
    "count": lambda table: table.scan().count(),
    "delete": lambda table: table.delete("amount = 27.0 or place = 'place 3'"),
    "upsert": lambda table: table.upsert(rows(54, 205, 999)),
    "compact": lambda table: table.compact(),
}


def effect(call, expected):
    """What the call makes of the rows, if it is not refused."""
    if call == "delete":
        return [one for one in expected if one["amount"] != 27.0 and one["place"] != "place 3"]
    if call == "upsert":
        new = {one["id"]: one for one in rows(54, 205, 999).to_pylist()}
        return sorted({**{one["id"]: one for one in expected}, **new}.values(), key=lambda one: one["id"])
    return expected


def is_found(folder, expected, name, call):
    """Whether reading tells `Corrupt` with the name of what is damaged; else the rows have to be right.

    A call that is refused changes nothing.
    """
    with lakebed.connect(folder) as lake:
        table = lake.catalog().table("t")
        before = lake.catalog().version
        try:
            answer = CALLS[call](table)
        except LakebedError as error:
            assert_told(error, name)
            assert lake.catalog().version == before
        else:
            assert call != "count" or answer == len(expected)
            expected = effect(call, expected)
        try:
            found = shown(table)
        except LakebedError as error:
            assert_told(error, name)
            return True
    assert found == expected
    return False


def assert_told(error, name):
    assert isinstance(error, Corrupt | NotFound), repr(error)
    assert name in str(error), str(error)


KINDS = [".parquet", ".puffin", ".entries", ".manifest"]


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_found_by_those_who_read_them(whole, copies, kind):
    folder, expected = whole
    chance, calls = random.Random(kind), list(CALLS)
    paths = kinds(folder)[kind]
    found = tried = 0
    for path in paths:
        for data in damages((folder / path).read_bytes(), chance):
            place = copies()
            (place / path).write_bytes(data)
            found += is_found(place, expected, path.name, calls[tried % len(calls)])
            tried += 1
            shutil.rmtree(place)
    assert found >= tried / 8, "many are of vectors that were replaced, or are in a checkpoint too"


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", KINDS)
def test_files_that_are_gone_are_named(whole, copies, kind, call):
    folder, expected = whole
    for path in kinds(folder)[kind]:
        place = copies()
        (place / path).unlink()
        is_found(place, expected, path.name, call)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", [".parquet", ".puffin"])
def test_files_that_are_those_of_others_are_found(whole, copies, kind, call):
    folder, expected = whole
    paths = kinds(folder)[kind]
    for number, path in enumerate(paths):
        place = copies()
        shutil.copyfile(folder / paths[number - 1], place / path)
        is_found(place, expected, path.name, call)


@pytest.mark.parametrize("call", CALLS)
def test_damaged_inline_rows_are_found(whole, copies, call):
    folder, expected = whole
    chance = random.Random(call)
    with SQLiteStore(folder / "catalog.db") as store:
        every = store.read(lambda one: one.snapshot.get_range(layout.prefix_range(PREFIX[Space.BODY])).entries)
    bodies = [(key, body) for key, body in every if layout.name_element(BODY_KIND) in key]
    assert len(bodies) == 2
    for key, body in bodies:
        for data in damages(body, chance):
            place = copies()
            with SQLiteStore(place / "catalog.db") as store:
                store.run(lambda one, key=key, data=data: one.set(key, data))
            assert is_found(place, expected, "inline:", call)
            shutil.rmtree(place)
