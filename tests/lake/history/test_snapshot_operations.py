"""What a snapshot is called, as Iceberg does: in `__snapshots`, in documents and in exports."""

import json
from pathlib import Path

import pyarrow
import pytest

pytestmark = pytest.mark.usefixtures("in_files")  # inline rows can't be exported


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def operations(main):
    return main.inspect("__snapshots", columns=["operation"])["operation"].to_pylist()


OPERATIONS = {
    "append": (lambda table: table.append(numbers(9)), "APPEND"),
    "append of nothing": (lambda table: table.append(numbers()), "APPEND"),
    "delete by vectors": (lambda table: table.delete("id = 1"), "DELETE"),
    "delete of whole files": (lambda table: table.delete("id >= 5"), "DELETE"),
    "delete of both": (lambda table: table.delete("id in (1, 5, 6)"), "DELETE"),
    "delete of nothing": (lambda table: table.delete("id = 99", event_id="e" * 32), "DELETE"),
    "truncate": (lambda table: table.truncate(), "DELETE"),
    "update": (lambda table: table.update({"id": "id + 10"}, "id = 1"), "OVERWRITE"),
    "upsert of what is there": (lambda table: table.upsert(numbers(1)), "OVERWRITE"),
    "upsert of what is new": (lambda table: table.upsert(numbers(9)), "APPEND"),
    "overwrite": (lambda table: table.overwrite(numbers(9), "id = 1"), "OVERWRITE"),
    "compact": (lambda table: table.compact(), "REPLACE"),
}


@pytest.mark.parametrize("call", OPERATIONS)
def test_a_snapshot_has_the_operation_that_iceberg_gives_it(main, call):
    """As RowDelta has it: what only deletes is a delete, by vectors too; it used to be an overwrite."""
    table = main.create_table("t", {"id": "long"}, primary_key=["id"])
    table.append(numbers(1, 2, 3, 4))
    table.append(numbers(5, 6))
    change, operation = OPERATIONS[call]
    change(table)
    assert operations(main)[-1] == operation
    snapshot = table.snapshots()[0].id
    assert table.describe().snapshot(snapshot)["operation"] == operation.lower()
    found = json.loads(Path(table.export_iceberg().removeprefix("file://")).read_text())
    assert found["snapshots"][-1]["summary"]["operation"] == operation.lower()


def test_a_revert_of_a_delete_by_vectors_is_no_delete(main):
    """Its vector gives rows back."""
    table = main.create_table("t", {"id": "long"})
    table.append(numbers(1, 2, 3))
    main.revert(table.delete("id = 2"))
    assert operations(main)[-2:] == ["DELETE", "OVERWRITE"]
