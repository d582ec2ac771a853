"""A subspace: the part of the key space whose keys begin with one prefix."""

from dataclasses import dataclass
from typing import Any

from lakebed.errors import Invalid
from lakebed.store import tuples


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Subspace:
    """All keys that begin with `key`, which is `raw` and then the packed items."""

    key: bytes

    def __init__(self, prefix_items: tuple[Any, ...] = (), raw: bytes = b"") -> None:
        object.__setattr__(self, "key", raw + tuples.pack(prefix_items))

    def pack(self, items: tuple[Any, ...] = ()) -> bytes:
        """The key of a tuple in this subspace."""
        return self.key + tuples.pack(items)

    def pack_stamped(self, items: tuple[Any, ...]) -> tuple[bytes, int]:
        """The key of a tuple with one `Pending`, and the offset in the key of the ten bytes that the commit assigns."""
        key, offset = tuples.pack_stamped(items)
        return self.key + key, len(self.key) + offset

    def unpack(self, key: bytes) -> tuple[Any, ...]:
        """The tuple that `pack` turned into this key; `Invalid` for a key of another subspace."""
        if not self.contains(key):
            raise Invalid("the key is in another subspace", expected=f"{self.key.hex()}…", found=key[:64].hex())
        return tuples.unpack(key, len(self.key))

    def range(self, items: tuple[Any, ...] = ()) -> tuple[bytes, bytes]:
        """Begin and end of the keys of all longer tuples in this subspace that start with these items."""
        prefix = self.pack(items)
        return prefix + b"\x00", prefix + b"\xff"

    def contains(self, key: bytes) -> bool:
        """Whether the key begins with the prefix; the prefix itself does."""
        return key.startswith(self.key)

    __contains__ = contains  # without it, `in` would try subspace[0], subspace[1], … forever

    def subspace(self, items: tuple[Any, ...]) -> "Subspace":
        """The part of this subspace whose tuples start with these items."""
        return Subspace(items, self.key)

    def __getitem__(self, item: Any) -> "Subspace":
        """The part whose tuples start with this one item; as in FoundationDB, a tuple is one nested item."""
        return Subspace((item,), self.key)

    def __repr__(self) -> str:
        return f"Subspace(raw={self.key!r})"


def after(prefix: bytes) -> bytes:
    """The first key after all keys with the prefix; `Invalid` if there is none, as after FF FF."""
    head = prefix.rstrip(b"\xff")
    if not head:
        raise Invalid("no key comes after the prefix", expected="a byte other than FF", found=prefix.hex() or "nothing")
    return head[:-1] + bytes((head[-1] + 1,))
