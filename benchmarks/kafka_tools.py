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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks.kafka_clients import java_client, programs
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
and why in this way: [operating.md](operating.md#what-does-not).

Kafka's tools are called as from a shell, and judged by their exit code and by what they print. Each
client has a program in its language (`benchmarks/kafka_clients`), which looks at what comes back
and gives a call 20 s."""
PARTS: Final = (TOOLS_OF_KAFKA, JAVA_CLIENT, *programs.CLIENTS)
Outcomes: TypeAlias = Sequence[tuple[str, str]]
"""Each call, and "yes", or why it does not work."""
AUTO: Final = "auto.create.topics.enable=true"
"""Runs have it off; whoever uses these tools has it on."""
LONGEST_S: Final = 40.0
RESULT: Final = "result.json"
WRONG: Final = 254
FAILED: Final = 255

TOOLS: Final = "org.apache.kafka.tools."
GROUPS: Final = f"{TOOLS}consumer.group.ConsumerGroupCommand"
REASSIGN: Final = f"{TOOLS}reassign.ReassignPartitionsCommand"
CONSOLE_CONSUMER: Final = f"{TOOLS}consumer.ConsoleConsumer"
PLAN: Final = '{"version":1,"partitions":[{"topic":"tools","partition":0,"replicas":[2,3]}]}'
RECORDS: Final = '{"version":1,"partitions":[{"topic":"tools","partition":1,"offset":-1}]}'


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool. `arguments`: with {brokers}, {controllers} and {files} to be filled in.
    `shows`: what the output must have (a pattern). `typed`: what the tool reads."""

    main: str
    arguments: str
    shows: str = ""
    typed: str = ""

    @property
    def title(self) -> str:
        """The call, as somebody would type it."""
        words = f"{self.main.rpartition('.')[2]} {self.arguments}".replace("{files}/", "")
        shorter = re.sub(r"--(bootstrap-server|command-property) \{brokers\} ?", "", words)
        shorter = shorter.replace("--bootstrap-controller {controllers}", "(controllers)")
        return shorter.replace("{brokers}", "...").strip()


def of_brokers(main: str, arguments: str, shows: str = "", typed: str = "") -> Call:
    """A call that goes to the brokers."""
    return Call(main, f"--bootstrap-server {{brokers}} {arguments}", shows, typed)


def topics(arguments: str, shows: str = "") -> Call:
    return of_brokers(f"{TOOLS}TopicCommand", arguments, shows)


def configs(arguments: str, shows: str = "") -> Call:
    return of_brokers("kafka.admin.ConfigCommand", arguments, shows)


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
    configs("--entity-type users --describe"),
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
    of_brokers(f"{TOOLS}FeatureCommand", "describe", "Feature"),
    of_brokers(f"{TOOLS}BrokerApiVersionsCommand", "", "Metadata"),
    of_brokers(f"{TOOLS}TransactionsCommand", "list", "TransactionalId"),
    of_brokers(
        f"{TOOLS}TransactionsCommand",
        "describe-producers --topic tools --partition 0",
        "ProducerId",
    ),
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


def why(said: str) -> str:
    """The first line that names what is wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"Exception|[Ee]rror|not support|fail", line)]
    found = next((line for line in telling if "Exception:" in line), None)
    line = found or next(iter(telling or lines), "")
    line = re.sub(r"^\[main\] ERROR [\w.]+ - ", "", line)
    line = re.sub(
        r"(java\.util\.concurrent|org\.apache\.kafka\.common)[\w.$]*Exception: ", "", line
    )
    return line.replace("|", "/")[:160]


def of_tools() -> Outcomes:
    """Make all calls of Kafka's tools where the cluster can be reached."""
    with tempfile.TemporaryDirectory() as files:
        for name, text in (("plan.json", PLAN), ("records.json", RECORDS), ("none", "")):
            (Path(files) / name).write_text(text)
        places = {
            "brokers": os.environ["BOOTSTRAP_SERVERS"],
            "controllers": os.environ["CONTROLLER_SERVERS"],
            "files": files,
        }
        return [(f"`{call.title}`", outcome(call, places)) for call in CALLS]


def here(part: str, folder: Path) -> None:
    """Make a part's calls where the cluster can be reached; what came of them goes to a file."""
    if part == TOOLS_OF_KAFKA:
        found = of_tools()
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
    asked = ["benchmarks.kafka_tools", "--only", part, "--here", str(folder)]
    code = subprocess.run([*up, *module, *asked], stdout=sys.stderr).returncode
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
    return "\n\n".join([HEAD, *parts])


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
            here(asked.only[0], asked.here)
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
