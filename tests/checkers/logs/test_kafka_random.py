"""Random histories: nothing is found in clean ones, and in any at all what the definitions say."""

import json
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pytest
from kafka_histories import Events, anything, singles, table, transactions
from naive_kafka import naive

from checkers.logs.cases import ANOMALIES
from checkers.logs.judge import judge
from checkers.logs.rows import rows

NAMES = {name for anomaly in ANOMALIES for name in (anomaly, f"{anomaly} (allowed)")}


def judged(histories: Mapping[str, Events]) -> list[dict[str, str]]:
    tables = [table(events, run) for run, events in histories.items()]
    found: list[dict[str, str]] = judge(rows(pa.concat_tables(tables))).to_pylist()
    return found


@pytest.mark.parametrize("make", [transactions, singles])
def test_nothing_is_found_in_clean_histories(make: Callable[[int], Events]) -> None:
    found = judged({str(seed): make(seed) for seed in range(150)})
    assert [row for row in found if row["verdict"] != "VALID"] == []
    figures = Counter[str]()
    for row in found:
        figures.update(json.loads(row["figures"]))
    assert figures["sent"] > 2000 and figures["polled"] > 5000
    assert figures["unpolled"] == figures["without_final_read"] == 0
    if make is transactions:  # what is allowed does happen
        assert {"int-send-skip (allowed)", "poll-skip (allowed)"} <= set(figures)
        assert figures["consumed_again"] > 0 and figures["max_realtime_lag_ms"] > 0


def test_any_history_is_judged_as_the_definitions_say() -> None:
    histories = {str(seed): anything(seed) for seed in range(600)}
    found: dict[str, Counter[tuple[str, str]]] = {run: Counter() for run in histories}
    for row in judged(histories):
        for name, count in json.loads(row["figures"]).items():
            if name in NAMES:
                found[row["run"]][row["key"], name] = count
    wanted = {run: naive(events) for run, events in histories.items()}
    assert found == wanted
    reported = Counter(name for cases in wanted.values() for _, name in cases)
    assert len(reported) >= 15 and min(reported.values()) >= 5, "every kind of case has to come up"


def test_the_order_of_rows_does_not_matter() -> None:
    for seed in range(40):
        whole = rows(table(anything(seed)))
        shuffled = whole.take(np.random.default_rng(seed).permutation(whole.num_rows))
        assert judge(shuffled).to_pylist() == judge(whole).to_pylist()


def test_runs_and_keys_are_judged_apart() -> None:
    histories = {str(seed): anything(seed) for seed in range(30)}
    together = judged(histories)
    apart = [row for run in sorted(histories) for row in judged({run: histories[run]})]
    assert together == apart
