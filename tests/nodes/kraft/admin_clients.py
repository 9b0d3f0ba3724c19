"""Waiting for brokers' caches, and futures of confluent-kafka."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaException
from kafka import errors
from loopback import until


def eventually(condition: Callable[[], Any]) -> None:
    """Wait until the brokers' caches have it (B.9.10); until then they may say anything."""

    def holds() -> bool:
        try:
            return bool(condition())
        except (KafkaException, errors.KafkaError):
            return False

    until(holds)


def results(futures: dict[Any, Any]) -> list[Any]:
    return [future.result(120) for future in futures.values()]


def error_of(futures: dict[Any, Any]) -> str:
    with pytest.raises(KafkaException) as caught:
        results(futures)
    return str(caught.value.args[0].name())
