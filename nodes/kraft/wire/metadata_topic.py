"""The metadata log as a topic: the draft's name and shipped Kafka's, one id (A.7.13)."""

import uuid
from typing import Final

METADATA_TOPIC: Final = "__kafka_metadata"
METADATA_TOPIC_ID: Final = uuid.UUID(int=1)
TOPIC_NAMES: Final = frozenset({METADATA_TOPIC, "__cluster_metadata"})
"""Both names are accepted; we say the draft's."""
