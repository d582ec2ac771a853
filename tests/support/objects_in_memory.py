"""An object store of this process."""

from typing import Any

from obstore.store import MemoryStore, ObjectStore

from lakebed.files.objects import ObjectFiles

STORES: dict[str, ObjectStore] = {}


class InMemory(ObjectFiles):
    """The bucket names the objects, so that a pickled or second handle finds them again."""

    def _opened_store(self) -> Any:
        return STORES.setdefault(self._place.bucket, MemoryStore())
