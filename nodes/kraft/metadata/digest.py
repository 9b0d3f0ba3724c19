"""A digest of the image, by which nodes that hold the same metadata can be told from others."""

from nodes.kraft.metadata import checksums
from nodes.kraft.metadata.image import Image


def digest(image: Image) -> str:
    """The image's checksum: 64 hexadecimal digits. At no cost: `apply` keeps it up to date."""
    return f"{image.checksum:064x}"


def recomputed(image: Image) -> int:
    """The checksum from nothing, over all entities."""
    total = sum(map(checksums.of_broker, image.brokers.values()))
    total += sum(map(checksums.of_topic, image.topics.values()))
    total += sum(checksums.of_partition(*item) for item in image.partitions.items())
    total += sum(map(checksums.of_rule, image.access_rules))
    total += sum(checksums.of_feature(*item) for item in image.features.items())
    total += checksums.of_producer_ids(image.next_producer_id)
    for resource, values in image.configs.items():
        total += sum(checksums.of_config(resource, *item) for item in values.items())
    for number, request_id in image.request_order.items():
        total += checksums.of_request(number, request_id, image.requests[request_id])
    return total % checksums.MODULUS
