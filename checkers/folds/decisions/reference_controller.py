"""What a controller has to make of a request, by the KIPs and no system's code.

Pure, of a replayed state: why a request must be refused there (empty: it must be accepted), and
who may lead. KIP-497 and KIP-841 for changes of ISRs, KIP-380 and KIP-631 for brokers' epochs and
elections. Of brokers that are shutting down no log tells: who calls this knows which may be.
"""

from collections.abc import Collection
from dataclasses import dataclass

from checkers.folds.replayed.replay import Key, Partition, Replay
from framework.evidence.changes import NO_LEADER, PartitionCreated, PartitionState

NO_EPOCH = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrRequest:
    """A leader's wish for another ISR. `isr` None: not told, and then the rest alone is judged;
    `isr_epochs`: the members' broker epochs, -1 where the leader does not know one; empty: none
    does."""

    key: Key
    broker_id: int
    broker_epoch: int | None
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...] | None = None
    isr_epochs: tuple[int, ...] = ()


def against_isr_change(state: Replay, asked: IsrRequest) -> str:
    """Why it must be refused."""
    broker, before = state.brokers.get(asked.broker_id), state.partitions.get(asked.key)
    if before is None:
        return "there is no such partition"
    if broker is None:
        return f"broker {asked.broker_id} is not registered"
    if asked.broker_epoch is not None and asked.broker_epoch != broker.epoch:
        return f"the epoch of broker {asked.broker_id} is {broker.epoch}"
    if asked.broker_id != before.leader:
        return f"the leader is {before.leader}"
    if asked.leader_epoch != before.leader_epoch:
        return f"the leader epoch is {before.leader_epoch}"
    if asked.partition_epoch != before.version:
        return f"the version is {before.version}"
    return "" if asked.isr is None else _against_members(state, before, asked, asked.isr)


def _against_members(
    state: Replay, before: Partition, asked: IsrRequest, isr: tuple[int, ...]
) -> str:
    if len(set(isr)) != len(isr):
        return "a member stands twice"
    if not set(isr) <= set(before.replicas):
        return f"the replicas are {sorted(before.replicas)}"
    if before.leader not in isr:
        return f"its leader {before.leader} is not among them"
    epochs = asked.isr_epochs or (NO_EPOCH,) * len(isr)
    for member, epoch in zip(isr, epochs, strict=False):
        broker = state.brokers.get(member)
        if broker is None:
            return f"broker {member} is not registered"
        if broker.fenced:
            return f"broker {member} is fenced"
        if epoch not in (NO_EPOCH, broker.epoch):
            return f"the epoch of broker {member} is {broker.epoch}"
    return ""


def against_heartbeat(state: Replay, broker_id: int, broker_epoch: int) -> str:
    """Why a heartbeat under this epoch must be refused."""
    broker = state.brokers.get(broker_id)
    if broker is None:
        return f"broker {broker_id} is not registered"
    return "" if broker.epoch == broker_epoch else f"its epoch is {broker.epoch}"


def against_creation(state: Replay, name: str) -> str:
    """Why a topic of that name must not be made."""
    known = state.names.get(name)
    return "" if known is None else f"topic {known} has that name"


def against_deletion(state: Replay, name: str) -> str:
    """Why nothing is there to be deleted."""
    return "" if name in state.names else "no topic has that name"


# --- what becomes of partitions -----------------------------------------------------------


def against_placement(state: Replay, made: PartitionCreated, leaving: Collection[int]) -> str:
    """What is wrong with a new partition. Who of the replicas leads is the controller's choice.
    `leaving`: brokers that may be shutting down, who need not be in sync."""
    replicas = set(made.replicas)
    if len(replicas) != len(made.replicas):
        return f"has a replica twice: {list(made.replicas)}"
    if strangers := sorted(replicas - set(state.brokers)):
        return f"is given to {strangers}, not registered"
    able = {each for each in replicas if state.live(each)}
    if missing := sorted(able - set(made.isr) - set(leaving)):
        return f"leaves {missing}, in service, out of the ISR {sorted(made.isr)}"
    if made.leader == NO_LEADER:
        able &= set(made.isr) - set(leaving)
        return f"is led by nobody though {sorted(able)} can" if able else ""
    if made.leader not in made.isr:
        return f"is led by {made.leader}, not of its ISR {sorted(made.isr)}"
    return ""


def against_election(
    state: Replay, before: Partition, after: PartitionState, leaving: Collection[int]
) -> str:
    """What is wrong with a change of the leader, none of whose elections may be unclean. An empty
    ISR has had other rules since KIP-966."""
    if after.leader == NO_LEADER:
        able = {each for each in after.isr if state.live(each)} - set(leaving)
        return f"leaves nobody to lead though {sorted(able)} can" if able else ""
    if before.isr and after.leader not in before.isr:
        return f"makes {after.leader} its leader, who was not of the ISR {sorted(before.isr)}"
    if not state.live(after.leader):
        return f"makes {after.leader} its leader, who is not in service"
    return ""
