"""A lock that threads get in the order in which they asked for it."""

import threading
import time
from collections import deque
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A thread in the queue; its `turn` is released when it is its turn."""

    thread: int
    turn: threading.Lock = field(default_factory=threading.Lock)


class Turns:
    """A fair lock; the thread that has it may take it again.

    Python's own lock is not fair: of 200 threads that wrote at once, some never got it. Here a thread that releases it
    hands it to the one that has waited longest. Whoever takes it calls `note_progress` when it could do its work: while
    the queue moves, nobody in it gives up.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._mutex = threading.Lock()
        self._queue: deque[_Waiting] = deque()
        self._owner: int | None = None
        self._depth = 0
        self._progress = 0.0

    @property
    def depth(self) -> int:
        """How many times its owner has taken it."""
        return self._depth

    def note_progress(self) -> None:
        self._progress = time.monotonic()

    def deadline(self, began: float) -> float:
        """When a thread that waits since `began` gives up, on the monotonic clock."""
        return max(began, self._progress) + self._seconds

    def acquire(self, began: float) -> bool:
        """Take the lock; False if the deadline passed."""
        me = threading.get_ident()
        if self._owner == me:
            self._depth += 1
            return True
        with self._mutex:
            if self._owner is None:
                self._owner, self._depth = me, 1
                return True
            waiting = _Waiting(me)
            waiting.turn.acquire()
            self._queue.append(waiting)
        return self._wait(waiting, began)

    def release(self) -> None:
        """Hand it to the thread that has waited longest; does nothing in a thread that does not have it."""
        if self._owner != threading.get_ident():
            return
        self._depth -= 1
        if self._depth == 0:
            self._hand_over()

    def _wait(self, waiting: _Waiting, began: float) -> bool:
        try:
            while not waiting.turn.acquire(timeout=max(0.0, self.deadline(began) - time.monotonic())):
                if time.monotonic() >= self.deadline(began):
                    return not self._left(waiting)
        except BaseException:
            if not self._left(waiting):
                self._hand_over()
            raise
        return True

    def _left(self, waiting: _Waiting) -> bool:
        """Leave the queue; False if it was this thread's turn already."""
        with self._mutex:
            if waiting not in self._queue:
                return False
            self._queue.remove(waiting)
            return True

    def _hand_over(self) -> None:
        with self._mutex:
            if self._queue:
                following = self._queue.popleft()
                self._owner, self._depth = following.thread, 1
                following.turn.release()
            else:
                self._owner = None
