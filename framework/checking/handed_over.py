"""What tasks of a running job of Spark's hand to the driver, each at its own end.

A task's additions to an accumulator travel with the word that it has ended, once, and only if it
has not failed. Here they are not added up: who waits for them takes them.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final, TypeAlias
from uuid import uuid4

from framework.plugins.checker import SparkSession

HandOver: TypeAlias = Callable[[list[Any]], None]
"""In a task: these go to the driver when it ends. It travels there."""
_ENDED: Final = object()


class _Inbox:
    """What was handed over and not taken yet, and how the job ended."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[Any] = SimpleQueue()
        self.error: Exception | None = None

    def extend(self, more: list[Any]) -> None:
        for each in more:
            self.queue.put(each)


class _Extended:
    """An `AccumulatorParam`: on the driver of an inbox, in tasks of lists."""

    def zero(self, value: _Inbox | list[Any]) -> list[Any]:
        return []

    def addInPlace(self, value: Any, more: list[Any]) -> Any:
        value.extend(more)
        return value


def handed_over(spark: SparkSession, job: Callable[[HandOver], None]) -> Iterator[Any]:
    """Runs `job`, which is to wait for jobs of Spark's whose tasks hand over, in a thread, and
    gives what they hand over, as it comes. Raises what it raises, behind what came before that.
    Who stops asking ends the job."""
    from pyspark import InheritableThread

    context, inbox, tag = spark.sparkContext, _Inbox(), f"handed-over-{uuid4()}"
    accumulator = context.accumulator(inbox, _Extended())

    def run() -> None:
        try:
            context.addJobTag(tag)
            job(accumulator.add)
        except Exception as error:
            inbox.error = error
        finally:
            inbox.queue.put(_ENDED)

    thread = InheritableThread(target=run, name="spark-job", daemon=True)
    thread.start()
    try:
        while (each := inbox.queue.get()) is not _ENDED:
            yield each
    finally:
        if thread.is_alive():
            with suppress(Exception):
                context.cancelJobsWithTag(tag)
        thread.join()
    if inbox.error is not None:
        raise inbox.error
