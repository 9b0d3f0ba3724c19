"""The image's indexes and its checksum from nothing, for an image that is made at once.

Code of its own, which does not share the steps by which `apply` keeps them: where the two
disagree on any image, a test sees it.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from immutables import Map

from nodes.kraft.metadata.digest import recomputed
from nodes.kraft.metadata.image import NO_LEADER, Image, metric_name

Key = TypeVar("Key")
Member = TypeVar("Member")


def indexed(image: Image) -> Image:
    """The image with all of its indexes and its checksum made anew from the entities."""
    partitions = image.partitions
    return replace(
        image,
        in_sync=_grouped((id, key) for key, each in partitions.items() for id in each.isr),
        led=Map(Counter(each.leader for each in partitions.values() if each.leader != NO_LEADER)),
        leaderless=Map({key: None for key, each in partitions.items() if each.leader == NO_LEADER}),
        reassigning=Map({key: None for key, each in partitions.items() if each.moves}),
        rules_by_key=_grouped((rule.key, rule) for rule in image.access_rules),
        metric_names=Map(_colliding(image.topic_ids)),
        request_bytes=sum(map(len, image.requests.values())),
        checksum=recomputed(image),
    )


def _grouped(pairs: Iterable[tuple[Key, Member]]) -> Map[Key, Map[Member, None]]:
    groups: dict[Key, dict[Member, None]] = {}
    for key, member in pairs:
        groups.setdefault(key, {})[member] = None
    return Map({key: Map(members) for key, members in groups.items()})


def _colliding(topic_ids: Map[str, uuid.UUID]) -> Iterator[tuple[str, str]]:
    """Topics whose names differ from others' in '.' and '_' only: there is one at most."""
    for name in topic_ids:
        if "." in name or "_" in name:
            yield metric_name(name), name
