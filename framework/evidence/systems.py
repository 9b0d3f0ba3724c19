"""What a system says of its own ways, where systems and their versions differ."""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from framework.evidence.kinds import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised(Evidence):
    """By its settings the system keeps a promise that it need not keep in every run.

    exclusive-broker-ids: a process takes a broker id over only when the former one's lease ended.
    """

    kind: ClassVar[str] = "promised"
    promise: Literal["exclusive-broker-ids"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """A field of an entity for which a digest stands."""

    entity: str
    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageForm(Evidence):
    """How the system's nodes make the digests of their metadata images, so that others can make
    them from the log.

    A digest is the sum, modulo 2^256, in 64 hexadecimal digits, of the SHA-256 of a line for each
    entity of the kinds in `covers`: the JSON array, without blanks and in ASCII, of the entity's
    kind and of its fields that `covers` names, in that order. A snapshot has a record for each of
    them. remembered, remembered_bytes: so many answers of requests at most, of so many bytes, are
    in the image; the newest one always is.
    """

    kind: ClassVar[str] = "image-form"
    covers: tuple[Covered, ...]
    remembered: int = 0
    remembered_bytes: int = 0


LogRule: TypeAlias = Literal[
    "moved-after-fencing",
    "moved-before-fencing",
    "fenced-before-registering",
    "moved-before-registering",
    "registering-renews-epoch",
    "process-keeps-epoch",
    "process-keeps-standing",
    "registering-fences",
    "epoch-is-offset",
    "shrinking-raises-leader-epoch",
    "eligible-leaders",
    "configured-after-creation",
    "replicas-change",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRule:
    """The rule holds while the log has this feature finalized at `since` or above, and below
    `below` (0: no end); feature empty: always."""

    rule: LogRule
    feature: str = ""
    since: int = 0
    below: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRules(Evidence):
    """What records of the system's metadata log keep to, where systems and their versions differ.
    A system that says nothing of it is held to what KIP-631 says.

    moved-after-fencing: the records that follow the one which fences a broker move what it leads;
    moved-before-fencing: those before it do, and take it out of ISRs that have others.
    fenced-before-registering: the former life of a broker that registers is fenced;
    moved-before-registering: it leads nothing, and is in no ISR that has others.
    registering-renews-epoch: each registration has a higher epoch; process-keeps-epoch: that of the
    same process has the same one. process-keeps-standing: it is fenced, or leaving, as before;
    registering-fences: any registration fences. epoch-is-offset: a new epoch is the offset where
    the records of its registration begin.
    shrinking-raises-leader-epoch: so does an ISR that loses a member under one leader.
    eligible-leaders: eligible leader replicas are kept (KIP-966), and an ISR may be empty.
    configured-after-creation: a topic is there before its configuration is. replicas-change: those
    of a partition may, but who comes is in sync later; else by the steps of KIP-455.
    """

    kind: ClassVar[str] = "log-rules"
    rules: tuple[HeldRule, ...]
