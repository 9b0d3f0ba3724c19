"""The schemas of metadata records and control records that releases of Apache Kafka ship.

    python -m benchmarks.kafka_schemas

Brings each release of the table (mvn), and writes what the message definitions in its jars say -
names, versions, types, no texts - to `tests/nodes/kafka/stored/schemas.json`: of each record its
forms, each with the releases that have it. The suite holds `nodes/kafka/record_schemas.py` against
them (`tests/nodes/kafka/test_kafka_record_schemas.py`).
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from nodes.kafka import software
from nodes.kafka.releases import versions

STORED: Final = Path(__file__).parents[1] / "tests/nodes/kafka/stored/schemas.json"
RECORDS: Final = ("kafka-metadata-*.jar", re.compile(r"common/metadata/\w+\.json"))
CONTROL: Final = (
    "kafka-clients-*.jar",
    re.compile(
        r"common/message/"
        r"(LeaderChangeMessage|Snapshot(Header|Footer)Record|KRaftVersionRecord|VotersRecord)\.json"
    ),
)
"""The jar, and the definitions in it."""
KEPT: Final = ("name", "type", "versions", "nullableVersions", "taggedVersions", "tag", "default")
_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*')
Schema: TypeAlias = Mapping[str, Any]


def shipped(libs: Path) -> dict[str, Schema]:
    """The records of the release with these jars, by name: `apiKey` (null: a control record),
    `versions` that are valid, and `fields`, each with what `KEPT` names of it and, of an entity,
    its own `fields`."""
    return {each["name"]: each for where in (RECORDS, CONTROL) for each in _in_jar(libs, *where)}


def _in_jar(libs: Path, jar: str, wanted: re.Pattern[str]) -> Iterator[Schema]:
    (path,) = libs.glob(jar)
    with zipfile.ZipFile(path) as archive:
        for name in sorted(filter(wanted.fullmatch, archive.namelist())):
            definition = json.loads(without_comments(archive.read(name).decode()))
            structs = {each["name"]: each for each in definition.get("commonStructs", ())}
            yield {
                "name": definition["name"],
                "apiKey": definition.get("apiKey"),
                "versions": definition["validVersions"],
                "fields": [_field(each, structs) for each in definition["fields"]],
            }


def without_comments(text: str) -> str:
    """JSON as Kafka writes it, with comments from `//` to the end of a line, as others read it."""
    return _COMMENT.sub(lambda found: found[1] or "", text)


def _field(definition: Mapping[str, Any], structs: Mapping[str, Any]) -> dict[str, Any]:
    """`structs`: entities that fields of the definition name, by their names."""
    kept: dict[str, Any] = {name: str(definition[name]) for name in KEPT if name in definition}
    named = structs.get(definition["type"].removeprefix("[]"), definition)
    if "fields" in named:
        kept["fields"] = [_field(each, structs) for each in named["fields"]]
    return kept


def by_form(releases: Mapping[str, Mapping[str, Schema]]) -> dict[str, list[dict[str, Any]]]:
    """Release -> its records, as the file has them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for release, records in releases.items():
        for name, schema in records.items():
            forms = found.setdefault(name, [])
            form = next((each for each in forms if each["schema"] == schema), None)
            if form is None:
                forms.append(form := {"releases": [], "schema": schema})
            form["releases"].append(release)
    return found


def main() -> None:
    forms = by_form({each: shipped(software.get(each).libs) for each in versions()})
    lines = [
        f" {json.dumps(name)}: [\n" + ",\n".join(f"  {json.dumps(form)}" for form in own) + "\n ]"
        for name, own in sorted(forms.items())
    ]
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
