"""When a partition counts as seen: pure judgements on what probes saw."""

from nemesis.partition.reach import Pair, Seen, judge, pairs

CUT: list[Pair] = [("a", "b"), ("b", "a")]
FREE: list[Pair] = [("a", "c"), ("c", "a")]


def seen(arrives: dict[Pair, bool], dropped: int | None) -> Seen:
    """All arrive but those given; the rules of a and b counted so many packets (None: no rule)."""
    table = {} if dropped is None else {"a": {"b": dropped}, "b": {"a": dropped}}
    empty: dict[str, dict[str, int]] = {"a": {}, "b": {}}
    zero = empty if dropped is None else {"a": {"b": 0}, "b": {"a": 0}}
    return Seen(
        reached={**dict.fromkeys([*CUT, *FREE], True), **arrives},
        before=zero,
        after={**empty, **table},
    )


def test_it_bites() -> None:
    assert judge(CUT, FREE, seen(dict.fromkeys(CUT, False), 1)).bites is True


def test_it_does_not_bite() -> None:
    assert judge(CUT, FREE, seen({}, None)).bites is False


def test_silence_without_our_rule_proves_nothing() -> None:
    assert judge(CUT, FREE, seen(dict.fromkeys(CUT, False), None)).bites is None


def test_silence_that_our_rule_did_not_count_proves_nothing() -> None:
    assert judge(CUT, FREE, seen(dict.fromkeys(CUT, False), 0)).bites is None


def test_a_rule_that_lets_packets_through_is_not_healed() -> None:
    assert judge(CUT, FREE, seen({}, 0)).bites is None


def test_half_a_cut_is_neither() -> None:
    assert judge(CUT, FREE, seen({("a", "b"): False}, 1)).bites is None


def test_a_cut_that_silences_others_too_is_not_ours() -> None:
    probe = judge(CUT, FREE, seen({**dict.fromkeys(CUT, False), ("a", "c"): False}, 1))
    assert probe.bites is None
    assert probe.evidence["free_but_silent"] == ["a->c"]


def test_one_way_cuts_leave_no_free_pair_behind() -> None:
    cut, free = pairs({"b": ["a"]}, ["a", "b", "c"])
    assert cut == [("a", "b")]
    assert ("b", "a") not in free, "the answer is dropped, so no connection proves anything"
    assert set(free) == {("a", "c"), ("c", "a"), ("b", "c"), ("c", "b")}
