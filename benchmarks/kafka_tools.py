"""Kafka's own tools, and clients of other languages, against the node and Apache Kafka beside it.

    python -m benchmarks.kafka_tools > docs/clients.md

Prints a page of Markdown with a table a client: each call, and what came of it on either system.
Both get the same calls in the same order, on one controller and three brokers in namespaces of
this machine, a new cluster for each client. A call of a tool works if that ends with exit code 0
and says what it is to say; one of a client, in Java or in Go, if its program found what it wanted
(`benchmarks.kafka_clients`). Else the table says why not. About a minute a client and system.
What runs on Java is what `kraft-proof get kafka` brings; Go's modules come by `go build`.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks.kafka_clients import java_client, programs, refusals
from framework.errors import EngineError, UsageError
from nodes.kafka import command_line
from nodes.kafka.command_line import VERSION, command
from nodes.kafka.system import KafkaSystem

SYSTEMS: Final = {"kraft": "the node", "kafka": f"Apache Kafka {VERSION}"}
TOOLS_OF_KAFKA: Final = "tools"
JAVA_CLIENT: Final = "java"
HEAD: Final = """\
# Tools and clients, on the node and on Apache Kafka

Made by `python -m benchmarks.kafka_tools > docs/clients.md`. Both systems get the same calls in the
same order: one controller and three brokers in namespaces of one machine, a new cluster for each
table, `auto.create.topics.enable=true`. "yes": the call did what it is for. Otherwise the words are
those of the tool or the client, from an answer or its own refusal. What the node means to refuse,
and why in this way, is [at the end](#what-the-node-refuses-and-how).

Kafka's tools are called as from a shell, and judged by their exit code and by what they print. Each
client has a program in its language (`benchmarks/kafka_clients`), which looks at what comes back
and gives a call 20 s."""
PARTS: Final = (TOOLS_OF_KAFKA, JAVA_CLIENT, *programs.CLIENTS)
FEATURES: Final = {"kraft": "metadata.format", "kafka": "transaction.version"}
"""Of each system one that has the levels 1 and 2."""
METADATA: Final = "_metadata-0"
B1: Final = """\
process.roles=broker
node.id=2
controller.quorum.bootstrap.servers=c1:9093
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://:9092
log.dirs={}
"""
"""What StorageTool wants to know of a node: Kafka's own words for where its directory is."""
Outcomes: TypeAlias = Sequence[tuple[str, str]]
"""Each call, and "yes", or why it does not work."""
AUTO: Final = "auto.create.topics.enable=true"
"""Runs have it off; whoever uses these tools has it on."""
LONGEST_S: Final = 40.0
SHOWN_S: Final = 20.0
RESULT: Final = "result.json"
WRONG: Final = 254
FAILED: Final = 255

TOOLS: Final = "org.apache.kafka.tools."
GROUPS: Final = f"{TOOLS}consumer.group.ConsumerGroupCommand"
REASSIGN: Final = f"{TOOLS}reassign.ReassignPartitionsCommand"
CONSOLE_CONSUMER: Final = f"{TOOLS}consumer.ConsoleConsumer"
TO_MOVE: Final = '{"version":1,"topics":[{"topic":"tools"}]}'
PLAN: Final = '{"version":1,"partitions":[{"topic":"tools","partition":0,"replicas":[2,3]}]}'
RECORDS: Final = '{"version":1,"partitions":[{"topic":"tools","partition":1,"offset":-1}]}'


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool. `arguments`: with {brokers} and other places to be filled in (`places`).
    `shows`: what the output must have (a pattern). `typed`: what the tool reads. `ends`: by
    itself; else it is ended once it has shown that, or after 20 s."""

    main: str
    arguments: str
    shows: str = ""
    typed: str = ""
    ends: bool = True

    @property
    def title(self) -> str:
        """The call, as somebody would type it."""
        words = f"{self.main.rpartition('.')[2]} {self.arguments}".replace("{files}/", "")
        shorter = re.sub(r"--(bootstrap-server|command-property) \{brokers\} ?", "", words)
        shorter = shorter.replace("--bootstrap-controller {controllers}", "(controllers)")
        shorter = shorter.replace("{brokers}", "...")
        return re.sub(r"\{(\w+)\}", lambda place: place[1].upper(), shorter).strip()


def of_brokers(main: str, arguments: str, shows: str = "", typed: str = "") -> Call:
    """A call that goes to the brokers."""
    return Call(main, f"--bootstrap-server {{brokers}} {arguments}", shows, typed)


def topics(arguments: str, shows: str = "") -> Call:
    return of_brokers(f"{TOOLS}TopicCommand", arguments, shows)


def configs(arguments: str, shows: str = "") -> Call:
    return of_brokers("kafka.admin.ConfigCommand", arguments, shows)


def features(arguments: str, shows: str) -> Call:
    return of_brokers(f"{TOOLS}FeatureCommand", arguments, shows)


def dump(arguments: str, shows: str = "") -> Call:
    return Call("kafka.tools.DumpLogSegments", arguments, shows)


CALLS: Final = (
    topics("--create --topic tools --partitions 3 --replication-factor 3", "Created topic"),
    topics("--create --topic tools --if-not-exists"),
    topics("--create --topic some --config max.message.bytes=100000", "Created topic"),
    topics("--create --topic compact --config cleanup.policy=compact", "Created topic"),
    topics("--list", "tools"),
    topics("--describe --topic tools", "PartitionCount: 3"),
    topics("--describe --topics-with-overrides", "max.message.bytes"),
    topics("--alter --topic some --partitions 4"),
    configs("--entity-type topics --entity-name tools --describe --all", "min.insync.replicas=1"),
    configs(
        "--entity-type topics --entity-name tools --alter --add-config min.insync.replicas=2",
        "Completed updating",
    ),
    configs(
        "--entity-type topics --entity-name tools --alter --add-config retention.ms=600000",
        "Completed updating",
    ),
    configs("--entity-type brokers --entity-name 2 --describe --all", "broker.id=2|node.id=2"),
    configs(
        "--entity-type brokers --entity-default --alter --add-config message.max.bytes=900000",
        "Completed updating",
    ),
    configs("--entity-type brokers --entity-default --describe", "message.max.bytes=900000"),
    configs(
        "--entity-type brokers --entity-name 3 --alter --add-config message.max.bytes=800000",
        "Completed updating",
    ),
    configs("--entity-type brokers --entity-name 3 --describe", "message.max.bytes=800000"),
    configs(
        "--entity-type brokers --entity-name 3 --alter --delete-config message.max.bytes",
        "Completed updating",
    ),
    configs("--entity-type broker-loggers --entity-name 3 --describe", "=(INFO|ERROR|WARN)"),
    configs("--entity-type groups --entity-name readers --describe"),
    configs("--entity-type client-metrics --describe"),
    configs("--entity-type users --describe"),
    Call(
        "kafka.admin.ConfigCommand",
        "--bootstrap-controller {controllers} --entity-type brokers --entity-name 1 --describe "
        "--all",
        "node.id=1|controller.id=1",
    ),
    of_brokers(
        f"{TOOLS}VerifiableProducer", "--topic tools --max-messages 20", '"acked":20|"value":"19"'
    ),
    of_brokers(f"{TOOLS}ConsoleProducer", "--topic made-on-the-way", typed="a\nb\n"),
    of_brokers(
        CONSOLE_CONSUMER, "--topic made-on-the-way --from-beginning --max-messages 2", "total of 2"
    ),
    of_brokers(
        f"{TOOLS}ProducerPerformance",
        "--topic some --num-records 2000 --record-size 100 --throughput -1",
        "2000 records sent",
    ),
    of_brokers(f"{TOOLS}ConsumerPerformance", "--topic some --num-records 2000", "2000"),
    of_brokers(
        f"{TOOLS}VerifiableConsumer",
        "--topic tools --group-id readers --max-messages 20",
        "offsets_committed",
    ),
    of_brokers(
        f"{TOOLS}VerifiableConsumer",
        "--topic tools --group-id next --max-messages 20 --group-protocol consumer",
        "offsets_committed",
    ),
    of_brokers(f"{TOOLS}GetOffsetShell", "--topic tools", "tools:0:"),
    of_brokers(f"{TOOLS}GetOffsetShell", "--topic tools --time earliest", "tools:0:0"),
    of_brokers(f"{TOOLS}GetOffsetShell", "--topic tools --time max-timestamp", "tools:"),
    of_brokers(
        f"{TOOLS}EndToEndLatency",
        "--topic tools --num-records 20 --producer-acks all --record-size 100",
        "99th = ",
    ),
    Call(
        f"{TOOLS}ReplicaVerificationTool",
        "--broker-list {brokers} --topics-include tools --time -2 --report-interval-ms 1000",
        "max lag is 0 for partition tools-",
        ends=False,
    ),
    of_brokers(f"{TOOLS}GroupsCommand", "--list", "readers +Classic"),
    of_brokers(GROUPS, "--list", "readers"),
    of_brokers(GROUPS, "--describe --group readers", "CURRENT-OFFSET"),
    of_brokers(GROUPS, "--describe --group readers --state", "Empty"),
    of_brokers(GROUPS, "--describe --group readers --members"),
    of_brokers(
        GROUPS,
        "--reset-offsets --group readers --topic tools --to-earliest --execute",
        "NEW-OFFSET",
    ),
    of_brokers(GROUPS, "--delete-offsets --group readers --topic tools", "Successful|successful"),
    of_brokers(GROUPS, "--delete --group readers", "was successful"),
    of_brokers(f"{TOOLS}LeaderElectionCommand", "--election-type preferred --all-topic-partitions"),
    of_brokers(
        f"{TOOLS}LeaderElectionCommand", "--election-type unclean --topic tools --partition 0"
    ),
    of_brokers(REASSIGN, "--execute --reassignment-json-file {files}/plan.json", "Successfully"),
    of_brokers(REASSIGN, "--verify --reassignment-json-file {files}/plan.json", "is complete"),
    of_brokers(REASSIGN, "--list", "No partition reassignments"),
    of_brokers(
        REASSIGN,
        "--generate --topics-to-move-json-file {files}/topics.json --broker-list 2,3,4",
        "Proposed partition reassignment",
    ),
    topics("--describe --under-replicated-partitions"),
    of_brokers(
        f"{TOOLS}DeleteRecordsCommand", "--offset-json-file {files}/records.json", "low_watermark"
    ),
    of_brokers(f"{TOOLS}LogDirsCommand", "--describe --topic-list tools", '"partition":"tools-0"'),
    of_brokers(f"{TOOLS}MetadataQuorumCommand", "describe --status", "LeaderId"),
    of_brokers(f"{TOOLS}MetadataQuorumCommand", "describe --replication", "Leader"),
    Call(
        f"{TOOLS}MetadataQuorumCommand",
        "--bootstrap-controller {controllers} describe --status",
        "LeaderId",
    ),
    Call(f"{TOOLS}ClusterTool", "cluster-id --bootstrap-server {brokers}", "Cluster ID"),
    Call(f"{TOOLS}ClusterTool", "list-endpoints --bootstrap-server {brokers}", "broker"),
    Call(
        f"{TOOLS}ClusterTool", "list-endpoints --bootstrap-controller {controllers}", "controller"
    ),
    features("describe", "Feature"),
    Call(f"{TOOLS}FeatureCommand", "--bootstrap-controller {controllers} describe", "Feature: \\w"),
    features("upgrade --feature {feature}=2", "upgraded to 2"),
    features("upgrade --feature {feature}=2 --dry-run", "can be upgraded to 2"),
    features("downgrade --feature {feature}=1", "downgraded to 1"),
    of_brokers(f"{TOOLS}BrokerApiVersionsCommand", "", "Metadata"),
    of_brokers(f"{TOOLS}TransactionsCommand", "list", "TransactionalId"),
    of_brokers(
        f"{TOOLS}TransactionsCommand",
        "describe-producers --topic tools --partition 0",
        "ProducerId",
    ),
    of_brokers(f"{TOOLS}TransactionsCommand", "find-hanging --broker 2"),
    Call(
        f"{TOOLS}TransactionalMessageCopier",
        "--broker-list {brokers} --transactional-id x --input-topic tools --output-topic some "
        "--input-partition 0 --transaction-size 1 --max-messages 1 --consumer-group copier",
        "ShutdownComplete",
    ),
    of_brokers(f"{TOOLS}AclCommand", "--list"),
    of_brokers(f"{TOOLS}ClientMetricsCommand", "--list"),
    of_brokers(f"{TOOLS}DelegationTokenCommand", "--describe --command-config {files}/none"),
    of_brokers(f"{TOOLS}consumer.group.ShareGroupCommand", "--list"),
    of_brokers(f"{TOOLS}streams.StreamsGroupCommand", "--list"),
    Call("kafka.tools.StorageTool", "info --config {files}/b1.properties", "node.id=2, version=1"),
    dump("--files {partitions} --print-data-log", "payload: 19\\b"),
    dump("--files {offsets} --offsets-decoder", "readers"),
    dump("--files {metadata}", "baseOffset: .*isvalid: true"),
    dump("--files {snapshot}", "baseOffset: .*isvalid: true"),
    dump("--files {metadata} --cluster-metadata-decoder", '"type":"TOPIC_RECORD"'),
    topics("--delete --topic some"),
    Call(
        f"{TOOLS}ClusterTool",
        "unregister --bootstrap-server {brokers} --id 4",
        "no longer registered",
    ),
)


def outcome(call: Call, places: Mapping[str, str]) -> str:
    """ "yes", or why it does not work."""
    argv = command(call.main, *call.arguments.format(**places).split())
    if not call.ends:
        return shown(argv, call.shows)
    try:
        done = subprocess.run(
            argv, input=call.typed, capture_output=True, text=True, timeout=LONGEST_S
        )
    except subprocess.TimeoutExpired:
        return f"no end within {LONGEST_S:.0f} s"
    said = done.stdout + done.stderr
    if done.returncode == 0 and re.search(call.shows, said):
        return "yes"
    return why(said) or f"exit code {done.returncode}, nothing said"


def shown(argv: Sequence[str], pattern: str) -> str:
    """ "yes" once what does not end by itself has shown this, or what it says last."""
    last = "nothing said"
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        end = threading.Timer(SHOWN_S, process.kill)
        end.start()
        assert process.stdout is not None
        for line in process.stdout:
            last = line.strip() or last
            if re.search(pattern, line):
                last = "yes"
                break
        end.cancel()
        process.kill()
    return last.replace("|", "/")[:160]


def why(said: str) -> str:
    """The first line that names what is wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [
        line for line in lines if re.search(r"Exception|[Ee]rror|not support|ould not|fail", line)
    ]
    found = next((line for line in telling if "Exception:" in line), None)
    line = found or next(iter(telling or lines), "")
    line = re.sub(r"^\[main\] ERROR [\w.]+ - ", "", line)
    line = re.sub(r"^.*Exception in thread \"main\" [\w.]*: ", "", line)
    line = re.sub(
        r"(java\.util\.concurrent|org\.apache\.kafka\.common)[\w.$]*Exception: ", "", line
    )
    return line.replace("|", "/")[:160]


def places(system: str, folder: Path) -> dict[str, str]:
    """What calls name, as it is now: addresses, a feature that has a second level, files that they
    are given, and those of a broker and of the controller, whose directories are below `folder`."""
    (nodes,) = folder.glob("kraft-proof-*/nodes")
    logs = [path for path in nodes.glob("b1/data/**/*.log") if METADATA not in path.parent.name]
    metadata = f"c1/data/__*{METADATA}"
    return {
        "brokers": os.environ["BOOTSTRAP_SERVERS"],
        "controllers": os.environ["CONTROLLER_SERVERS"],
        "feature": FEATURES[system],
        "files": str(folder),
        "partitions": ",".join(map(str, logs)),
        "offsets": ",".join(str(path) for path in logs if b"readers" in path.read_bytes()),
        "metadata": ",".join(map(str, nodes.glob(f"{metadata}/0*.log"))),
        "snapshot": str(max(nodes.glob(f"{metadata}/0*.checkpoint"), default="none")),
    }


def of_tools(system: str, folder: Path) -> Outcomes:
    """Make all calls of Kafka's tools where the cluster can be reached."""
    (nodes,) = folder.glob("kraft-proof-*/nodes")
    texts = {"plan.json": PLAN, "records.json": RECORDS, "topics.json": TO_MOVE, "none": ""}
    for name, text in {**texts, "b1.properties": B1.format(nodes / "b1" / "data")}.items():
        (folder / name).write_text(text)
    return [(f"`{call.title}`", outcome(call, places(system, folder))) for call in CALLS]


def here(part: str, system: str, folder: Path) -> None:
    """Make a part's calls where the cluster can be reached; what came of them goes to a file."""
    if part == TOOLS_OF_KAFKA:
        found = of_tools(system, folder / system)
    else:
        argv = java_client.command(folder) if part == JAVA_CLIENT else [str(folder / part)]
        found = programs.outcomes(part, argv)
    (folder / RESULT).write_text(json.dumps(found))


def of_system(system: str, part: str, folder: Path) -> Outcomes:
    """What came of each call of a part on a cluster of this system. `folder`: with the programs.
    Raises `EngineError` where the cluster or the part ended early."""
    module = [sys.executable, "-m"]
    up = [*module, "framework", "up", "--system", system, "--hosts", "namespaces"]
    up += ["--nodes", "1+3", "--set", f"broker:{AUTO}", "--"]
    asked = ["benchmarks.kafka_tools", "--only", part, "--system", system, "--here", str(folder)]
    (folder / system).mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(folder / system)}  # there nodes' directories are
    done = subprocess.run([*up, *module, *asked], stdout=sys.stderr, env=environment)
    code = done.returncode
    if code != 0:
        raise EngineError(f"{part} on {SYSTEMS[system]}: exit code {code}")
    return [(call, came) for call, came in json.loads((folder / RESULT).read_text())]


def heading(part: str) -> str:
    if part == TOOLS_OF_KAFKA:
        return f"Kafka's command line tools, {VERSION}"
    if part == JAVA_CLIENT:
        return f"Kafka's Java client with its defaults, {VERSION}"
    return f"{part} {programs.version(part)}"


def table(found: Mapping[str, Outcomes]) -> str:
    """One client's, in Markdown, with a last line that counts. `found`: by system, of the same
    calls. Raises `EngineError` where they are not."""
    calls = [call for call, _ in next(iter(found.values()))]
    for system, each in found.items():
        if [call for call, _ in each] != calls:
            raise EngineError(f"{SYSTEMS[system]} was asked for other calls")
    rows = [("call", *(SYSTEMS[system] for system in found)), ("---",) * (len(found) + 1)]
    rows += [
        (call, *(each[number][1] for each in found.values())) for number, call in enumerate(calls)
    ]
    worked = [sum(came == "yes" for _, came in each) for each in found.values()]
    rows.append((f"{len(calls)} calls", *map(str, worked)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def page(found: Mapping[str, Mapping[str, Outcomes]]) -> str:
    """By part, by system."""
    parts = [f"## {heading(part)}\n\n{table(each)}" for part, each in found.items()]
    return "\n\n".join([HEAD, *parts, refusals.section()])


def prepare(parts: Sequence[str], systems: Sequence[str], folder: Path) -> None:
    """Have all that these parts and systems want on this machine, programs in the folder, before
    anything is started. Raises `UsageError`, `EngineError`."""
    programs.build([part for part in parts if part in programs.CLIENTS], folder)
    if "kafka" in systems or {TOOLS_OF_KAFKA, JAVA_CLIENT} & set(parts):
        KafkaSystem().get(command_line.VERSION)
    if JAVA_CLIENT in parts:
        java_client.build(folder)


def asked_for(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--system", choices=SYSTEMS, action="append", help="one of them alone")
    parser.add_argument("--only", choices=PARTS, action="append", help="one of them alone")
    asked = parser.parse_args(arguments)
    asked.system, asked.only = asked.system or list(SYSTEMS), asked.only or list(PARTS)
    return asked


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, or 254 for what this machine lacks, 255 where a part did not end."""
    asked = asked_for(arguments)
    try:
        if asked.here is not None:
            here(asked.only[0], asked.system[0], asked.here)
            return 0
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            prepare(asked.only, asked.system, folder)
            found = {
                part: {system: of_system(system, part, folder) for system in asked.system}
                for part in asked.only
            }
        print(page(found))
    except (UsageError, EngineError) as error:
        print(f"kafka_tools: {error}", file=sys.stderr)
        return WRONG if isinstance(error, UsageError) else FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
