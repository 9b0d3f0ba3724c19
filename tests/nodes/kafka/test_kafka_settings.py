"""What a run gives nodes of Apache Kafka of its own accord, as docs/kafka.md lists it."""

import re
import subprocess
from pathlib import Path

from nodes.kafka.command_line import VERSION, java
from nodes.kafka.settings import SESSION, SHORT, SMALL

DOCS = (Path(__file__).parents[3] / "docs" / "kafka.md").read_text()
ELSEWHERE = {"controlled.shutdown.retry.backoff.ms": "5000 (3.x alone)"}
"""Of what the newest release does not know any more."""
LIST = DOCS.partition("\n### Time limits and sizes\n")[2].partition("\n### ")[0]
ROWS = re.findall(r"^\| `([\w.]+)` \| ([\w.]+) \| (.+) \|$", LIST, re.MULTILINE)
_DOCUMENTED = re.compile(r'<h4><a id="([\w.]+)">.*?<th>Default:</th><td>([^ <]*)', re.DOTALL)


def test_the_list_in_docs_is_of_what_is_changed_and_from_what() -> None:
    """Kafka's own values are those of its own documentation of its settings, which it prints."""
    assert {key: ours for key, ours, _ in ROWS} == {**SHORT, **SMALL}
    argv = [*java(), "kafka.server.KafkaConfig"]
    printed = subprocess.run(argv, capture_output=True, text=True, timeout=60).stdout
    documented = dict(_DOCUMENTED.findall(printed))
    assert not ELSEWHERE.keys() & documented.keys()
    assert {key: theirs for key, _, theirs in ROWS} == {
        **{key: documented.get(key) for key in (*SHORT, *SMALL)},
        **ELSEWHERE,
    }
    assert f"| setting | a run | Apache Kafka {VERSION} |" in LIST


def test_each_value_is_another_than_kafkas() -> None:
    assert all(ours != theirs.split()[0] for _, ours, theirs in ROWS)
    assert f"session {int(SHORT[SESSION]) // 1000} s\nrather than 9)" in DOCS
