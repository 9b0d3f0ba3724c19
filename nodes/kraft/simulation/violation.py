"""A rule that did not hold. Rules are named as in docs/node.md."""

import re


class Violation(AssertionError):
    """`rule` is the name; the message says who, where and what. Two of one `signature` are taken
    for one mistake: they differ in numbers and names alone."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule
        self.signature = f"{rule}: {re.sub(r'[^ ]*[0-9][^ ]*', '', message)[:60]}"
