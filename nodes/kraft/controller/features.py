"""Feature levels: finalized by the active controller, required of every broker (KIP-584)."""

from typing import Final

from immutables import Map
from kio.static.primitive import i16

from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.controller.members import Levels
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.metadata.features import FIRST_LEVEL, METADATA_FORMAT
from nodes.kraft.metadata.image import Image
from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest
from nodes.kraft.wire.records import FeatureLevelRecord

UNREPORTED: Final[Levels] = Map({METADATA_FORMAT: (FIRST_LEVEL, FIRST_LEVEL)})
"""What a broker supports that says nothing of it."""


def behind(config: ControllerConfig, image: Image) -> bool:
    """Whether a higher level is to be finalized than is."""
    return image.features.get(METADATA_FORMAT, 0) < config.metadata_format


def finalize(builder: RecordBatchBuilder, config: ControllerConfig) -> None:
    """Finalize the level that the controller is configured for. It stands alone in its batch:
    what follows it is in its format."""
    level = i16(config.metadata_format)
    builder.add(FeatureLevelRecord(name=METADATA_FORMAT, feature_level=level))


def supported_by(request: BrokerHeartbeatRequest) -> Levels:
    """What the broker says that it supports."""
    return UNREPORTED.update(
        {each.name: (int(each.min_level), int(each.max_level)) for each in request.features}
    )


def supports_all(image: Image, supported: Levels) -> bool:
    """Whether who supports these works with every finalized feature at its level (A.1.50)."""
    return all(
        name in supported and supported[name][0] <= level <= supported[name][1]
        for name, level in image.features.items()
    )
