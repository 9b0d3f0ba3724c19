"""What node logs tell of trouble."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.kafka_files.node_logs import TROUBLE, read_node_log


def trouble(*lines: str) -> list[dict[str, Any]]:
    table = read_node_log("\n".join(lines).encode())
    assert table.schema == TROUBLE
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def test_python_log_with_a_traceback() -> None:
    (row,) = trouble(
        "2026-11-22 11:19:26,493 INFO nodes.kraft.server: listening",
        "2026-11-22 11:19:27,000 ERROR asyncio: Task exception was never retrieved",
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in f',
        "ValueError: no",
        "",
        "During handling of the above exception, another exception occurred:",
        "Traceback (most recent call last):",
        "KeyError: 'k'",
        "2026-11-22 11:19:28,000 INFO nodes.kraft.server: all is well",
    )
    assert (row["line"], row["level"], row["logger"]) == (2, "ERROR", "asyncio")
    assert row["message"] == "Task exception was never retrieved"
    assert row["trace"].startswith("Traceback") and row["trace"].endswith("KeyError: 'k'")
    assert not row["fatal"]


def test_process_that_died_of_an_exception() -> None:
    (row,) = trouble(
        "2026-11-22 11:19:26,493 INFO nodes.kraft.server: listening",
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in f',
        "SystemError: gone",
    )
    assert (row["line"], row["level"]) == (2, None)
    assert row["trace"].endswith("SystemError: gone")


def test_log4j_with_stack_traces() -> None:
    first, second, third = trouble(
        "[2026-11-22 11:00:00,000] INFO Started (kafka.server.KafkaServer)",
        "[2026-11-22 11:00:01,000] WARN odd (kafka.log.LogManager)",
        "java.io.IOException: No space left on device",
        "\tat sun.nio.ch.FileDispatcherImpl.write0(Native Method)",
        "\t... 12 more",
        "Caused by: java.lang.RuntimeException",
        "[2026-11-22 11:00:02,000] ERROR Shutdown broker (kafka.log.LogManager)",
        "[2026-11-22 11:00:03,000] FATAL Exiting Kafka. (kafka.Kafka$)",
    )
    assert (first["line"], first["level"]) == (2, "WARN") and "12 more" in first["trace"]
    assert (second["logger"], second["message"]) == ("kafka.log.LogManager", "Shutdown broker")
    assert third["fatal"] and not second["fatal"]


def test_slf4j_simple_and_last_words() -> None:
    first, second = trouble(
        "[main] INFO kafka.Kafka - starting",
        "[main] ERROR kafka.server.KafkaRaftServer - Fatal error",
        "[main] INFO kafka.Kafka - on",
        "java.lang.OutOfMemoryError: Java heap space",
    )
    assert (first["logger"], first["fatal"]) == ("kafka.server.KafkaRaftServer", False)
    assert (second["line"], second["fatal"]) == (4, True)


def test_thread_or_process_of_a_broker_that_did_not_go_on() -> None:
    rows = trouble(
        "[2026-11-22 11:00:00,000] INFO Started (kafka.server.KafkaServer)",
        'Exception in thread "data-plane" java.lang.IllegalStateException: no',
        "\tat kafka.server.KafkaApis.handle(KafkaApis.scala:1)",
        "[2026-11-22 11:00:01,000] ERROR Uncaught exception in thread 'raft-io': "
        "(org.apache.kafka.common.utils.KafkaThread)",
        "[2026-11-22 11:00:02,000] ERROR Encountered fatal fault: no leader "
        "(org.apache.kafka.server.fault.ProcessTerminatingFaultHandler)",
        "[2026-11-22 11:00:03,000] ERROR Encountered metadata loading fault: no "
        "(org.apache.kafka.server.fault.LoggingFaultHandler)",
    )
    assert [(row["line"], row["fatal"]) for row in rows] == [
        (2, True),
        (4, True),
        (5, True),
        (6, False),
    ]
    assert rows[0]["trace"].startswith("\tat kafka")


def test_python_thread_that_ended_is_one_piece_with_its_traceback() -> None:
    (row,) = trouble(
        "Exception in thread Thread-1 (work):",
        "Traceback (most recent call last):",
        "ValueError: no",
    )
    assert row["trace"].endswith("ValueError: no") and row["fatal"]


def test_log_without_trouble() -> None:
    assert not trouble(
        "2026-11-22 11:19:26,493 INFO nodes.kraft.server: no ERROR here",
        "2026-11-22 11:19:26,493 WARNING x: slow",
        "[2026-11-22 11:00:00,000] INFO error rate 0 (kafka.x)",
        "a line of nobody's",
    )


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=200))
def test_no_log_raises(data: bytes) -> None:
    read_node_log(data)
