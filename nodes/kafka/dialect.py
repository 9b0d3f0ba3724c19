"""What clients of Kafka's protocol must know to speak with these nodes.

`heartbeat` and `follow` are said by the messages that brokers send to controllers; `alter-isr` is
Kafka's own AlterPartition, which every client here knows.
"""

from typing import Final

from framework.plugins.dialect import Dialect, Exchanges, Leadership
from framework.plugins.system import Cluster
from nodes.adapting.log_watch import LogWatch
from nodes.adapting.metadata_fetch import NOBODY
from nodes.kafka.following import Follower
from nodes.kafka.outcomes import OUTCOMES
from nodes.kafka.registering import Registering
from nodes.kafka.settings import SESSION, SHORT, cluster_id
from nodes.kafka.states import WHO_LEADS, led_log


def of_client(cluster: Cluster) -> Exchanges:
    """Those of one client of a cluster."""
    own = cluster_id(cluster.seed)
    return {
        "heartbeat": Registering(own, _session_ms(cluster)).exchange(),
        "follow": Follower(own).exchange(),
    }


def of_observer(cluster: Cluster) -> Exchanges:
    """Those of the observer of one node: it is no replica (id -1)."""
    return {"metadata-log": LogWatch(NOBODY, cluster_id(cluster.seed)).exchange()}


def _session_ms(cluster: Cluster) -> int:
    """The longest that any controller gives a broker."""
    return max(
        int(cluster.settings.get(node, {}).get(SESSION, SHORT[SESSION]))
        for node in cluster.with_role("controller")
    )


DIALECT: Final = Dialect(
    outcomes=OUTCOMES,
    # KafkaApis answers a fetch from `FetchPartitionData`, whose high watermark
    # `Partition.readRecords` takes before it reads from the log.
    watermark_first=True,
    of_client=of_client,
    of_observer=of_observer,
    leadership=Leadership(WHO_LEADS, lambda answer: led_log(answer) is not None),
)
