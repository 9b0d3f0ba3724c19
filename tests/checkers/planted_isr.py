"""ISR changes of t/0 by broker 4, and the records that carry them out."""

from typing import Any

from planted_runs import TOPIC, Story, change, shown

SOURCE = {"broker_id": 4, "broker_epoch": 7, "topic_id": TOPIC, "partition": 0}


def source(version: int, **more: Any) -> dict[str, Any]:
    return {**SOURCE, "leader_epoch": 0, "partition_epoch": version, **more}


def changed(records: bool = True) -> Story:
    """Accepted, refused and indeterminate changes, one of the controller's own, reads."""
    story = Story()
    story.describe("t", shown(0, [4, 5, 6]))
    story.alter(0, [4, 5])
    story.alter(0, [4, 6], type="fail", error="INVALID_UPDATE_VERSION")
    lost = story.invoke("alter-isr", "t/0", change(1, [4]))
    rival = story.invoke("alter-isr", "t/0", change(1, [4, 6]))
    story.complete(rival, "fail", error="INVALID_UPDATE_VERSION")
    story.complete(lost, "info")
    story.describe("t", shown(2, [4]))
    story.alter(2, [4])
    story.alter(3, [5], leader_epoch=1, broker_id=5, type="fail", error="FENCED_LEADER_EPOCH")
    story.describe("t", shown(4, [4], leader=-1, leader_epoch=1))
    if records:
        story.partition(10, 0, [4, 5, 6])
        for node in ("c1", "c2"):
            story.partition(11, 1, [5, 4], node=node)
        story.partition(12, 2, [4])
        story.partition(14, 3, [4])
        story.partition(15, 4, [4], leader=-1, leader_epoch=1)
        story.decide("AlterPartition", source(0), [11])
        story.decide("AlterPartition", source(0), [], verdict=95)
        story.decide("AlterPartition", source(1), [12])
        story.decide("AlterPartition", source(2), [14])
        story.decide("AlterPartition", source(1), [12], node="c2", epoch=0)
    return story
