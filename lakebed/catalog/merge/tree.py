"""The tree of a merge: every object ends up in a container that exists, under a free name, and not inside itself.

Each pass checks what the merge of single objects planned, records what can't be as a conflict, and settles it by the
strategy, until nothing is left to settle.
"""

from collections.abc import Iterator

from lakebed.catalog.merge.objects import ThreeWay
from lakebed.catalog.merge.outcome import Outcome
from lakebed.catalog.merge.sides import CREATED, HARD, SOFT
from lakebed.catalog.merge.states import read_states
from lakebed.catalog.transaction.objects import last_name
from lakebed.catalog.transaction.tombstones import check_not_purged
from lakebed.errors import Conflict
from lakebed.records import names
from lakebed.records import records_pb2 as pb
from lakebed.table.merge.strategy import Settle

_PASSES = 20  # for each object; each pass settles something for good, and no plan needs this many


class MergedTree:
    """Our side with the outcomes of a merge on top, by object."""

    def __init__(self, merging: ThreeWay, outcomes: dict[str, Outcome]) -> None:
        self.outcomes = outcomes
        self._merging = merging
        self._work = merging.ours.work
        self._recorded: set[tuple[str, str]] = set()  # conflicts, by object and what they are about

    def settle(self) -> None:
        """Settle containers, cycles and names until everything fits."""
        for _ in range(_PASSES * (len(self.outcomes) + 1)):
            if not (self._settle_containers() or self._settle_cycles() or self._settle_names()):
                return
        raise Conflict(
            "the names of the two sides can't be merged",
            conflicts=self._merging.conflicts,
            advice="Rename the objects that the conflicts name on one side, and merge again.",
        )

    # Containers

    def _settle_containers(self) -> bool:
        settled = False
        for outcome in list(self.outcomes.values()):
            settled |= self._is_placed(outcome) and self._settle_container(outcome)
        return settled

    def _is_placed(self, outcome: Outcome) -> bool:
        """Whether the object takes a place in the tree after the merge."""
        return not outcome.dropped and not outcome.skipped and outcome.id != self._work.top

    def _settle_container(self, outcome: Outcome) -> bool:
        if outcome.ours is None and not self._merging.theirs.work.is_alive(outcome.id):
            outcome.skipped = True  # it was dropped there with its container, and we never had it
            return True
        for container in self._containers(outcome.id):
            planned = self._planned(container)
            if planned is None:
                return self._settle_missing(outcome, container)
            if planned[0]:
                return self._settle_dropped(outcome, container)
        return False

    def _settle_missing(self, outcome: Outcome, container: str) -> bool:
        """Handle a namespace that an earlier commit created, which was not picked."""
        theirs = self._merging.theirs.work
        check_not_purged(theirs.context, theirs.ref, container)
        if outcome.state.type == pb.PARTITION:  # whether ours gets the table is the table's own conflict
            outcome.skipped = True
            return True
        name = last_name(theirs, container)
        if self._theirs_wins(outcome, f"namespace {name}", "not there", "not there", name):
            [state] = read_states(theirs, [container]).values()
            self.outcomes[container] = Outcome(container, None, state, None, False, state.place, bring=True)
        else:
            outcome.skipped = True
        return True

    def _settle_dropped(self, outcome: Outcome, container: str) -> bool:
        """Handle an object in a namespace that one side dropped: a conflict if the other side's work would be lost."""
        if container in self.outcomes and self.outcomes[container].lost:
            self._drop_with_container(outcome)
            return True
        life = self._work.life(container)
        by_ours = life is not None and life.dropped
        did = self._did(outcome, by_ours)
        if not did & HARD:
            if did & SOFT:
                changes = ", ".join(sorted(did))
                self._merging.report(outcome, *(("dropped", changes) if by_ours else (changes, "dropped")))
            self._stay_dropped(outcome)
            return True
        check_not_purged(self._work.context, self._work.ref, container)
        inside = last_name(self._work, outcome.id) or last_name(self._merging.theirs.work, outcome.id)
        holder = self._outcome(container)
        sides = ("dropped", f"{inside} in it") if by_ours else (f"{inside} in it", "dropped")
        theirs_wins = self._theirs_wins(holder, "drop", "there", *sides)
        if theirs_wins is by_ours:
            holder.dropped = False
        else:
            self._drop_with_container(outcome)
        return True

    def _stay_dropped(self, outcome: Outcome) -> None:
        """Leave it where ours has it; if it is alive there, drop it: theirs moved it into a dropped container."""
        if outcome.ours is not None:
            outcome.place = outcome.ours.place
        planned = [self._planned(container) for container in self._containers(outcome.id)]
        is_dead = any(plan is None or plan[0] for plan in planned) or not self._work.is_alive(outcome.id)
        outcome.skipped, outcome.dropped = is_dead, outcome.dropped or not is_dead

    def _did(self, outcome: Outcome, by_ours: bool) -> frozenset[str]:
        """What a drop by one side would lose of the other side's work; nothing if that side has dropped it too."""
        if outcome.ours is None:
            return frozenset({CREATED})
        side, did = (self._merging.theirs, outcome.theirs_did) if by_ours else (self._merging.ours, outcome.ours_did)
        return did if side.work.is_alive(outcome.id) else frozenset()

    def _drop_with_container(self, outcome: Outcome) -> None:
        """Drop an object with its namespace; one that is new to us is created, dropped."""
        if outcome.bring:
            outcome.dropped = outcome.lost = True
        else:
            outcome.skipped = True

    # Cycles

    def _settle_cycles(self) -> bool:
        for outcome in list(self.outcomes.values()):
            if self._is_placed(outcome) and outcome.id in self._containers(outcome.id):
                self._settle_cycle(outcome)
                return True
        return False

    def _settle_cycle(self, outcome: Outcome) -> None:
        ours, theirs = last_name(self._work, outcome.id), last_name(self._merging.theirs.work, outcome.id)
        theirs_wins = self._theirs_wins(outcome, "name", "not in itself", ours, theirs)
        for container in self._containers(outcome.id):
            if container in self.outcomes:
                member = self.outcomes[container]
                state = member.theirs if theirs_wins and member.theirs is not None else member.ours
                if state is not None:
                    member.place = state.place

    # Names

    def _settle_names(self) -> bool:
        settled = False
        for outcome in list(self.outcomes.values()):
            if self._is_placed(outcome) and self._changes_place(outcome):
                other = self._name_holder(outcome)
                if other is not None:
                    self._settle_name(outcome, other)
                    settled = True
        return settled

    def _changes_place(self, outcome: Outcome) -> bool:
        return outcome.ours is None or not outcome.ours.is_kept or outcome.ours.place != outcome.place

    def _name_holder(self, outcome: Outcome) -> str | None:
        """Another object that has the place that this one is to get."""
        key = self._key(outcome.place)
        for other in self.outcomes.values():
            if other.id != outcome.id and self._is_placed(other) and self._key(other.place) == key:
                return other.id
        holder = self._work.resolve(*outcome.place)
        return None if holder is None or holder in self.outcomes else holder

    def _settle_name(self, outcome: Outcome, other: str) -> None:
        holder = self._outcome(other)
        incoming, staying = (holder, outcome) if self._changes_place(holder) and outcome.ours else (outcome, holder)
        name = last_name(self._merging.theirs.work, incoming.id) or outcome.place[1]
        own = last_name(self._work, staying.id) or outcome.place[1]
        sides = f"{own} ({staying.id})", f"{name} ({incoming.id})"
        theirs_wins = self._theirs_wins(incoming, "name", "free", *sides)
        if {incoming.id, staying.id} & self._merging.shown:  # an edition that its table shows can't be dropped
            theirs_wins = incoming.id in self._merging.shown
        loser, state = (staying, staying.theirs) if theirs_wins else (incoming, incoming.ours)
        if state is not None and state.is_kept and self._key(state.place) != self._key(outcome.place):
            loser.place = state.place
        else:
            loser.dropped = loser.lost = True

    # The plan

    def _theirs_wins(self, outcome: Outcome, what: str, base: object, ours: object, theirs: object) -> bool:
        """Whether theirs wins a conflict, which is recorded once."""
        if (outcome.id, what) in self._recorded:
            return self._merging.settle is Settle.THEIRS
        self._recorded.add((outcome.id, what))
        return self._merging.conflict(outcome, what, base, ours, theirs)

    def _outcome(self, object_id: str) -> Outcome:
        """The plan for an object; a new one if the merge had none."""
        if object_id not in self.outcomes:
            ours = read_states(self._work, [object_id])[object_id]
            self.outcomes[object_id] = Outcome(object_id, ours, None, None, not ours.is_kept, ours.place)
        return self.outcomes[object_id]

    def _planned(self, object_id: str) -> tuple[bool, tuple[str, str]] | None:
        """Whether an object is to be dropped, and its place; None if our side will not have it."""
        outcome = self.outcomes.get(object_id)
        if outcome is not None and (outcome.ours is not None or (outcome.bring and not outcome.skipped)):
            return outcome.dropped, outcome.place
        life = self._work.life(object_id)
        return None if life is None else (life.dropped, (life.container_id, life.name))

    def _containers(self, object_id: str) -> Iterator[str]:
        """The planned containers of an object, from the inside out; stops where they repeat."""
        seen: set[str] = set()
        planned = self._planned(object_id)
        while planned is not None and planned[1][0] not in {self._work.top, ""} | seen:
            object_id = planned[1][0]
            seen.add(object_id)
            yield object_id
            planned = self._planned(object_id)

    def _key(self, place: tuple[str, str]) -> tuple[str, str]:
        return place[0], names.folded(place[1], self._work.ref.line.casing)
