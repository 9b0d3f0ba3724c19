"""Long histories of one register: clients that overlap at random, and at most one lie."""

import heapq
import random

from framework.history.pairing import Operation


def register_history(
    count: int,
    clients: int,
    *,
    values: int | None = 5,
    info: float = 0.0,
    lie_at: int | None = None,
    seed: int = 1,
) -> list[Operation]:
    """Half reads, the rest writes and cas, of `values` values or (None) each of its own.

    A share `info` of writes and cas never completes. The first read invoked after operation
    `lie_at` gets a value that was overwritten long ago, or never written if values are few.
    """
    rng = random.Random(seed)
    operations: list[Operation] = []
    outcomes: dict[int, tuple[str, object]] = {}
    state: object = None
    past: list[object] = [None]
    index = 0
    # (time, tie, step, operation)
    agenda: list[tuple[float, int, str, Operation | None]] = []
    for tie in range(clients):
        heapq.heappush(agenda, (rng.expovariate(1), tie, "invoke", None))
    tie = clients
    while agenda:
        now, _, step, op = heapq.heappop(agenda)
        tie += 1
        if step == "invoke":
            if len(operations) == count:
                continue
            new = len(operations) + 1 if values is None else rng.randint(1, values)
            old = rng.choice(past[-3:]) if values is None else rng.randint(1, values)
            f, value = rng.choices(
                [("read", None), ("write", new), ("cas", [old, new])], [50, 30, 20]
            )[0]
            op = Operation(index=index, process=len(operations), f=f, value=value)
            index += 1
            operations.append(op)
            heapq.heappush(agenda, (now + rng.expovariate(1), tie, "act", op))
        elif step == "act":
            assert op is not None
            if op.f == "read":
                outcomes[op.index] = ("ok", state)
                if lie_at is not None and len(operations) > lie_at:
                    outcomes[op.index] = ("ok", past[-50] if values is None else values + 1)
                    lie_at = None
            elif op.f == "write" or op.value[0] == state:
                state = op.value if op.f == "write" else op.value[1]
                past.append(state)
                outcomes[op.index] = ("ok", None)
            else:
                outcomes[op.index] = ("fail", None)
            lost = op.f != "read" and rng.random() < info
            step = "invoke" if lost else "complete"
            heapq.heappush(agenda, (now + rng.expovariate(1), tie, step, op))
        else:
            assert op is not None
            op.type, op.result = outcomes[op.index]  # type: ignore[assignment]
            op.end = index
            index += 1
            heapq.heappush(agenda, (now + rng.expovariate(4), tie, "invoke", None))
    return operations
