"""Where objects were last seen, a guess that saves round trips and never a fact; and when lines were alive."""

from collections.abc import Iterator

from lakebed.store import Version

REMEMBERED = 10_000


class Whereabouts:
    """Each object's container as it was last read, on whatever line and version.

    Whoever guesses right reads an object with all that it is in by one round trip, instead of one for each level; a
    wrong guess reads a record that is not needed.
    """

    def __init__(self) -> None:
        self._containers: dict[str, str] = {}
        self._alive: dict[str, Version] = {}

    def was_alive(self, line: str, version: Version) -> bool:
        """Whether a line is known to have been alive at exactly this version, which never changes."""
        return self._alive.get(line) == version

    def learn_alive(self, line: str, version: Version) -> None:
        if len(self._alive) >= REMEMBERED:
            self._alive.clear()
        self._alive[line] = version

    def learn(self, object_id: str, container: str) -> None:
        if len(self._containers) >= REMEMBERED:
            self._containers.clear()
        self._containers[object_id] = container

    def guess(self, object_id: str, top: str) -> Iterator[str]:
        """The object and what it may be in, up to the top of its line."""
        for _ in range(64):  # no lake nests that deep; a guess made of several pasts may go round
            yield object_id
            container = self._containers.get(object_id, top)
            if container == top:
                return
            object_id = container
