"""Inline rows that are not what was written: the error names the check and the entry, and no row is lost or other.

Each case has the stored values of a body, and what its entry says of it; other entries, which are whole, lie beside it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from lakebed.arrow.read.scan import Scan, pruned_plan
from lakebed.catalog.data.row_sources import Sources
from lakebed.errors import Corrupt
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore
from lakebed.records import layout
from lakebed.store import MemoryStore, Transaction
from lakebed.store.tuples import pack_element
from lakebed.table.filter.bind import bind
from lakebed.table.manifest.inline import BODY_KIND, inline_path
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.schema import Schema, with_ids
from tests.support.sources import TABLE

CORPUS = json.loads((Path(__file__).parents[2] / "corpus/inline_rows.json").read_text())
WHOLE = CORPUS[0]
SCHEMA = with_ids(Schema({"id": "long", "name": "string"}), 0, 1)
ROWS = [{"id": 1, "name": "a"}, {"id": 2, "name": "bb"}, {"id": 3, "name": None}]


def scanned(folder: Path, cases: list[dict[str, Any]], where: str | None = None) -> Scan:
    """A scan of these entries, whose bodies are in a store as they are given."""

    def put(transaction: Transaction) -> None:
        for number, case in enumerate(cases):
            prefix = layout.body_prefix(TABLE, BODY_KIND, number)
            for place, part in enumerate(case["parts"]):
                transaction.set(prefix + pack_element(place), bytes.fromhex(part))

    store = MemoryStore()
    store.run(put)
    sources = Sources(LocalFiles(folder), TABLE, RecordsMetastore(store))
    planned = [PlannedFile(entry(number, case["file_size"], case["num_rows"])) for number, case in enumerate(cases)]
    filter = None if where is None else bind(where, SCHEMA)
    return Scan(sources, SCHEMA, pruned_plan(planned, filter), filter)


def entry(number: int, size: int, rows: int) -> DataFileRef:
    known = [ColumnStatistics(field_id=one.id, value_count=rows) for one in SCHEMA.fields]
    return DataFileRef(path=inline_path(number), file_size=size, num_rows=rows, statistics=known)


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["name"])
def test_the_corpus_stays_as_it_is(case: dict[str, Any], tmp_path: Path) -> None:
    scan = scanned(tmp_path, [WHOLE, case, WHOLE])
    if "check" in case:
        with pytest.raises(Corrupt, match=case["check"]) as caught:
            scan.to_arrow()
        assert "inline:1" in str(caught.value)
    else:
        assert scan.to_arrow().to_pylist() == 3 * ROWS


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["name"])
def test_rows_that_are_tested_are_checked_before(case: dict[str, Any], tmp_path: Path) -> None:
    scan = scanned(tmp_path, [WHOLE, case], "id > 1")
    if "check" in case:
        with pytest.raises(Corrupt, match="inline:1"):
            scan.count()
    else:
        assert scan.count() == 4
