"""The deletion vectors of files: they only grow, are durable, are shared without harm, and damage is named."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile
from pyroaring import BitMap64

from lakebed.catalog.data.deletion_vectors import live_rows, read_vector, write_vectors
from lakebed.errors import Corrupt, Invalid
from lakebed.files import LocalFiles
from lakebed.table.manifest.deletion_vectors import encode_vector
from lakebed.table.manifest.delta import ADDED, EXISTING
from lakebed.table.manifest.manifest_pb2 import DataFileRef


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path)


class CountingFiles(LocalFiles):
    """Files that count how often each is read."""

    reads: list[tuple[str, int, int | None]]

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        self.reads.append((path, start, length))
        return super().read(path, start, length)


def entry(path: str = "d/a.parquet", rows: int = 100, **more: Any) -> DataFileRef:
    return DataFileRef(path=path, file_size=1, num_rows=rows, status=ADDED, **more)


def deleted(files: LocalFiles, file: DataFileRef, positions: Sequence[int]) -> DataFileRef:
    [changed] = write_vectors(files, "d", [(file, positions)])
    return changed


def held(files: LocalFiles, file: DataFileRef) -> list[int]:
    return list(read_vector(files, file) or ())


def test_a_file_without_a_vector_has_no_deleted_rows(files: LocalFiles) -> None:
    assert read_vector(files, entry()) is None
    assert live_rows(files, entry()) == 100


def test_deleted_rows_are_found_again_by_the_entry(files: LocalFiles) -> None:
    file = entry(first_row_id=7, key_min=b"k")
    changed = deleted(files, file, [5, 1, 5])
    assert held(files, changed) == [1, 5]
    assert (changed.deleted_rows, live_rows(files, changed), changed.status) == (2, 98, EXISTING)
    assert (changed.path, changed.first_row_id, changed.key_min) == (file.path, 7, b"k")
    assert not file.HasField("dv_path")
    assert changed.dv_length == len(encode_vector([1, 5]))


def test_all_vectors_of_a_call_are_in_one_file_that_pyiceberg_opens(files: LocalFiles) -> None:
    given = {f"d/{name}.parquet": [name, 2 * name + 1] for name in range(5)}
    changed = write_vectors(files, "d", [(entry(path), BitMap64(rows)) for path, rows in given.items()])
    [puffin] = {one.dv_path for one in changed}
    assert [one.path for one in files.list("d/")] == [puffin]
    found = deletion_vectors_from_puffin_file(PuffinFile(files.read(puffin)))
    assert {one.referenced_data_file: one.to_vector().to_pylist() for one in found} == {
        files.location(path): rows for path, rows in given.items()
    }
    assert [held(files, one) for one in changed] == list(given.values())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.lists(st.sets(st.integers(0, 99), min_size=1), min_size=1, max_size=5))
def test_a_vector_only_grows(files: LocalFiles, deletes: list[set[int]]) -> None:
    file, gone = entry(), set[int]()
    for positions in deletes:
        before = set(gone)
        gone |= positions
        if gone == before:
            assert write_vectors(files, "d", [(file, positions)]) == []
        else:
            file = deleted(files, file, sorted(positions))
        assert held(files, file) == sorted(gone)
        assert live_rows(files, file) == 100 - len(gone)


def test_nothing_new_writes_nothing(files: LocalFiles) -> None:
    changed = deleted(files, entry(), [3])
    before = [one.path for one in files.list()]
    assert write_vectors(files, "d", []) == []
    assert write_vectors(files, "d", [(changed, [3]), (entry("d/b.parquet"), [])]) == []
    [only] = write_vectors(files, "d", [(changed, [3]), (entry("d/b.parquet"), [4])])
    assert only.path == "d/b.parquet"
    assert len(before) + 1 == len(list(files.list()))


def test_a_file_of_which_nothing_is_left_is_told(files: LocalFiles) -> None:
    changed = deleted(files, entry(rows=3), [0, 2])
    assert live_rows(files, entry(rows=3)) == 3
    assert live_rows(files, changed) == 1
    assert live_rows(files, deleted(files, changed, [1])) == 0


def test_inline_rows_have_vectors_too(files: LocalFiles) -> None:
    changed = deleted(files, entry("inline:7", rows=3), [1])
    assert held(files, changed) == [1]
    [found] = deletion_vectors_from_puffin_file(PuffinFile(files.read(changed.dv_path)))
    assert found.referenced_data_file == "inline:7"


@pytest.mark.parametrize("positions", [[100], [-1], [1 << 40]])
def test_a_position_that_the_file_does_not_have_is_refused(files: LocalFiles, positions: list[int]) -> None:
    with pytest.raises(Invalid):
        write_vectors(files, "d", [(entry("d/b.parquet"), [1]), (entry(), positions)])
    assert list(files.list()) == []


def test_a_file_given_twice_is_refused(files: LocalFiles) -> None:
    with pytest.raises(Invalid, match="twice"):
        write_vectors(files, "d", [(entry(), [1]), (entry(), [2])])


def test_readers_share_what_none_of_them_can_change(tmp_path: Path) -> None:
    files = CountingFiles(tmp_path)
    files.reads = []
    changed = deleted(files, entry(), [1, 5])
    first, second = read_vector(files, changed), read_vector(files, changed)
    assert first is second
    assert first is not None
    own = BitMap64(first)
    own.add(7)
    first |= BitMap64([8])
    assert held(files, changed) == [1, 5]
    assert files.reads == [(changed.dv_path, changed.dv_offset, changed.dv_length)]
    grown = deleted(files, changed, [9])
    assert (held(files, changed), held(files, grown)) == ([1, 5], [1, 5, 9])


def test_many_threads_load_a_vector_once(tmp_path: Path) -> None:
    files = CountingFiles(tmp_path)
    files.reads = []
    changed = deleted(files, entry(), [1, 5])
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: held(files, changed), range(64)))
    assert found == [[1, 5]] * 64
    assert len(files.reads) == 1


def test_a_failed_load_is_tried_again(files: LocalFiles) -> None:
    changed = deleted(files, entry(), [1])
    whole = files.read(changed.dv_path)
    files.put(changed.dv_path, bytes(len(whole)))
    for _ in range(2):
        with pytest.raises(Corrupt):
            read_vector(files, changed)
    files.put(changed.dv_path, whole)
    assert held(files, changed) == [1]


def test_both_length_conventions_are_read(files: LocalFiles) -> None:
    blob = encode_vector([0, 5, 10])
    upstream = (len(blob) - 4).to_bytes(4, "big") + blob[4:]
    files.put("v", b"\1" + blob + upstream)
    iceberg = entry(dv_path="v", dv_offset=1, dv_length=46)
    delta = entry(dv_path="v", dv_offset=1, dv_length=38)
    document = entry(dv_path="v", dv_offset=47, dv_length=46)
    assert [held(files, one) for one in (iceberg, delta, document)] == [[0, 5, 10]] * 3
    assert [live_rows(files, one) for one in (iceberg, delta, document)] == [97] * 3


@pytest.mark.parametrize(
    ("place", "check"),
    [
        ({"dv_path": "v"}, "place"),
        ({"dv_path": "v", "dv_offset": 0}, "place"),
        ({"dv_path": "v", "dv_length": 46}, "place"),
        ({"dv_offset": 0, "dv_length": 46}, "place"),
        ({"dv_path": "", "dv_offset": 0, "dv_length": 46}, "place"),
        ({"dv_path": "v", "dv_offset": -1, "dv_length": 46}, "place"),
        ({"dv_path": "v", "dv_offset": 0, "dv_length": -1}, "place"),
        ({"dv_path": "v", "dv_offset": 0, "dv_length": 0}, "length"),
        ({"dv_path": "v", "dv_offset": 47, "dv_length": 46}, "place"),
        ({"dv_path": "v", "dv_offset": 1 << 40, "dv_length": 46}, "place"),
        ({"dv_path": "v", "dv_offset": 0, "dv_length": 47}, "place"),
        ({"dv_path": "v", "dv_offset": 0, "dv_length": 45}, "length"),
        ({"dv_path": "v", "dv_offset": 1, "dv_length": 45}, "length"),
        ({"dv_path": "gone", "dv_offset": 0, "dv_length": 46}, "place"),
        ({"dv_path": "../v", "dv_offset": 0, "dv_length": 46}, "place"),
        ({"dv_path": "cut", "dv_offset": 0, "dv_length": 38}, "place"),
        ({"dv_path": "magic", "dv_offset": 0, "dv_length": 46}, "magic"),
        ({"dv_path": "checksum", "dv_offset": 0, "dv_length": 46}, "checksum"),
        ({"dv_path": "v", "dv_offset": 0, "dv_length": 46, "deleted_rows": 2}, "number of positions"),
        ({"dv_path": "v", "dv_offset": 0, "dv_length": 46, "num_rows": 10}, "positions"),
    ],
)
def test_a_vector_that_is_not_as_it_was_is_corrupt_and_named(
    files: LocalFiles, place: dict[str, Any], check: str
) -> None:
    blob = encode_vector([0, 5, 10])
    harmed = {"cut": blob[:44], "magic": blob[:5] + b"\0" + blob[6:], "checksum": blob[:-1] + b"\0"}
    for path, data in {"v": blob, **harmed}.items():
        files.put(path, data)
    file = DataFileRef(**{"path": "d/a.parquet", "num_rows": 11, **place})
    with pytest.raises(Corrupt, match=f"damaged: {check}") as caught:
        read_vector(files, file)
    for part in (file.dv_path, str(file.dv_offset), str(file.dv_length), "d/a.parquet"):
        assert part in caught.value.subject
    with pytest.raises(Corrupt):
        write_vectors(files, "d", [(file, [1])])
    assert list(files.list("d/")) == []


def test_a_vector_is_durable_before_it_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        "os.fsync", lambda descriptor: synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
    )
    changed = deleted(LocalFiles(tmp_path), entry(), [1])
    assert synced[-2:] == [str(tmp_path / changed.dv_path), str(tmp_path / "d")]
