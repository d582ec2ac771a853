"""A store of ordered, transactional key-values, and the loop that retries its transactions."""

import logging
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from types import TracebackType
from typing import Generic, Self, TypeVar

from lakebed.errors import Invalid, LakebedError, OutcomeUnknown, TimedOut, Unavailable
from lakebed.store.transaction import Committed, Stale, Transaction

T = TypeVar("T")

RUN_SECONDS = 10.0
LOSSES = 3  # after as many, a transaction runs while other writers wait

_log = logging.getLogger("lakebed.store")


@dataclass(frozen=True, slots=True)
class Ran(Generic[T]):
    """What a transaction's work returned, and its commit (None if it wrote nothing)."""

    value: T
    committed: Committed | None


class Store(ABC):
    """One ordered map from bytes to bytes, shared by many threads and processes."""

    url: str

    @abstractmethod
    def begin(self) -> Transaction: ...

    @abstractmethod
    def settle(self) -> None:
        """Wait until every commit that already has its time is visible or failed: later commits get later times."""

    def turn(self) -> AbstractContextManager[None]:
        """Keep other writers out, if the store can: for a transaction that lost to them. Those who wait get it in turn.

        `TimedOut` if another writer does not end.
        """
        return nullcontext()

    def copy_to(self, path: str) -> None:
        """Write the store's contents as of one moment to a new file, durably, while others go on writing.

        `Invalid` if it is not in a file that could be copied.
        """
        raise Invalid("this store can't be copied to a file", subject=self.url, advice="Use its own tools for backups.")

    def check(self) -> list[str]:
        """What is wrong with the form in which the backend keeps the store, one sentence each; empty if nothing is."""
        return []

    def set_times(self, times: Mapping[bytes, int]) -> None:
        """Give commits other times, by their stamps, all or none, durably. `Invalid` if times would then decrease."""
        raise Invalid("this store can't change the times of commits", subject=self.url)

    @abstractmethod
    def close(self) -> None:
        """Release files and connections. Closing twice is fine; using a closed store is `Invalid`."""

    def run(self, work: Callable[[Transaction], T], *, seconds: float = RUN_SECONDS) -> Ran[T]:
        """Run `work` in a transaction and commit it; retry while concurrent commits change what it read.

        After three losses it waits for its turn, in which nobody else can commit. `work` may run many times and must
        not act on anything but the transaction. Gives up after `seconds` with `Unavailable`. `OutcomeUnknown` is raised
        at once: only the caller knows whether running again is harmless.
        """
        return self._retry(work, seconds, (Stale, TimedOut))

    def run_idempotent(self, work: Callable[[Transaction], T], *, seconds: float = RUN_SECONDS) -> Ran[T]:
        """As `run`, but also retry an unknown outcome: for work that detects whether an earlier attempt took effect."""
        return self._retry(work, seconds, (Stale, TimedOut, OutcomeUnknown))

    def read(self, work: Callable[[Transaction], T], *, seconds: float = RUN_SECONDS) -> T:
        """Run `work` on one snapshot; its writes are discarded."""

        def attempt() -> T:
            with self.begin() as transaction:
                return work(transaction)

        return _until(attempt, seconds, (Stale, TimedOut), nullcontext)

    def _retry(self, work: Callable[[Transaction], T], seconds: float, again: tuple[type[Exception], ...]) -> Ran[T]:
        def attempt() -> Ran[T]:
            with self.begin() as transaction:
                value = work(transaction)
                return Ran(value, transaction.commit())

        return _until(attempt, seconds, again, self.turn)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_order(times: Sequence[int]) -> None:
    """Refuse times of commits that decrease."""
    for earlier, later in pairwise(times):
        if later < earlier:
            raise Invalid("times of commits never decrease", expected=f"at least {earlier}", found=later)


def _until(
    attempt: Callable[[], T],
    seconds: float,
    again: tuple[type[Exception], ...],
    turn: Callable[[], AbstractContextManager[None]],
) -> T:
    """Retry after the errors in `again`, for at most `seconds`.

    Once the outcome of an attempt is unknown, it stays unknown: later failures reveal nothing about it.
    """
    deadline = time.monotonic() + seconds
    tries = losses = 0
    unknown: OutcomeUnknown | None = None
    while True:
        try:
            with turn() if losses >= LOSSES else nullcontext():
                return attempt()
        except again as error:
            unknown = error if isinstance(error, OutcomeUnknown) else unknown
            tries += 1
            losses += isinstance(error, Stale)
            pause = 0.0 if losses >= LOSSES else _pause(tries)  # a turn is waited for in a queue
            _log.debug("attempt %d of a store transaction failed: %s", tries, error)
            if time.monotonic() + pause > deadline:
                if unknown is not None:
                    raise unknown from error
                if isinstance(error, Stale):
                    raise _given_up(tries, seconds) from error
                raise
        except LakebedError as error:
            if unknown is not None:
                raise unknown from error
            raise
        time.sleep(pause)


def _pause(tries: int) -> float:
    """No pause after the first loss, then random and growing, so that the losers do not collide again."""
    return 0.0 if tries == 1 else random.uniform(0, 0.0005 * 2 ** min(tries, 7))


def _given_up(tries: int, seconds: float) -> Unavailable:
    return Unavailable(
        f"a transaction lost to other writers {tries} times in {seconds:g} s; nothing was written",
        advice="Run it again, or have fewer writers change the same objects at once.",
    )
