"""What the entries of files list: the statistics of columns, the values of a partition."""

from collections.abc import Collection
from functools import cached_property

import numpy
from google.protobuf.message import Message

from lakebed.table.entries.layout import Layouts, layouts_of
from lakebed.table.entries.protobuf import Fields, Mask, Numbers, Places, Slices, tags_of


class EntryList:
    """One of the lists that entries have, of all entries: messages with a `field_id`."""

    def __init__(self, entries: Fields, tag: int, kind: type[Message], columns: Collection[str], rows: int) -> None:
        self._rows = rows
        tags = tags_of(kind)
        self._tags = {name: tags[name] for name in ("field_id", *columns)}
        self._known_places: dict[int, Places] = {}
        self._owners, self._messages = entries.repeated(tag)
        self._fields = Fields(self._messages)
        self._ids = self._fields.numbers(self._tags["field_id"]).values

    @cached_property
    def layouts(self) -> Layouts:
        """Which ids each entry lists, in what order."""
        return layouts_of(self._owners, self._ids, self._rows)

    def numbers(self, field: str, field_id: int) -> Numbers:
        """A field of what each entry lists first under the id."""
        return self._fields.numbers(self._tags[field]).at(self._places(field_id))

    def slices(self, field: str, field_id: int) -> Slices:
        """The same, for a field of bytes."""
        return self._fields.slices(self._tags[field]).at(self._places(field_id))

    def is_irregular(self) -> Mask:
        """Which entries list fields that are no columns, or one id twice."""
        layouts = self.layouts
        irregular = numpy.array([len(set(ids)) < len(ids) for ids in layouts.lists], numpy.bool_)[layouts.of_row]
        irregular[self._owners[self._fields.others(set(self._tags.values()))]] = True
        return irregular

    def _places(self, field_id: int) -> Places:
        """Where each entry lists the id first; below zero where it does not."""
        if field_id not in self._known_places:
            found = numpy.flatnonzero(self._ids == field_id)[::-1]
            places = numpy.full(self._rows, -1, numpy.int64)
            places[self._owners[found]] = found  # backwards: of several that are given to one row, the last stays
            self._known_places[field_id] = places
        return self._known_places[field_id]
