"""What all runs of a folder came to, night by night, as tables: of `results/outcomes`. Pure.

A night goes from noon to noon, UTC, and has the date that it begins on: a nightly that passes
midnight is one.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

NIGHT: Final = "night"
ORDER: Final = ("INVALID", "UNKNOWN", "VALID")
FELL: Final = 0.5
"""A checker that saw less than this share of what it used to is named."""
RATIOS: Final[Mapping[str, tuple[str, str, str]]] = {
    "faults that were seen to bite": ("faults-bit", "bit", "injections"),
    "faults that were seen to be gone": ("faults-bit", "healed", "injections"),
}
"""Shares of what two figures of a checker count; where there is no such checker, none."""


@dataclass(frozen=True, slots=True)
class Trends:
    """Every table has nights as its index, in order, but for `failing` and `fallen`."""

    runs: int
    nights: list[str]
    verdicts: pd.DataFrame
    """Runs by verdict."""
    clauses: pd.DataFrame
    """Of clauses that were ever not VALID: night, clause, verdict (the worst), bad, of."""
    failing: list[dict[str, Any]]
    """Clauses that were INVALID: clause, since, last, bad, of, still, run (the last one)."""
    rates: pd.DataFrame
    """Shares, 0 to 1."""
    latencies: pd.DataFrame
    """Medians over a night's runs, ms, by kind of operation and percentile."""
    times: pd.DataFrame
    """Medians, s: of checkers' figures, and of what a run's user waits for."""
    seen: pd.DataFrame
    """Medians, by checker."""
    fallen: list[dict[str, Any]]
    """Checkers that saw much less in the last night: checker, now, before."""


def trends(table: pd.DataFrame) -> Trends:
    """`table`: of `framework.checking.outcomes_table.OUTCOMES`. Rows without a time are left
    out."""
    table = table[table["when"].notna()].copy()
    table[NIGHT] = (table["when"] - pd.Timedelta(hours=12)).dt.strftime("%Y-%m-%d")
    runs = table[(table["checker"] == "") & (table["clause"] == "")]
    of_checkers = table[(table["checker"] != "") & (table["clause"] == "")]
    clauses = table[table["clause"] != ""]
    figures = _figures(table[table["figures"].notna()])
    nights = sorted(table[NIGHT].unique())
    seen = _medians(of_checkers.assign(value=of_checkers["seen"].astype(float)), "checker", nights)
    return Trends(
        runs=int(runs["run"].nunique()),
        nights=nights,
        verdicts=_verdicts(runs, nights),
        clauses=_bad_clauses(clauses),
        failing=_failing(clauses),
        rates=_rates(runs, clauses, figures, nights),
        latencies=_of_unit(figures, "_ms", nights),
        times=_of_unit(figures, "_s", nights),
        seen=seen,
        fallen=_fallen(seen),
    )


def _figures(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a figure: run, night, checker, name, value. What is no number is left out."""
    found = [
        (run, night, checker, name, float(value))
        for run, night, checker, text in zip(
            rows["run"], rows[NIGHT], rows["checker"], rows["figures"], strict=True
        )
        for name, value in _numbers(text)
    ]
    return pd.DataFrame(found, columns=["run", NIGHT, "checker", "name", "value"])


def _numbers(text: str) -> list[tuple[str, float]]:
    try:
        figures = json.loads(text)
    except ValueError:
        return []
    pairs = figures.items() if isinstance(figures, dict) else ()
    return [(name, value) for name, value in pairs if type(value) in (int, float)]


def _verdicts(runs: pd.DataFrame, nights: list[str]) -> pd.DataFrame:
    counts = runs.groupby([NIGHT, "verdict"])["run"].nunique().unstack(fill_value=0)
    return counts.reindex(index=nights, columns=list(ORDER), fill_value=0)


def _named(clauses: pd.DataFrame) -> pd.Series:
    """A clause by its name; with its checker's before it, where that is another."""
    own = clauses["checker"] == clauses["clause"]
    return clauses["checker"].where(own, clauses["checker"] + ": " + clauses["clause"])


def _bad_clauses(clauses: pd.DataFrame) -> pd.DataFrame:
    """Of the clauses that were ever anything but VALID, a row a night in which they were judged."""
    judged = clauses[clauses["verdict"].notna()]
    ranks = judged["verdict"].map({name: rank for rank, name in enumerate(ORDER)})
    judged = judged.assign(clause=_named(judged), rank=ranks, bad=ranks < 2)
    judged = judged[judged["clause"].isin(judged.loc[judged["bad"], "clause"])]
    found = judged.groupby(["clause", NIGHT]).agg(
        rank=("rank", "min"),
        bad=("rank", lambda ranks: int((ranks < 2).sum())),
        of=("rank", "size"),
    )
    return found.assign(verdict=found["rank"].map(dict(enumerate(ORDER)))).reset_index()


def _failing(clauses: pd.DataFrame) -> list[dict[str, Any]]:
    """Those that still fail first, then what failed last."""
    judged = clauses[clauses["verdict"].notna()]
    judged = judged.assign(clause=_named(judged)).sort_values(["when", "run"])
    found = []
    for clause, rows in judged.groupby("clause"):
        bad = rows[rows["verdict"] == "INVALID"]
        if bad.empty:
            continue
        last = rows[NIGHT].iloc[-1]
        found.append(
            {
                "clause": clause,
                "since": bad[NIGHT].iloc[0],
                "last": bad[NIGHT].iloc[-1],
                "bad": len(bad),
                "of": len(rows),
                "still": bad[NIGHT].iloc[-1] == last,
                "run": bad["run"].iloc[-1],
            }
        )
    found.sort(key=lambda each: (each["still"], each["last"]), reverse=True)
    return found


def _rates(
    runs: pd.DataFrame, clauses: pd.DataFrame, figures: pd.DataFrame, nights: list[str]
) -> pd.DataFrame:
    """How often runs hit what they are for: occasions of clauses, faults that bit, what is
    wrong; and the checkers' own figures that are called rates."""
    columns: dict[str, pd.Series] = {
        "runs with a finding": (runs["findings"] > 0).groupby(runs[NIGHT]).mean(),
        "clauses with enough occasions": _enough(clauses).groupby(clauses[NIGHT]).mean(),
    }
    for name, (checker, part, whole) in RATIOS.items():
        own = figures[figures["checker"] == checker]
        sums = own.groupby([NIGHT, "name"])["value"].sum().unstack()
        if {part, whole} <= set(sums.columns):
            columns[name] = sums[part] / sums[whole].where(sums[whole] > 0)
    called = figures[figures["name"].str.contains("rate") & figures["value"].between(0, 1)]
    for (owner, rate), rows in called.groupby(["checker", "name"]):
        words = f"{owner}: {rate}".replace("_", " ")
        columns[words] = rows.groupby(NIGHT)["value"].median()
    return pd.DataFrame(columns).reindex(nights)


def _enough(clauses: pd.DataFrame) -> pd.Series:
    return clauses["verdict"].notna() & (clauses["compared"] >= clauses["floor"])


def _of_unit(figures: pd.DataFrame, unit: str, nights: list[str]) -> pd.DataFrame:
    """Figures by the end of their names; of those with rows (`create.p99_ms`) the row and column,
    of others the checker before them. A single fault's (`fault.3.lasted_s`) are no trend."""
    own = figures[figures["name"].str.endswith(unit) & ~figures["name"].str.match(r".*\.\d+\.")]
    words = own["name"].str.removesuffix(unit).str.replace("_", " ")
    alone = ~words.str.contains(".", regex=False) & (own["checker"] != "")
    words = words.where(~alone, own["checker"] + ": " + words).str.replace(".", " ")
    return _medians(own.assign(name=words), "name", nights)


def _medians(rows: pd.DataFrame, by: str, nights: list[str]) -> pd.DataFrame:
    return rows.groupby([NIGHT, by])["value"].median().unstack().reindex(nights)


def _fallen(seen: pd.DataFrame) -> list[dict[str, Any]]:
    """Against the median of all nights before, of checkers that saw something in the last."""
    if len(seen) < 2:
        return []
    pairs = zip(seen.columns, seen.iloc[-1], seen.iloc[:-1].median(), strict=True)
    found = [
        {"checker": str(checker), "now": float(now), "before": float(before)}
        for checker, now, before in pairs
        if now < FELL * before  # never of what is not known
    ]
    return sorted(found, key=lambda each: each["now"] / each["before"])
