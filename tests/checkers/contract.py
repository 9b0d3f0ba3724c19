"""What every checker's test has: a story in which nothing is wrong, and a table of its violations.

    PLANTED = Plants(clean)

    @PLANTED.violation("epoch 2", "id 2", "id 3")
    def two_elected(story: Story) -> None:
        story.event("c3", "elected", epoch=2, start_offset=0, votes=[1, 3])

Each is planted in `clean()`, or in what `on` makes, and has to be found, by a message that says all
the words; `test_contract` sees to it for all checkers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from planted_runs import Story

from framework.verdict import Verdict

Plant = Callable[[Any], Any]


@dataclass(frozen=True)
class Planted:
    """A violation: the whole story, and what a finding of it says."""

    words: tuple[str, ...]
    story: Callable[[], Story]


class Plants(dict[str, Planted]):
    """Violations by name, and what has to be said of them."""

    def __init__(self, clean: Callable[[], Story], verdict: Verdict = Verdict.INVALID) -> None:
        super().__init__()
        self.clean = clean
        self.verdict = verdict

    @classmethod
    def of(
        cls,
        clean: Callable[[], Story],
        table: Mapping[str, Plant | tuple[str, Plant]],
        *,
        on: Callable[[], Story] | None = None,
        then: Callable[[Any], Story] = lambda story: story,
    ) -> "Plants":
        """Of a table: the words, or a name with the words, and what plants it. `then` ends the
        story."""
        made = cls(clean)
        for name, entry in table.items():
            words, plant = entry if isinstance(entry, tuple) else (name, entry)
            made[name] = Planted((words,), made._planted(plant, on, then))
        return made

    def violation(
        self, *words: str, on: Callable[[], Story] | None = None, name: str | None = None
    ) -> Callable[[Plant], Plant]:
        """Registers a function that plants it."""

        def register(plant: Plant) -> Plant:
            called = name or plant.__name__.replace("_", " ")
            self[called] = Planted(words, self._planted(plant, on))
            return plant

        return register

    def _planted(
        self,
        plant: Plant,
        on: Callable[[], Story] | None,
        then: Callable[[Any], Story] = lambda story: story,
    ) -> Callable[[], Story]:
        def story() -> Story:
            reported = (on or self.clean)()
            plant(reported)
            return then(reported)

        return story
