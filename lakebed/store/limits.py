"""FoundationDB's limits, enforced on every backend, so that nothing works on a laptop and fails at scale."""

from lakebed.errors import Invalid, TooLarge
from lakebed.store.transaction import KeyRange

KEY_BYTES = 10_000
VALUE_BYTES = 100_000
TRANSACTION_BYTES = 10_000_000
TRANSACTION_SECONDS = 5.0


def check_key(key: bytes) -> None:
    if not isinstance(key, bytes) or len(key) > KEY_BYTES:
        raise _unfit("a key", key, KEY_BYTES)


def check_range(range: KeyRange) -> None:
    """Allow one byte more than for a key: a range may end right after the longest key."""
    for key in (range.begin, range.end):
        if not isinstance(key, bytes) or len(key) > KEY_BYTES + 1:
            raise _unfit("an end of a range", key, KEY_BYTES + 1)


def check_value(key: bytes, value: bytes) -> None:
    if not isinstance(value, bytes) or len(value) > VALUE_BYTES:
        error = _unfit("a value", value, VALUE_BYTES)
        error.subject = shown(key)
        error.advice = "Split it, or put it in a file that the record points to."
        raise error


def check_transaction(size: int) -> None:
    if size > TRANSACTION_BYTES:
        raise TooLarge(
            "a transaction is too large; nothing was written",
            expected=f"at most {TRANSACTION_BYTES:,} bytes",
            found=f"{size:,} so far",
            advice="Split the work into several transactions.",
        )


def _unfit(what: str, value: object, most: int) -> Invalid:
    if not isinstance(value, bytes):
        # SQLite would also accept text, and sort it before all keys.
        return Invalid(f"{what} is not bytes", expected="bytes", found=type(value).__name__)
    expected, found = f"at most {most:,} bytes", f"{len(value):,}"
    return TooLarge(f"{what} is too long", subject=shown(value), expected=expected, found=found)


def shown(key: bytes) -> str:
    """The key as it appears in an error."""
    text = key[:32].hex()
    return f"key {text}…" if len(key) > 32 else f"key {text}"
