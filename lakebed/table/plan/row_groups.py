"""The blocks of a data file, which are its row groups: which of them can have a row that a filter keeps."""

from lakebed.errors import Invalid
from lakebed.table.filter.filter import Filter, leaves_of
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.pruning import may_match
from lakebed.table.schema.schema import Schema


def block_matches(filter: Filter, file: DataFileRef, written: Schema | None = None) -> tuple[int, ...] | None:
    """The numbers of the row groups that may match; None if the entry lists none, as of a file that has but one.

    `written` is as in `may_match`.
    """
    if not file.blocks:
        return None
    entries = (block_entry(filter, file, number) for number in range(len(file.blocks)))
    return tuple(number for number, entry in enumerate(entries) if may_match(filter, entry, written))


def block_entry(filter: Filter, file: DataFileRef, number: int) -> DataFileRef:
    """A row group as if it were a file of its own, with what the filter asks for; a file without blocks is one."""
    if not file.blocks and number == 0:
        return file
    if not 0 <= number < len(file.blocks):
        raise Invalid(
            "a file has no such row group", subject=file.path, expected=f"below {len(file.blocks)}", found=number
        )
    block, asked = file.blocks[number], {leaf.field.id for leaf in leaves_of(filter)}
    known = [one for one in block.columns if one.field_id in asked]
    # A column that lacks may be younger than the file, and only all others tell.
    statistics = known if len(known) == len(asked) else block.columns
    return DataFileRef(path=file.path, num_rows=block.num_rows, statistics=statistics)
