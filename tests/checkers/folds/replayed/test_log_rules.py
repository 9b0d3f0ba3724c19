"""Rules of a metadata log by what its system says and what the log has finalized."""

import pytest
from planted_logs import LogStory
from planted_rules import of_rules

from checkers.folds.replayed.log_rules import OF_THE_KIP, Rules
from framework.evidence.systems import HeldRule, LogRule, LogRules


def test_without_a_word_of_the_system_those_of_the_kip_hold() -> None:
    rules = Rules.of(LogStory().run_events())
    assert rules == Rules() == Rules(OF_THE_KIP)
    kip: tuple[LogRule, ...] = (
        "moved-after-fencing",
        "fenced-before-registering",
        "registering-renews-epoch",
        "configured-after-creation",
    )
    assert all(rules.hold(each, {}) for each in kip)
    assert not rules.may_hold("eligible-leaders")


def test_what_the_system_says_holds_alone() -> None:
    rules = Rules.of(LogStory(system=(of_rules("replicas-change"),)).run_events())
    assert rules.hold("replicas-change", {})
    assert not rules.hold("moved-after-fencing", {})


@pytest.mark.parametrize(
    ("since", "below", "held"),
    [(0, 0, (0, 1, 2, 3)), (1, 0, (1, 2, 3)), (0, 2, (0, 1)), (1, 3, (1, 2)), (4, 0, ())],
)
def test_rules_hold_at_levels_of_a_feature(since: int, below: int, held: tuple[int, ...]) -> None:
    """A feature that is not finalized is at level 0."""
    rule: LogRule = "eligible-leaders"
    rules = Rules((HeldRule(rule=rule, feature="f", since=since, below=below),))
    found = [level for level in range(4) if rules.hold(rule, {"f": level} if level else {})]
    assert tuple(found) == held
    assert not rules.hold("replicas-change", {"f": since})
    assert not rules.may_hold("replicas-change") and rules.may_hold(rule)


def test_of_one_rule_there_may_be_several_levels() -> None:
    rule: LogRule = "eligible-leaders"
    rules = Rules(
        (HeldRule(rule=rule, feature="f", since=3), HeldRule(rule=rule, feature="g", since=1))
    )
    assert [rules.hold(rule, each) for each in ({"f": 2}, {"f": 3}, {"g": 1})] == [
        False,
        True,
        True,
    ]


def test_the_first_word_counts() -> None:
    said = (of_rules("replicas-change"), LogRules(node="", rules=()))
    assert Rules.of(LogStory(system=said).run_events()).hold("replicas-change", {})


def test_without_a_feature_levels_say_nothing() -> None:
    rule: LogRule = "replicas-change"
    assert Rules((HeldRule(rule=rule, since=1),)).hold(rule, {})
