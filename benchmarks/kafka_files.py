"""Apache Kafka's own word on files: what its DumpLogSegments says of them.

    python -m benchmarks.kafka_files [FOLDER]

Fetches Apache Kafka from Maven Central (mvn, Java 17), runs one broker of it for some seconds, and
writes to it with every compression and in transactions. Its files and ones that our node wrote go
to FOLDER (by default where the suite reads them), each log and snapshot with its dump beside it.
"""

import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from nodes.kafka import java, software
from nodes.kraft.ids import LeaderEpoch, Offset, ReplicaId
from nodes.kraft.raft.leader_change import encode_leader_change
from nodes.kraft.raft.messages import Batch, SnapshotId
from nodes.kraft.storage.log import MetadataLog
from nodes.kraft.storage.snapshots import SnapshotStore

VERSION: Final = "4.2.0"
STORED: Final = Path(__file__).parents[1] / "tests/nodes/kafka_files/stored"
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
CONFIGURATION: Final = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={data}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
log.index.size.max.bytes=1024
metadata.log.max.record.bytes.between.snapshots=1000
"""


def tool(main: str, *arguments: str) -> list[str]:
    """The command line of one of Kafka's own programs; its jars come when they are first needed."""
    return java.tool(java.command({}), software.get(VERSION).libs, main, *arguments)


# --- what Kafka writes --------------------------------------------------------------------


@contextmanager
def broker(work: Path) -> Iterator[str]:
    """One node that is broker and controller; its address."""
    client, controller = free_port(), free_port()
    configuration = work / "server.properties"
    configuration.write_text(
        CONFIGURATION.format(client=client, controller=controller, data=work / "data")
    )
    file = str(configuration)
    storage = tool("kafka.tools.StorageTool", "format", "-t", "kafka-files-0000000000", "-c", file)
    subprocess.run(storage, check=True, capture_output=True)
    with (work / "node.log").open("wb") as log:
        process = subprocess.Popen(tool("kafka.Kafka", file), stdout=log, stderr=log)
        try:
            yield f"127.0.0.1:{client}"
        finally:
            process.terminate()
            process.wait(60)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def produce(address: str) -> None:
    """A batch with each compression, and transactions that end either way."""
    topic = NewTopic("t", num_partitions=1, replication_factor=1)
    settings: dict[str, Any] = {"bootstrap.servers": address, "linger.ms": 50}
    admin = AdminClient(settings)
    admin.create_topics([topic])["t"].result(60)
    for codec in CODECS:
        producer = Producer({**settings, "compression.type": codec, "enable.idempotence": True})
        send(producer, codec)
        producer.flush(60)
    producer = Producer({**settings, "transactional.id": "x"})
    producer.init_transactions(60)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        send(producer, end.__name__)
        producer.flush(60)
        end(60)


def send(producer: Any, name: str) -> None:
    for number in range(3):
        headers = [("h", name.encode()), ("none", None)] if number == 1 else None
        value = f"{name} {number} ".encode() * 20 if number != 2 else None
        producer.produce("t", value, key=f"{name}-{number}", partition=0, headers=headers)


# --- what our node writes -----------------------------------------------------------------


def ours(folder: Path) -> None:
    """A log of three epochs, with control records, and a snapshot."""
    log = MetadataLog(folder)
    offset = Offset(0)
    one, two, three = map(ReplicaId, (1, 2, 3))
    for epoch in map(LeaderEpoch, (1, 3, 4)):
        change = encode_leader_change(one, (one, two, three), (one, two))
        log.append(Batch(offset, epoch, (change,), control=True))
        values = tuple(bytes(range(size)) for size in range(1, 5))
        log.append(Batch(Offset(offset + 1), epoch, values))
        offset = log.end_offset
    log.close()
    store = SnapshotStore(folder)
    values = tuple(uuid.UUID(int=number).bytes for number in range(5))
    store.write(
        SnapshotId(offset, epoch),
        values,
        timestamp_ms=1_700_000_000_000,
        high_watermark=offset,
        digest="",
    )


# --- all of it ----------------------------------------------------------------------------

KEPT: Final = ("*.log", "*checkpoint", "quorum-state", "meta.properties")


def keep(source: Path, into: Path) -> None:
    for pattern in KEPT:
        for path in source.glob(pattern):
            into.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, into / path.name)


def dump(path: Path) -> None:
    command = tool("kafka.tools.DumpLogSegments", "--deep-iteration", "--files", str(path))
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    path.with_name(path.name + ".dump").write_text(text.replace(f"{path.parent}/", ""))


def main() -> None:
    into = Path(sys.argv[1]) if sys.argv[1:] else STORED
    shutil.rmtree(into, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        with broker(work) as address:
            produce(address)
            time.sleep(2)  # a snapshot of the metadata
        keep(work / "data", into / "kafka")
        for log in ("t-0", "__cluster_metadata-0"):
            keep(work / "data" / log, into / "kafka" / log)
    ours(into / "ours")
    for path in sorted(into.rglob("*")):
        if path.suffix in (".log", ".checkpoint"):
            dump(path)


if __name__ == "__main__":
    main()
