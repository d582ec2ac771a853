"""Parts of checkpoints that are not what was written: the error names the check and the part, and no file is lost.

Each is the golden object with other bytes `put` in places, `cut`, or with some before (`shift`) or behind (`append`).
`directory` is where the top list says its directory is, and `files` how many files it says there are.
"""

import json
from pathlib import Path

import pytest

from lakebed.catalog.data.checkpoints import load_part
from lakebed.errors import Corrupt
from lakebed.table.manifest.manifest_pb2 import EntryLocation, Part
from tests.support.file_entries import plain_files

TESTS = Path(__file__).parents[2]
GOLDEN = json.loads((TESTS / "golden/column_object.json").read_text())
CORPUS = json.loads((TESTS / "corpus/checkpoint_parts.json").read_text())
KEY = "parts/a.part"


def damaged(case):
    data = bytearray.fromhex(GOLDEN["object"])
    for place, other in case.get("put", {}).items():
        found = bytes.fromhex(other)
        data[int(place) : int(place) + len(found)] = found
    return bytes(case.get("shift", 0)) + data[: case.get("cut")] + bytes.fromhex(case.get("append", ""))


def listed(case):
    offset, length, raw_length = case.get("directory", GOLDEN["directory"])
    entries = EntryLocation(key=KEY, offset=offset, length=length, raw_length=raw_length, shared=True)
    return Part(entries=entries, files=case.get("files", 3))


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["name"])
def test_the_corpus_stays_as_it_is(case, main):
    context = main._scope.context
    context.files.put(KEY, damaged(case))

    def read():
        columns = load_part(context, listed(case))
        return columns.files(range(columns.num_rows))

    if "check" in case:
        with pytest.raises(Corrupt, match=case["check"]) as caught:
            read()
        assert KEY in str(caught.value)
    else:
        assert read() == plain_files(3)


def test_a_part_that_is_not_there_is_named(main):
    with pytest.raises(Corrupt, match=f"{KEY}.*an entry can't be read"):
        load_part(main._scope.context, listed({}))
