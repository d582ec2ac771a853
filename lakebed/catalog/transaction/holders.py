"""What holds a table's state: the table itself for its first edition, another edition's object for that edition.

    holder = the active edition's id, or the table's own    by name or by the table's handle
           | an edition's                                   by the edition's handle
           | the same, with a data cell that is not shown   by the handle of what is staged

Attributes, bodies and allocators are the holder's. Names and lives are the table's.
"""

from typing import cast

from lakebed.catalog.transaction.bound import Bound
from lakebed.catalog.transaction.line_view import LineView
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute

_TOGETHER = (Attribute.STORAGE, Attribute.PROPERTIES)
"""What is read at once: whoever looks for a table's holder mostly wants its properties next."""


def holder_of(view: LineView, table: str) -> str:
    """The holder of a table's state; another commit that activates an edition is a conflict."""
    asked = _asked(table)
    if isinstance(asked, Bound):
        return asked
    view.load((asked, attribute) for attribute in _TOGETHER)
    return _followed(asked, view.attribute(asked, Attribute.STORAGE))


def unread_holder(view: LineView, table: str) -> str:
    """The same without a conflict."""
    asked = _asked(table)
    if isinstance(asked, Bound):
        return asked
    view.load((asked, attribute) for attribute in _TOGETHER)
    return _followed(asked, view.unread_attribute(asked, Attribute.STORAGE))


def check_alive(view: LineView, table: str) -> None:
    """`NotFound` unless the table is alive, and the edition or what is staged, if it is bound to one."""
    view.path(str(table))
    if isinstance(table, Bound) and table.object_id != table and view.life(table.object_id) is not None:
        view.path(table.object_id)


def _asked(table: str) -> str:
    """What to look up: a table's id again, if the holder was found by it."""
    return table.via if isinstance(table, Bound) and table.via is not None else table


def _followed(table: str, storage: object) -> str:
    active = "" if storage is None else cast(pb.TableStorage, storage).active_edition_id
    return Bound(active, via=table) if active else table
