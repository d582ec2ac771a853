"""A plan in words: what each step of it cut, and why not more."""

from collections.abc import Iterator
from dataclasses import replace

from lakebed.table.filter.filter import leaves_of
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.plan import ZONE_MAPS, Cut, Plan


def plan_text(plan: Plan) -> str:
    """One line for all, then one for each step, in the order of the steps."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    files, blocks = _many(plan.total_files, "file"), _many(plan.total_blocks, "row group")
    yield f"reads {len(plan.files)} of {files}, {plan.blocks} of {blocks}"
    for step, cut in plan.cuts.items():
        reasons = [cut.reason, *(_unbounded(plan) if step == ZONE_MAPS else ())]
        yield f"{step}: {_cut_text(replace(cut, reason='; '.join(filter(None, reasons))))}"


def _unbounded(plan: Plan) -> Iterator[str]:
    """What is not known of the files that are left."""
    tested = {} if plan.filter is None else {one.field.id: one.field for one in leaves_of(plan.filter)}
    for field in tested.values():
        count = sum(1 for one in plan.files if not _is_known(one.file, field.id))
        if count:
            yield f"{_many(count, 'file')} without statistics of {field.name}"


def _is_known(file: DataFileRef, field_id: int) -> bool:
    return any(
        one.field_id == field_id and (one.HasField("lower") or one.HasField("null_count")) for one in file.statistics
    )


def _cut_text(cut: Cut) -> str:
    text = f"cut {_many(cut.files, 'file')}, {_many(cut.blocks, 'row group')}"
    return f"{text}; {cut.reason}" if cut.reason else text


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
