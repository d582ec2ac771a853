"""Small steps that the tests of stores are made of."""

from collections.abc import Callable
from typing import Any

import pytest

from lakebed.errors import Invalid, LakebedError
from lakebed.store import Committed, KeyRange, Store, Transaction
from lakebed.store.transaction import STAMP_BYTES

EVERYTHING = KeyRange(b"", b"\xff")
STAMP = bytes(STAMP_BYTES)

Entries = list[tuple[bytes, bytes]]
Write = Callable[[Transaction], object]


def put(store: Store, **values: bytes | None) -> Committed:
    """Set the keys that the names mean; clear those whose value is None."""
    with store.begin() as transaction:
        for name, value in values.items():
            if value is None:
                transaction.clear(name.encode())
            else:
                transaction.set(name.encode(), value)
        return committed(transaction)


def committed(transaction: Transaction) -> Committed:
    answer = transaction.commit()
    assert answer is not None
    return answer


def state(store: Store) -> dict[bytes, bytes]:
    return store.read(lambda transaction: dict(transaction.get_range(EVERYTHING).entries))


def contents(transaction: Transaction) -> Entries:
    return transaction.get_range(EVERYTHING).entries


def getting(key: bytes) -> Write:
    return lambda transaction: transaction.get(key)


def setting(key: bytes, value: bytes = b"another") -> Write:
    return lambda transaction: transaction.set(key, value)


def ranging(range: KeyRange, **options: Any) -> Write:
    return lambda transaction: transaction.get_range(range, **options)


def refused(call: Callable[[], object], kind: type[LakebedError] = Invalid) -> None:
    with pytest.raises(kind):
        call()


def runs_again_when_its_snapshot_is_older_than_the_log(store: Store) -> None:
    """For stores with a log of commits, of at most 8 here: what is older can't be checked, so it runs again."""
    tries = 0

    def work(transaction: Transaction) -> None:
        nonlocal tries
        tries += 1
        transaction.get(b"a")
        if tries == 1:
            for _ in range(40):
                put(store, unrelated=b"1")
        transaction.set(b"b", b"1")

    store.run(work)
    assert tries == 2
    assert state(store) == {b"b": b"1", b"unrelated": b"1"}
