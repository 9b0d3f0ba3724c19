"""Many events of one kind: hundreds at a time, each a line of its own, as if told one by one."""

import json
import threading
from pathlib import Path
from typing import Any

from nodes.kraft.events import AT_ONCE, EventLog
from nodes.kraft.storage.events import one_by_one


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_many_events_are_lines_like_others(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path, "n")
    log.emit("before", x=1)
    count = 2 * AT_ONCE + 7
    log.emit_many("many", [f'"offset":{number}' for number in range(count)])
    log.emit("after")
    found = lines(path)
    assert [each["seq"] for each in found] == list(range(count + 2))
    assert [each.get("offset") for each in found] == [None, *range(count), None]
    assert {each["type"] for each in found[1:-1]} == {"many"}
    assert {each["node"] for each in found} == {"n"}
    times = [each["time_ns"] for each in found]
    assert times == sorted(times)


def test_from_two_threads(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path, "n")
    texts = [f'"number":{number}' for number in range(3 * AT_ONCE)]
    other = threading.Thread(target=lambda: [log.emit("one", number=each) for each in range(200)])
    other.start()
    log.emit_many("many", texts)
    other.join()
    found = lines(path)
    assert [each["seq"] for each in found] == list(range(len(texts) + 200))
    assert [each["number"] for each in found if each["type"] == "many"] == list(range(len(texts)))


def test_for_who_listens_to_single_events() -> None:
    reported: list[tuple[str, dict[str, Any]]] = []
    emit_many = one_by_one(lambda type, **fields: reported.append((type, fields)))
    emit_many("many", ['"offset":1,"record":{"a":[1,2]}', '"offset":2'])
    assert reported == [("many", {"offset": 1, "record": {"a": [1, 2]}}), ("many", {"offset": 2})]


class Unwritable:
    """What no line can be made of."""

    def __str__(self) -> str:
        raise AssertionError("a line is made that is not written")


def test_nothing_is_written_where_no_file_is_wanted() -> None:
    reported: list[str] = []
    log = EventLog(None, "c1", lambda type, fields: reported.append(type))
    log.emit("one", of=Unwritable())
    log.emit_many("many", ['"offset":1'])
    assert reported == ["one"]
