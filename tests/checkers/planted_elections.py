"""Two elections, with nothing wrong in them."""

from planted_runs import Story

ID = {"c1": 1, "c2": 2, "c3": 3}


NODE = {number: node for node, number in ID.items()}


def clean() -> Story:
    """Two elections; c1 is killed in between and comes back."""
    story = Story()
    for node in ("c1", "c2", "c3", "b1"):
        story.boot(node)
    story.saved("c1", 1, voted=1)
    story.saved("c2", 1, voted=1)
    vote(story, "c2", 1, 1, [0, 0], [0, 0])
    story.saved("c1", 1, leader=1, voted=1)
    story.event("c1", "role", role="leader", epoch=1, leader_id=1)
    story.event("c1", "elected", epoch=1, start_offset=0, votes=[1, 2])
    story.append("c1", 0, 1, 11, leader=True)
    story.saved("b1", 1, leader=1)
    story.event("c1", "claim", epoch=1, end_offset=1)
    story.describe("t")
    story.saved("c2", 2, voted=2)
    story.append("c3", 0, 1, 11)
    story.event("c3", "truncate", end_offset=0)
    story.saved("c3", 2, voted=2)
    vote(story, "c3", 2, 2, [0, 0], [0, 0])
    story.saved("c2", 2, leader=2, voted=2)
    story.event("c2", "elected", epoch=2, start_offset=0, votes=[2, 3])
    story.append("c2", 0, 2, 22, leader=True)
    story.apply("b1", 0, "LeaderChange", 2, leader_id=2)
    story.boot("c1", (2, 2, -1), log_end=1, last_epoch=1)
    vote(story, "c1", 2, 3, [1, 1], [1, 1], granted=False)
    story.saved("c1", 2, leader=2)
    return story


def vote(
    story: Story,
    node: str,
    epoch: int,
    candidate: int,
    theirs: list[int],
    own: list[int],
    granted: bool = True,
) -> None:
    story.event(
        node,
        "vote",
        epoch=epoch,
        candidate_id=candidate,
        granted=granted,
        candidate_last=theirs,
        own_last=own,
        error=0,
    )
