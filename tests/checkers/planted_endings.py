"""A run with a fault that ends in order."""

from planted_runs import NODES, Story, shown

BROKERS = [node for node in NODES if node.startswith("b")]


def clean(*, lagging: str | None = None, quiet_ms: float = 5000) -> Story:
    """Faults, healed; all nodes come to offset 20; final reads; an orderly stop."""
    story = Story()
    for node in NODES:
        story.boot(node)
    for node in BROKERS:
        story.bstate(node, "ACTIVE")
    story.inject(lasts_ms=50)
    story.create("t")
    story.hw("c1", 20, 1)
    for node in NODES:
        if node != lagging:
            story.hw(node, 20, 1, role="observer" if node in BROKERS else "follower")
            story.state(node, 20)
    story.final()
    for _ in range(2):
        story.describe("t", shown(1, [4]), shown(1, [5], partition=1))
    story.wait(quiet_ms)
    story.hw("c1", 21, 1)
    story.bstate("b3", "SHUTDOWN", "ACTIVE")
    story.state("c1", 22, "later")
    for node in NODES:
        story.event(node, "exit", reason="asked to")
    return story
