"""`python -m checkers.precompile`: compiles kernels ahead, so that no check waits for it.

Without an option those that the check of a run needs where nothing is wrong: the reading of its
history, topics, Kafka logs. `--all`: every method of linearizability besides, as `check --model`
may need, or an explanation. The code is kept on disk (`framework/compiled.py`), and a check that
finds none compiles what it calls, so that none of this has to be done.
"""

import argparse
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final

from checkers.linearizability import precompile as linearizability
from checkers.linearizability.methods.grow_only import METHOD as GROW_ONLY
from checkers.linearizability.methods.table import METHODS
from checkers.logs import precompile as logs
from checkers.topic_linearizability import check_names
from framework.history.reader import read

_HISTORY: Final = """
{"index":0,"time":1,"type":"invoke","process":0,"f":"write","key":"x","value": {"a": [1, null]}}
{"index":1,"time":2,"type":"ok","process":0,"f":"write","key":"x","value":2,"ext":{"epoch":1}}
{"index":2,"time":3,"type":"invoke","process":"nemesis","f":"start","value":null}
{"index":3,"time":4,"type":"invoke","process":1,"f":"read","key":"x","value":null}
{"index":4,"time":5,"type":"fail","process":1,"f":"read","key":"x","error":["code","text"]}
""".lstrip()


def history() -> None:
    """The reading of histories."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.jsonl"
        path.write_text(_HISTORY)
        read([path])


def topics() -> None:
    """What decides topics, if they are in order."""
    check_names(linearizability.topics(), budget_s=120)


DEFAULT: Final[Mapping[str, Callable[[], None]]] = {
    "topics": topics,
    "Kafka logs": logs.precompile,
    "histories": history,
}
"""What a run needs. The longest first."""
ALL: Final[Mapping[str, Callable[[], None]]] = {
    **DEFAULT,
    **{method.name: partial(linearizability.precompile, method.decide) for method in METHODS},
    GROW_ONLY: linearizability.sets,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m checkers.precompile", description=__doc__)
    parser.add_argument("--all", action="store_true", help="every method of linearizability")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    given = parser.parse_args(arguments)
    parts = ALL if given.all else DEFAULT
    began = monotonic()
    with ProcessPoolExecutor(max(1, given.jobs)) as pool:
        for done in as_completed([pool.submit(part) for part in parts.values()]):
            done.result()
    print(f"kernels are compiled: {', '.join(parts)} ({monotonic() - began:.1f} s)")


if __name__ == "__main__":
    main()
