"""Pages of long answers, and the tokens that ask for the next one.

token = base64url(question ‖ version ‖ position ‖ CRC-32)      the question is 8 bytes of BLAKE2b
"""

import base64
import binascii
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Generic, TypeVar

from lakebed.errors import Invalid
from lakebed.store import Version

T = TypeVar("T")

LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items, and the token of the next page (None on the last)."""

    items: list[T]
    token: str | None


def every(ask: Callable[..., Page[T]]) -> Iterator[T]:
    """The items of all pages."""
    token: str | None = None
    while True:
        page = ask(token=token)
        yield from page.items
        token = page.token
        if token is None:
            return


@dataclass(frozen=True, slots=True)
class Question:
    """What is being paged through: a token is valid only for the same question to the same lake."""

    parts: tuple[object, ...]

    def token(self, version: Version, position: bytes) -> str:
        body = self._digest() + version + position
        return base64.urlsafe_b64encode(body + zlib.crc32(body).to_bytes(4)).decode().rstrip("=")

    def open(self, token: str) -> tuple[Version, bytes]:
        """The version and position that a token stands for."""
        try:
            data = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            data = b""
        if len(data) < 24 or zlib.crc32(data[:-4]) != int.from_bytes(data[-4:]):
            raise Invalid("a page token is damaged", subject=repr(token), advice="Begin again without a token.")
        if data[:8] != self._digest():
            raise Invalid(
                "this page token belongs to another listing", subject=repr(token), advice="Begin again without a token."
            )
        return Version(data[8:20]), data[20:-4]

    def _digest(self) -> bytes:
        return blake2b(repr(self.parts).encode(), digest_size=8).digest()


def check_limit(limit: int) -> int:
    if not 1 <= limit <= LIMIT:
        raise Invalid("the limit of a page is out of range", expected=f"1 to {LIMIT:,}", found=limit)
    return limit
