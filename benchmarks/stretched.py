"""A recorded history that lasts for longer: its main phase again and again.

Each time topics have other names and ids, and epochs are higher, so that what is told fits
together as it did; what had not returned when the phase ended is left out. So a name lives no
longer than it did in the run that was recorded.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(
    r'"((?:topic|isr|zombie|log|never-made)-\d+|lifecycle(?:-shared)?)(?=[/"])'
)
_ID: Final = re.compile(r'"[0-9a-f]{8}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")')
_EPOCH: Final = re.compile(r'"(broker_epoch|leader_epoch)":(\d+)')
_RISE: Final = 1_000_000


def stretch(history: Path, into: Path, seconds: float) -> None:
    """Write it anew, until it lasts so long."""
    lines = list(_main_phase(history))
    last_s = json.loads(lines[-1])["time"] / 1e9
    index = 0
    with into.open("w") as made:
        for again in range(int(seconds / last_s) + 1):
            for line in lines:
                event = json.loads(_renamed(line, again) if again else line)
                event |= {"index": index, "time": event["time"] + int(again * last_s * 1e9)}
                made.write(json.dumps(event, separators=(",", ":")) + "\n")
                index += 1


def _main_phase(history: Path) -> Iterator[str]:
    """Its operations that returned in it, a line an event."""
    events, opened = list[tuple[str, bool]](), dict[object, int]()
    with history.open() as lines:
        for line in lines:
            event = json.loads(line)
            if event["process"] == "nemesis":
                if event["f"] == "phase" and event["value"] != "main":
                    break
                continue
            if event["type"] == "invoke":
                opened[event["process"]] = len(events)
                events.append((line, False))
            else:
                begun = opened.pop(event["process"])
                events[begun] = (events[begun][0], True)
                events.append((line, True))
    return (line for line, returned in events if returned)


def _renamed(line: str, again: int) -> str:
    line = _NAME.sub(rf'"{again}-\1', line)
    line = _ID.sub(rf'"{again:08x}\1', line)
    return _EPOCH.sub(lambda found: f'"{found[1]}":{int(found[2]) + again * _RISE}', line)
