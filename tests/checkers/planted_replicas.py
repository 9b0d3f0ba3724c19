"""Replicas of one log, with nothing wrong in them."""

from planted_runs import Story


def clean() -> Story:
    """Three records committed; an uncommitted one truncated; a restart; a second leader."""
    story = Story()
    for node in ("c1", "c2", "c3", "b1"):
        story.boot(node)
    story.event("c1", "elected", epoch=1, start_offset=0, votes=[1, 2])
    story.append("c1", 0, 1, 10, 11, 12, leader=True)
    for node in ("c2", "c3", "b1"):
        story.append(node, 0, 1, 10, 11, 12)
        story.event(node, "flush", end_offset=3)
    story.hw("c1", 3, 1)
    story.hw("c2", 2, 1, role="follower")
    for offset in range(3):
        story.apply("c1", offset, "NoOpRecord")
    story.append("c1", 3, 1, 13, leader=True)
    story.boot("c1", (1, 1, 1), log_end=4, last_epoch=1)
    story.event("c2", "elected", epoch=2, start_offset=3, votes=[2, 3])
    story.append("c2", 3, 2, 23, leader=True)
    story.append("c3", 3, 2, 23)
    story.event("c1", "truncate", end_offset=3)
    story.append("c1", 3, 2, 23)
    story.append("b1", 3, 2, 23)
    story.hw("c2", 4, 2)
    story.hw("c1", 4, 2, role="follower")
    for offset in range(4):
        story.apply("c1", offset, "NoOpRecord", 2 if offset == 3 else 1)
    story.hw("c3", 4, 2, role="follower")
    story.hw("b1", 4, 2, role="observer")
    return story


def settled() -> Story:
    story = clean()
    story.final()
    for node in ("c1", "c2", "c3", "b1"):
        story.event(node, "flush", end_offset=4)
    return story


def behind(*, dropped: bool) -> Story:
    """c1 wrote something that was never committed, and a snapshot of the others' reaches past it:
    its log is dropped for it, or (a defect) goes on as it was."""
    story = clean()
    story.append("c1", 4, 2, 99, 98, leader=True)
    for node in ("c2", "c3", "b1"):
        story.append(node, 4, 3, 34, 35, 36, leader=node == "c2")
        story.event(node, "flush", end_offset=7)
    story.hw("c2", 7, 3)
    story.event("c1", "log_start", offset=6, dropped=dropped)
    story.append("c1", 6, 3, 36)
    story.hw("c1", 7, 3, role="follower")
    story.final()
    for node in ("c1", "c2", "c3", "b1"):
        story.event(node, "flush", end_offset=7)
    return story


def on_disks() -> Story:
    """The same, and what lies on the disks, which goes on for long."""
    story = clean()
    for node in ("c1", "c2", "c3", "b1"):
        for epoch, crc in ((1, 10), (1, 11), (1, 12), (2, 23)):
            story.disks.write(node, epoch, crc=crc)
        story.disks.restart(node)
        story.disks.fill(4, 12, node)
    return story


CRCS = (10, 11, 12, 23)


def whole() -> Story:
    """Twelve records more, all of them committed, with snapshots and a client that was shown them,
    on the disks as it was told; then all is settled."""
    story = Story()
    nodes = ("c1", "c2", "c3", "b1", "b2", "b3")
    for node in nodes:
        story.boot(node)
    story.event("c1", "elected", epoch=1, start_offset=0, votes=[1, 2])
    for node in nodes:
        story.append(node, 0, 1, *range(100, 112), leader=node == "c1")
        story.event(node, "flush", end_offset=12)
        story.hw(node, 12, 1)
    story.event("c2", "elected", epoch=2, start_offset=12, votes=[2, 3])
    for node in nodes:
        story.append(node, 12, 2, 112, leader=node == "c2")
        story.hw(node, 13, 2)
    disks = story.disks
    for node in nodes:
        disks.write(node, 1, "LeaderChange", crc=100, leader_id=1)
        for crc in range(101, 112):
            disks.write(node, 1, crc=crc, at=crc)
        disks.snapshot(node, 10, 1)
        disks.restart(node)
        disks.write(node, 2, "LeaderChange", crc=112, leader_id=2)
    story.op("describe", "t", result={"topic_id": "x"}, ext={"epoch": 2, "offset": 13})
    story.final()
    return story
