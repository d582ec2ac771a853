"""An import that is killed at any write has done nothing that readers see, or all; called again, it does the rest."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lakebed
from tests.lake.imports.conftest import contents, rows

ROOT = Path(__file__).parents[3]


def killed(tmp_path: Path, call: str, **arguments: Any) -> list[Path]:
    """Copies of a lake in which the import was killed, before one write after the other; in the last one it ended."""
    template, folder = tmp_path / "template", tmp_path / "killed"
    with lakebed.connect(template, create=True, author="ada") as lake:
        lake.catalog().create_table("other", {"id": "long"}).append({"id": [1]})
    folder.mkdir()
    command = [sys.executable, f"{Path(__file__).parent}/killer.py", str(ROOT), str(template), str(folder), call]
    answer = subprocess.run([*command, json.dumps(arguments)], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return [folder / str(point) for point in range(int(answer.stdout) + 1)]


@pytest.mark.parametrize("copy", [False, True], ids=["in place", "in batches"])
def test_an_import_of_files(tmp_path: Path, source: Path, put: Any, copy: bool) -> None:
    for number in range(2):
        put(f"k={number}/a.parquet", {"id": [number, number + 10]})
    theirs = contents(source)
    expected = [(number + ten, number) for ten in (0, 10) for number in range(2)]
    in_files = {"write.inline-bytes": "0"}
    lakes = killed(tmp_path, "import_parquet", name="sales.t", path=str(source), copy=copy, properties=in_files)
    assert len(lakes) > (20 if copy else 3)
    seen = set[int]()
    for folder in lakes:
        with lakebed.connect(folder, author="ada") as lake:
            main = lake.catalog()
            before = len(rows(main.table("sales.t"))) if main.table_exists("sales.t") else 0
            assert before in (0, 4)
            seen.add(before)
            main.import_parquet("sales.t", source, copy=copy, properties=in_files)
            assert rows(main.table("sales.t")) == sorted(expected, key=repr)
            assert [branch.ref for branch in main.branches()] == ["main"]
            assert lake.check() == []
            assert rows(main.table("other")) == [(1,)]
    assert seen == {0, 4}
    assert contents(source) == theirs
