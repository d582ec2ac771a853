"""The files of a lake: what can't be made durable before a commit was not committed."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from lakebed import Catalog, OutcomeUnknown, Unavailable, connect
from lakebed.files import LakeFiles
from tests.files.test_local_refusals import everything, failing, is_folder


@pytest.mark.parametrize("name", ["fsync", "link"])
@pytest.mark.parametrize("call", ["put_if_absent", "create"])
def test_a_new_file_that_may_not_be_durable_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, call: str
) -> None:
    files = LakeFiles(tmp_path)
    failing(monkeypatch, name, errno.EIO, is_folder if name == "fsync" else lambda *_: True)
    if (name, call) == ("link", "create"):  # which links nothing
        return
    with pytest.raises(Unavailable, match="nothing was committed") as caught:
        if call == "create":
            with files.create("a") as file:
                file.write(b"x")
        else:
            files.put_if_absent("a", b"x")
    assert caught.value.subject == "a" and "EIO" in str(caught.value.found)
    assert everything(tmp_path) == []


CHANGES: dict[str, Callable[[Catalog], object]] = {
    "append": lambda main: main.table("t").append([{"id": 5}]),
    "delete": lambda main: main.table("t").delete("id = 1"),
    "update": lambda main: main.table("t").update({"id": "id + 10"}, where="id = 1"),
    "overwrite": lambda main: main.table("t").overwrite([{"id": 6}]),
    "compact": lambda main: main.table("t").compact(),
}


def test_a_change_whose_file_can_t_be_synced_into_its_folder_says_that_nothing_was_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What it did: it was OutcomeUnknown, although no commit was tried.
    with connect(tmp_path / "lake") as lake:
        main = lake.catalog()
        main.create_table(
            "t", {"id": "long"}, properties={"write.inline-bytes": "0", "write.row-changes": "copy-on-write"}
        )
        main.table("t").append([{"id": number} for number in range(3)])
        main.table("t").append([{"id": 3}])
        before = main.version, sorted(path.name for path in tmp_path.rglob("*.parquet"))
        for change in CHANGES.values():
            with monkeypatch.context() as patch:
                failing(patch, "fsync", errno.EIO, is_folder)
                with pytest.raises(Unavailable, match="nothing was committed"):
                    change(main)
            assert (main.version, sorted(path.name for path in tmp_path.rglob("*.parquet"))) == before
        assert lake.check() == []


def test_ids_that_could_not_be_taken_say_that_nothing_was_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OutcomeUnknown("the database failed while a commit was being written")

    with connect(tmp_path / "lake") as lake:
        table = lake.catalog().create_table("t", {"id": "long"})
        monkeypatch.setattr(lake._context.metastore._store, "run_idempotent", fail)
        with pytest.raises(Unavailable, match="nothing was committed"), table.evolve() as change:
            change.add_column("more", "long")
