"""What the node's metadata image is made of, as docs/operating.md defines its digest."""

from collections.abc import Mapping, Sequence
from typing import Final

from framework.evidence.systems import Covered, ImageForm

REMEMBERED: Final = 10_000
REMEMBERED_BYTES: Final = 8 * 2**20
LINES: Final[Mapping[str, Sequence[str]]] = {
    "broker": ("id", "epoch", "process", "end_points", "rack", "fenced", "activated"),
    "topic": ("id", "name", "deleting"),
    "partition": (
        "topic_id",
        "number",
        "replicas",
        "isr",
        "leader",
        "leader_epoch",
        "partition_epoch",
        "removing",
        "adding",
    ),
    "config": ("resource_type", "resource", "name", "value"),
    "access": (
        "resource_type",
        "resource",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission",
    ),
    "feature": ("name", "level"),
    "producer ids": ("next",),
    "request": ("number", "id", "answer"),
}
"""Of each kind of entity, what stands in its line behind the kind."""

IMAGE_FORM: Final = ImageForm(
    node="",
    source="harness",
    ref="plan.json",
    covers=tuple(Covered(entity=kind, field=each) for kind, own in LINES.items() for each in own),
    remembered=REMEMBERED,
    remembered_bytes=REMEMBERED_BYTES,
)
"""Of every release: it is said of runs that were recorded before, too."""
