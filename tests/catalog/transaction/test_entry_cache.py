"""Entries through the cache: one read for all who ask, and `Corrupt` with the place for what is not there."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import numpy
import pytest

from lakebed.catalog.transaction import entry_cache
from lakebed.catalog.transaction.entry_cache import EntryCache
from lakebed.errors import Corrupt, Unavailable
from lakebed.files import LocalFiles
from lakebed.table.entries.columns import columns_of
from lakebed.table.entries.object import pack
from lakebed.table.entries.segments import meta_info
from lakebed.table.manifest.io_entry import encode_entry
from lakebed.table.manifest.locations import Location
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from tests.support.file_entries import plain_files


class CountingFiles(LocalFiles):
    """Files that remember what was read of them, and can fail."""

    def __init__(self, root):
        super().__init__(root)
        self.reads = []
        self.failures = 0

    def read(self, path, start=0, length=None):
        self.reads.append((path, start, length))
        if self.failures:
            self.failures -= 1
            raise Unavailable("the network is down")
        return super().read(path, start, length)


@pytest.fixture
def files(tmp_path):
    return CountingFiles(tmp_path / "files")


def put_columns(files, live, key="columns/a"):
    packed = pack(columns_of(live), key)
    path = Path(files.location(key))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed.data)  # not put: a thousand of them need not be synced
    return packed.directory


def put_entries(files, payloads, key="entries/a"):
    """One object with these entries, and where each is."""
    entries = [encode_entry(one) for one in payloads]
    files.put(key, entries)
    ends = numpy.cumsum([len(one) for one in entries]).tolist()
    return [
        Location(key, end - len(entry), len(entry), len(payload))
        for end, entry, payload in zip(ends, entries, payloads, strict=True)
    ]


def test_an_entry_is_read_once_by_threads_that_ask_at_the_same_time(files):
    [location] = put_entries(files, [b"payload" * 1000])
    entries, barrier = EntryCache(files), Barrier(16)

    def ask(_):
        barrier.wait()
        return entries.read(location)

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(ask, range(16)))
    assert {id(one) for one in found} == {id(found[0])}
    assert found[0].to_pybytes() == b"payload" * 1000
    assert len(files.reads) == 1
    assert (entries.counts().loads, entries.counts().hits) == (1, 15)


def test_places_in_one_object_are_different_entries(files):
    places = put_entries(files, [b"one", b"two", b"one"])
    entries = EntryCache(files)
    assert [entries.read(one).to_pybytes() for one in (*places, *places)] == [b"one", b"two", b"one"] * 2
    assert len(files.reads) == 3


def test_a_failed_read_is_not_kept(files):
    [location] = put_entries(files, [b"payload"])
    entries = EntryCache(files)
    files.failures = 2
    for _ in range(2):
        with pytest.raises(Unavailable):
            entries.read(location)
    assert entries.read(location).to_pybytes() == b"payload"


@pytest.mark.parametrize("place", [(0, 200), (31, 10), (1000, 10), (1, 31)])
def test_a_place_that_is_not_in_the_object_is_corrupt(files, place):
    [location] = put_entries(files, [b"payload"])
    assert location.length == 31
    wrong = Location(location.key, *place, location.raw_length)
    with pytest.raises(Corrupt, match=f"entries/a at {place[0]}, {place[1]} bytes"):
        EntryCache(files).read(wrong)


def test_an_object_that_vanished_is_corrupt(files):
    with pytest.raises(Corrupt, match=r"gone at 0, 10 bytes: an entry can't be read"):
        EntryCache(files).read(Location("gone", 0, 10, 10))
    with pytest.raises(Corrupt, match="gone at 0, 38 bytes"):
        EntryCache(files).columns(Location("gone", 8, 30, 30))


def test_a_thousand_files_that_share_their_metadata_take_one_read(files):
    live = plain_files(1000, columns=1)
    shared = put_columns(files, live)
    alone = [put_columns(files, [one], f"columns/{number}") for number, one in enumerate(live)]

    entries = EntryCache(files)
    together = entries.columns(shared)
    assert together.files(range(1000)) == live
    assert len(files.reads) == 1

    files.reads.clear()
    apart = [entries.columns(one) for one in alone]
    for name in ("path", "lower.1", "num_rows"):
        assert [one.column(name)[0] for one in apart] == list(together.column(name))
    assert len(files.reads) == 1000


def test_shared_or_alone_a_file_is_the_same_and_its_deletes_are_where_they_were(files):
    live = plain_files(20)
    live[3].file.MergeFrom(DataFileRef(dv_path="deletes.puffin", dv_offset=4, dv_length=46))
    shared = put_columns(files, live)
    alone = [put_columns(files, [one], f"columns/{number}") for number, one in enumerate(live)]
    entries = EntryCache(files)
    together = entries.columns(shared).files(range(20))
    apart = [entries.columns(one).files([0])[0] for one in alone]
    assert together == apart == live
    found = [meta_info(one.file, shared) for one in together]
    assert found == [replace(meta_info(one.file, place), base=shared) for one, place in zip(apart, alone, strict=True)]
    assert [one.delta for one in found if one.delta] == [Location("deletes.puffin", 4, 46, 46)]


def test_a_large_object_is_read_column_by_column(files, monkeypatch):
    monkeypatch.setattr(entry_cache, "WHOLE_BYTES", 100)
    live = plain_files(50)
    entries = EntryCache(files)
    columns = entries.columns(put_columns(files, live))
    assert len(files.reads) == 1
    for _ in range(2):
        assert columns.column("lower.1").to_pylist() == [one.file.statistics[0].lower for one in live]
        assert columns.column("upper.2").to_pylist() == [one.file.statistics[1].upper for one in live]
    assert len(files.reads) == 3
    assert columns.files([7, 3]) == [live[7], live[3]]


def test_what_one_reader_makes_of_a_column_another_does_not_see(files):
    entries, directory = EntryCache(files), put_columns(files, plain_files(50))
    mine = entries.columns(directory).column("num_rows").to_numpy().copy()
    mine -= 3
    entries.columns(directory).files([4])[0].file.num_rows = 0
    assert entries.columns(directory).column("num_rows").to_pylist() == [10] * 50
    assert entries.columns(directory).files([4])[0].file.num_rows == 10
    with pytest.raises(ValueError, match="read-only"):
        entries.columns(directory).column("num_rows").to_numpy()[0] = 1


def test_a_bounded_cache_answers_the_same(files):
    live = plain_files(200)
    entries, directory = EntryCache(files, cache_bytes=3000), put_columns(files, live)
    for _ in range(2):
        assert entries.columns(directory).files(range(200)) == live
        assert entries.counts().bytes <= 3000
    assert entries.counts().evictions


def test_a_directory_that_leads_outside_its_object_is_corrupt(files):
    packed = pack(columns_of(plain_files(2)), "columns/a")
    short = packed.data[packed.directory.offset :]
    files.put("columns/a", short)
    moved = Location("columns/a", 0, packed.directory.length, packed.directory.raw_length, shared=True)
    with pytest.raises(Corrupt, match="beyond its object"):
        EntryCache(files).columns(moved).files([0])
