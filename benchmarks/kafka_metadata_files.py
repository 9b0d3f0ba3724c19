"""Apache Kafka's own word on metadata records, of several releases: what the DumpLogSegments of
each says of a log and a snapshot that it wrote.

    python -m benchmarks.kafka_metadata_files [VERSION...]

Brings each release (mvn), runs one node of it twice for some seconds, and has topics,
configurations, quotas, access rules and credentials made and removed meanwhile. The log of
metadata, its newest snapshot and the dumps of both go to `tests/nodes/kafka/stored/<version>/`,
compressed. The suite reads them (`tests/nodes/kafka/test_kafka_records.py`).
"""

import gzip
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import tenacity
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from benchmarks.kafka_files import free_port
from nodes.kafka import java, software
from nodes.kafka.disk import METADATA
from nodes.kafka.releases import is_since

VERSIONS: Final = ("3.4.1", "3.5.2", "3.6.2", "3.7.1", "3.8.1", "3.9.1", "4.0.1", "4.1.1")
"""One of each minor release that the suite has no log of from elsewhere."""
STORED: Final = Path(__file__).parents[1] / "tests/nodes/kafka/stored"
SCRAM_SINCE: Final = "3.5"
"""KIP-900."""
TIMEOUT_S: Final = 60
_PAYLOAD: Final = re.compile(r'^[ |]*payload: (\{"type".*\})$', re.MULTILINE)
CONFIGURATION: Final = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
log.dirs={data}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.index.size.max.bytes=1024
metadata.log.max.record.bytes.between.snapshots=2000
"""


class Node:
    """One that is broker and controller, of a release, in a directory of its own."""

    def __init__(self, work: Path, version: str) -> None:
        self.work, self.version = work, version
        self.libs = software.get(version).libs
        client, controller = free_port(), free_port()
        self.address = f"127.0.0.1:{client}"
        self.properties = work / "server.properties"
        self.properties.write_text(
            CONFIGURATION.format(client=client, controller=controller, data=work / "data")
        )

    def tool(self, main: str, *arguments: str) -> str:
        """What one of Kafka's own programs says."""
        argv = java.tool(java.command({}), self.libs, main, *arguments)
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        return done.stdout

    def format(self) -> None:
        cluster = "kafka-metadata-0000000"
        self.tool("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self.properties))

    @contextmanager
    def runs(self) -> Iterator[AdminClient]:
        """Until it was told to end, and has."""
        argv = java.tool(java.command({}), self.libs, java.MAIN, str(self.properties))
        with (self.work / "node.log").open("ab") as log:
            process = subprocess.Popen(argv, stdout=log, stderr=log)
            try:
                admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
                admin.list_topics(timeout=TIMEOUT_S)
                yield admin
            finally:
                process.terminate()
                process.wait(TIMEOUT_S)

    def changed(self, entity: str, name: str, *changes: str) -> None:
        """Quotas or credentials, which no other client here changes."""
        arguments = ["--bootstrap-server", self.address, "--alter", *changes]
        self.tool("kafka.admin.ConfigCommand", *arguments, "--entity-type", entity, *_named(name))


def _named(name: str) -> list[str]:
    return ["--entity-name", name] if name else ["--entity-default"]


def make_changes(node: Node, admin: AdminClient) -> None:
    """Of all kinds that a cluster without logins can be asked for."""
    topic = NewTopic("t", num_partitions=2, replication_factor=1)
    other = NewTopic(
        "u", num_partitions=1, replication_factor=1, config={"max.message.bytes": "50000"}
    )
    for made in admin.create_topics([topic, other]).values():
        made.result(TIMEOUT_S)
    admin.create_partitions([NewPartitions("t", 3)])["t"].result(TIMEOUT_S)
    entry = ConfigEntry("retention.ms", "86400000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, "t", incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": node.address, "enable.idempotence": True})
    producer.produce("t", b"1")
    producer.flush(TIMEOUT_S)
    change_rules(admin)
    node.changed("users", "anna", "--add-config", "producer_byte_rate=1024")
    node.changed("clients", "", "--add-config", "request_percentage=25.5")
    node.changed("users", "anna", "--delete-config", "producer_byte_rate")
    if is_since(node.version, SCRAM_SINCE):
        secret = "SCRAM-SHA-256=[iterations=4096,password=of-nobody]"
        node.changed("users", "bert", "--add-config", secret)
        node.changed("users", "bert", "--delete-config", "SCRAM-SHA-256")
    admin.delete_topics(["u"])["u"].result(TIMEOUT_S)


def change_rules(admin: AdminClient) -> None:
    named = (ResourceType.TOPIC, "t", ResourcePatternType.LITERAL, "User:anna", "*")
    rule = AclBinding(*named, AclOperation.READ, AclPermissionType.ALLOW)
    admin.create_acls([rule])[rule].result(TIMEOUT_S)
    which = AclBindingFilter(*named, AclOperation.ANY, AclPermissionType.ANY)
    admin.delete_acls([which])[which].result(TIMEOUT_S)


@tenacity.retry(
    retry=tenacity.retry_if_exception_type(ValueError),
    stop=tenacity.stop_after_delay(TIMEOUT_S),
    wait=tenacity.wait_fixed(0.2),
)
def snapshot(directory: Path) -> Path:
    """The newest that the node wrote of its own accord, once there is one."""
    return max(directory.glob("0*-0*[1-9].checkpoint"))


def store(node: Node, path: Path, into: Path) -> None:
    """A file, and what the release's own tool says of its records, a line each."""
    arguments = ("--cluster-metadata-decoder", "--skip-record-metadata", "--files", str(path))
    said = node.tool("kafka.tools.DumpLogSegments", *arguments)
    text = "".join(f"{record}\n" for record in _PAYLOAD.findall(said))
    for name, data in ((path.name, path.read_bytes()), (f"{path.name}.records", text.encode())):
        (into / f"{name}.gz").write_bytes(gzip.compress(data, mtime=0))


def make(version: str) -> None:
    into = STORED / version
    with tempfile.TemporaryDirectory(prefix=f"kafka-{uuid.uuid4().hex[:6]}-") as name:
        node = Node(Path(name), version)
        node.format()
        with node.runs() as admin:
            make_changes(node, admin)
        with node.runs():
            directory = node.work / METADATA
            found = snapshot(directory)
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True)
        store(node, found, into)
        for path in sorted(directory.glob("*.log")):
            store(node, path, into)


def main() -> None:
    for version in sys.argv[1:] or VERSIONS:
        make(version)


if __name__ == "__main__":
    main()
