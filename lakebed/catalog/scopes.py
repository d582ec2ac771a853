"""What a handle works on: a line as it goes on, a line at a version, or a transaction."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from typing import Protocol

from lakebed.catalog.commits import Commit, Request, check_event_id, commit_of
from lakebed.catalog.home import Home, Ref
from lakebed.catalog.work import Work
from lakebed.errors import AlreadyExists, Conflict, Forbidden, Invalid, LakebedError, NotFound, OutcomeUnknown
from lakebed.metastore import Commit as StoredCommit
from lakebed.metastore import new_id
from lakebed.store import Version

ATTEMPTS = 20
"""Each is lost only to another commit that took effect, so somebody gets on."""

Do = Callable[[Work], None]


class Scope(Protocol):
    """Reads and changes of a handle go through its scope."""

    @property
    def home(self) -> Home: ...

    @property
    def ref(self) -> Ref: ...

    def read(self) -> Work:
        """The state to read."""

    def change(self, do: Do, request: Request, seen: Work | None = None) -> Commit | None:
        """Make a change, on what the caller has `seen` of the line if that still holds.

        None if it waits for the end of a transaction.
        """

    def replayed(self, request: Request) -> Commit | None:
        """The commit that this very call made earlier, if its event id is known; `Invalid` if that was another call."""


@dataclass(frozen=True, slots=True)
class Live:
    """A line as it goes on: every call sees the newest state, and a change that lost a race is made again on it."""

    home: Home
    ref: Ref

    def read(self) -> Work:
        return Work(self.home, self.ref)

    def change(self, do: Do, request: Request, seen: Work | None = None) -> Commit:
        known = self.replayed(request)
        if known is not None:
            return known
        event = new_id() if request.event_id is None else check_event_id(request.event_id)
        try:
            return self._attempts(do, request, event, seen)
        except LakebedError:
            # The same call may have been made by somebody else meanwhile, and its effect be what this one met.
            known = self.replayed(request)
            if known is None:
                raise
            return known

    def _attempts(self, do: Do, request: Request, event: str, seen: Work | None) -> Commit:
        for _ in range(ATTEMPTS - 1):
            try:
                return self._attempt(do, request, event, seen)
            except Conflict:
                seen = None
        return self._attempt(do, request, event, seen)

    def _attempt(self, do: Do, request: Request, event: str, seen: Work | None) -> Commit:
        work = seen or self.read()
        do(work)
        return commit_of(_committed(work, request, event))

    def replayed(self, request: Request) -> Commit | None:
        stored = find_replayed(self.home, self.ref, request)
        return None if stored is None else commit_of(stored)


@dataclass(frozen=True, slots=True)
class Pinned:
    """A line at a version: it can be read for ever and never written."""

    home: Home
    ref: Ref
    version: Version

    def read(self) -> Work:
        return Work(self.home, self.ref, self.version)

    def change(self, do: Do, request: Request, seen: Work | None = None) -> Commit:
        raise self._refusal(request)

    def replayed(self, request: Request) -> Commit | None:
        raise self._refusal(request)

    def _refusal(self, request: Request) -> Forbidden:
        return Forbidden(
            f"{request.operation.replace('_', ' ')} can't change the past",
            subject=f"a handle at version {self.version}",
            advice="Use the handle without at(…), or create a branch at this version and write there.",
        )


class Open:
    """A transaction: reads see what it did, and all of it commits at its end, or nothing.

    It begins once and ends once. What it wrote and did not commit is taken away again.
    """

    def __init__(self, home: Home, ref: Ref, request: Request) -> None:
        self.home = home
        self.ref = ref
        self._request = request
        self._event = new_id() if request.event_id is None else check_event_id(request.event_id)
        self._known: StoredCommit | None = None
        self._work: Work | None = None
        self._begun = False
        self._lock = RLock()  # threads may write files side by side; what they add to the work comes one by one

    def begin(self) -> None:
        """Take the newest version as the base; of a transaction that comes again, the base that it had."""
        if self._begun:
            raise Invalid("a transaction is used twice", subject=self._subject, advice="Begin another one.")
        self._begun = True
        self._known = find_replayed(self.home, self.ref, self._request)
        self._work = Work(self.home, self.ref, None if self._known is None else self._known.base)

    def read(self) -> Work:
        if self._work is None:
            problem = "the transaction is over" if self._begun else "the transaction has not begun"
            raise Invalid(problem, subject=self._subject, advice="Use it inside its `with`.")
        return self._work

    def change(self, do: Do, request: Request, seen: Work | None = None) -> None:
        with self._lock:
            work = self.read()
            self._check_untold(request)
            do(work)

    def replayed(self, request: Request) -> Commit | None:
        """None: of a transaction that comes again every change is made again, seen inside it, and thrown away."""
        self.read()
        self._check_untold(request)
        return None

    def commit(self) -> Commit:
        """End the transaction and make its changes, all at once."""
        with self._lock:
            work = self.read()
            self._work = None
        if self._known is not None:
            work.discard()
            return commit_of(self._known)
        try:
            commit = _committed(work, self._request, self._event)
        except OutcomeUnknown:
            raise
        except LakebedError:
            work.discard()
            raise
        work.discard_gone()
        return commit_of(commit)

    def close(self) -> None:
        """End the transaction and forget its changes."""
        with self._lock:
            if self._work is not None:
                self._work.discard()
            self._work = None

    @property
    def _subject(self) -> str:
        return repr(self._request.message) if self._request.message else ""

    def _check_untold(self, request: Request) -> None:
        if request.is_told_who_and_why():
            raise Invalid(
                "a change inside a transaction has no message, author or event id of its own",
                subject=request.operation.replace("_", " "),
                advice="Give them to the transaction.",
            )


def _committed(work: Work, request: Request, event: str) -> StoredCommit:
    try:
        return work.home.metastore.commit(work.change(request, event))
    except OutcomeUnknown as error:
        error.subject = f"event id {event}"
        error.advice = "It was written wholly or not at all: make the same call again with this event id."
        raise
    except (AlreadyExists, NotFound) as error:
        # At the base the name was free and the object there: somebody else changed that since.
        work.discard_manifests()
        raise _lost(error) from error
    except LakebedError:
        work.discard_manifests()
        raise


def _lost(error: LakebedError) -> Conflict:
    return Conflict(
        f"what this change relied on was changed by somebody else: {error.problem}",
        subject=error.subject,
        expected=error.expected,
        found=error.found,
        advice="Look at what is there now, and decide anew.",
    )


def find_replayed(home: Home, ref: Ref, request: Request) -> StoredCommit | None:
    """The stored commit of a call that comes again."""
    if request.event_id is None:
        return None
    event = check_event_id(request.event_id)
    known = home.metastore.find(event)
    if known is not None and (known.fingerprint, known.line) != (request.fingerprint, ref.line.id):
        raise Invalid(
            "this event id belongs to another change",
            subject=event,
            expected=f"the change that made version {known.version}",
            advice="Give each change an event id of its own.",
        )
    return known
