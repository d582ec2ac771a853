"""A whole manifest in its frame, as source document 003 has it, and its fields as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message

from lakebed.table.manifest import frame
from lakebed.table.manifest.manifest_pb2 import Manifest


@dataclass(frozen=True, slots=True)
class FramedManifest:
    """The manifest of one delta. `data` is the whole frame, `path` the name or location by which it is opened."""

    path: str
    data: bytes = field(repr=False)

    def __bytes__(self) -> bytes:
        return self.data

    def __len__(self) -> int:
        return len(self.data)

    @property
    def message(self) -> Manifest:
        """The protobuf message in the frame."""
        return frame.decode(self.data, self.path)

    def decoded(self) -> dict[str, Any]:
        """Its fields by the source document's names, the data files as a list of dicts; unset ones are left out.

        Numbers without a mark for being unset are always there: `status` 0 is an existing file, `level` 0 the first.
        """
        return plain_values(self.message)


def plain_values(message: Message) -> dict[str, Any]:
    """The fields of a message by name, nested messages as dicts; those that are unset or empty lists are left out."""
    values = {}
    for known in message.DESCRIPTOR.fields:
        value = getattr(message, known.name)
        if known.has_presence and not message.HasField(known.name):
            continue
        if known.is_repeated:
            value = dict(value) if isinstance(value, Mapping) else [_plain(element) for element in value]
            if value:
                values[known.name] = value
        else:
            values[known.name] = _plain(value)
    return values


def _plain(value: Any) -> Any:
    return plain_values(value) if isinstance(value, Message) else value
