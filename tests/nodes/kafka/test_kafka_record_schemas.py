"""Our metadata records, held against the schemas that Apache Kafka ships: those in the jars of the
newest release, and of all releases of the table what `python -m benchmarks.kafka_schemas` stored.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pytest

from benchmarks.kafka_schemas import STORED, Schema, by_form, shipped, without_comments
from nodes.kafka import software
from nodes.kafka.record_schemas import CONTROL, NEWEST, RECORDS, Entity, Field
from nodes.kafka.releases import newest, versions

FORMS: Final[Mapping[str, list[dict[str, Any]]]] = json.loads(STORED.read_text())
NEVER_WRITTEN: Final = {
    # Rules are AccessControlEntryRecords (KIP-801). KRaft has credentials from 3.5 on (KIP-900) and
    # tokens from 3.6 on, both in other forms.
    "AccessControlRecord": ("3.3.2", "3.4.1"),
    "UserScramCredentialRecord": ("3.3.2", "3.4.1"),
    "DelegationTokenRecord": ("3.3.2", "3.4.1", "3.5.0", "3.5.1", "3.5.2"),
}
"""Forms that no controller of these releases writes, and we have not."""
CONTROL_NAMES: Final = {
    "LeaderChange": "LeaderChangeMessage",
    "SnapshotHeader": "SnapshotHeaderRecord",
    "SnapshotFooter": "SnapshotFooterRecord",
    "KRaftVersion": "KRaftVersionRecord",
    "KRaftVoters": "VotersRecord",
}
"""As DumpLogSegments calls it -> as the definition does."""
NUMBERS: Final = ("int8", "int16", "uint16", "int32", "int64", "float64")
Layout = tuple[Any, ...]


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def has(spec: str | None, version: int) -> bool:
    """Whether `0`, `1-3` or `2+` has a version."""
    first, *last = re.split(r"[-+]", spec or "-1")
    if spec is None or spec == "none":
        return False
    end = int(first) if not last else int(last[0]) if last[0] else 2**15
    return int(first) <= version <= end


def theirs(fields: Iterable[Schema], version: int) -> Layout:
    """What is where in a version: name, type, tag, and default of what is tagged."""
    return tuple(_theirs(each, version) for each in fields if has(each["versions"], version))


def _theirs(field: Schema, version: int) -> Layout:
    nullable = has(field.get("nullableVersions"), version)
    kind: Any = field["type"] + "?" * nullable
    if "fields" in field:
        assert not nullable
        inner = theirs(field["fields"], version)
        kind = ("array" if field["type"].startswith("[]") else "one", inner)
    if not has(field.get("taggedVersions"), version):
        return snake(field["name"]), kind, None, None
    return snake(field["name"]), kind, int(field["tag"]), _default(field)


def _default(field: Schema) -> Any:
    said = field.get("default")
    if said == "null":
        return None
    return int(said or 0) if field["type"] in NUMBERS else ()


def ours(fields: Iterable[Field], version: int) -> Layout:
    return tuple(
        (each.name, _kind(each.type, version), each.tag, None if each.tag is None else each.default)
        for each in fields
        if each.since <= version
    )


def _kind(kind: str | tuple[Field, ...] | Entity, version: int) -> Any:
    if isinstance(kind, Entity):
        return "one", ours(kind.fields, version)
    return kind if isinstance(kind, str) else ("array", ours(kind, version))


def laid_out(layout: Layout) -> tuple[Layout, frozenset[Any]]:
    """As bytes have it: where a tagged field stands in a definition says nothing."""
    return (
        tuple(each for each in layout if each[2] is None),
        frozenset(each for each in layout if each[2] is not None),
    )


def all_of(schema: Schema) -> range:
    first, _, last = schema["versions"].partition("-")
    return range(int(first), int(last or first) + 1)


def cases() -> list[tuple[str, str, Schema]]:
    """Name, its releases, and the form that they have."""
    return [
        (name, " ".join(form["releases"]), form["schema"])
        for name, forms in FORMS.items()
        for form in forms
        if not set(form["releases"]) <= set(NEVER_WRITTEN.get(name, ()))
    ]


@pytest.mark.parametrize(("name", "releases", "schema"), cases(), ids=lambda each: str(each)[:40])
def test_a_record_is_what_releases_ship(name: str, releases: str, schema: Schema) -> None:
    """In each version that they have."""
    fields = declared(name, schema)
    for version in all_of(schema):
        expected = laid_out(theirs(schema["fields"], version))
        assert laid_out(ours(fields, version)) == expected, (releases, version)


def declared(name: str, schema: Schema) -> tuple[Field, ...]:
    if schema["apiKey"] is None:
        return next(fields for ours, fields, _ in CONTROL.values() if CONTROL_NAMES[ours] == name)
    known, fields = RECORDS[schema["apiKey"]]
    assert known == name
    return fields


def test_all_that_is_shipped_is_known_and_nothing_else() -> None:
    """To the newest version of each."""
    known = {RECORDS[number][0]: NEWEST.get(number, 0) for number in RECORDS}
    known |= {CONTROL_NAMES[name]: version for name, _, version in CONTROL.values()}
    shipped_newest: dict[str, int] = {}
    for name, _, schema in cases():
        shipped_newest[name] = max(shipped_newest.get(name, 0), *all_of(schema))
    assert shipped_newest == known


def test_what_is_stored_is_of_all_releases_of_the_table() -> None:
    for name in ("PartitionRecord", "LeaderChangeMessage"):
        assert sorted(each for form in FORMS[name] for each in form["releases"]) == sorted(
            versions()
        )
    for name, releases in NEVER_WRITTEN.items():
        assert set(releases) < {*versions()} and FORMS[name]


def test_the_jars_of_the_newest_release_say_what_is_stored() -> None:
    found = by_form({newest(): shipped(software.asked_for({}).libs)})
    of_newest = {
        name: form["schema"]
        for name, forms in FORMS.items()
        for form in forms
        if newest() in form["releases"]
    }
    assert {name: form["schema"] for name, (form,) in found.items()} == of_newest


def test_comments_are_no_part_of_a_definition() -> None:
    text = '// "a"\n{"b": "http://c", // of "d"\n "e": "\\"//", "f": 1}// end'
    assert json.loads(without_comments(text)) == {"b": "http://c", "e": '"//', "f": 1}


@pytest.mark.parametrize(
    ("spec", "inside"), [("0", [0]), ("1-2", [1, 2]), ("2+", [2, 3]), ("none", []), (None, [])]
)
def test_versions_are_read_as_kafka_writes_them(spec: str | None, inside: list[int]) -> None:
    assert [version for version in range(4) if has(spec, version)] == inside


@pytest.mark.parametrize("number", sorted(RECORDS))
def test_a_field_that_were_another_would_be_seen(number: int) -> None:
    """Nothing that is compared is the same by accident: each field left out is a difference."""
    name, fields = RECORDS[number]
    schema = FORMS[name][-1]["schema"]
    newest_version = max(all_of(schema))
    expected = laid_out(theirs(schema["fields"], newest_version))
    for at in range(len(fields)):
        wrong = (*fields[:at], *fields[at + 1 :])
        assert laid_out(ours(wrong, newest_version)) != expected
