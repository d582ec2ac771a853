"""Loads what a lake needs before children are forked: each of them would take a second to load it by itself."""

import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path

import lakebed
from torture.children import in_child


@cache
def warm_up() -> None:
    """Import, in this process, all that a small lake's life imports in a child."""
    with tempfile.TemporaryDirectory() as folder:
        ended = in_child(lambda: _modules(Path(folder)))
    assert not ended.trouble, ended.trouble
    for name in ended.answer:
        if name not in sys.modules and name.partition(".")[0] in _WORTH:
            import_module(name)


_WORTH = ("lakebed", "pyarrow", "sqlglot", "numpy", "apsw", "google_crc32c", "pyroaring", "mmh3", "pandas", "uuid")


def _modules(folder: Path) -> list[str]:
    with lakebed.connect(folder / "lake") as lake:
        main = lake.catalog()
        table = main.create_table("t", {"id": "long", "v": "long"}, primary_key=["id"], partition_by=["bucket(2, id)"])
        for inline in ("64000", "0"):
            table.set_properties({"write.inline-bytes": inline})
            table.append([{"id": 1, "v": 1}])
            table.upsert([{"id": 1, "v": 2}, {"id": 2, "v": 2}])
            table.update({"v": "v + 1"}, "id % 3 = 1")
            table.overwrite([{"id": 9, "v": 9}], "id % 2 = 0")
            table.delete("id % 2 = 1")
        table.get(1)
        dev = main.create_branch("dev")
        dev.table("t").append([{"id": 77, "v": 1}])
        main.merge(dev)
        main.inspect("__branches")
        table.checkpoint()
        table.compact()
        lake.check(deep=True)
        lake.backup(folder / "backup")
    return sorted(sys.modules)
