"""Which mutants of a target are asked, and which are taken as they were found before.

Of what was measured before those are asked whose function has changed since, and those that were
alive. The others were killed, and are taken to be still: that is so unless tests were taken away,
or what the function calls has changed, which only a run shows that asks all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.mutation.digests import Digests, digests, functions
from benchmarks.mutation.mutants import Key, Mutant
from benchmarks.mutation.run import Outcome, Target, mutants_of, sampled
from benchmarks.mutation.survivors import Known
from benchmarks.mutation.table import Measured


@dataclass(frozen=True, slots=True)
class Asked:
    """Of `every` mutant that there is, those `chosen` are measured: `mutants` are asked, of the
    others those `alive` are taken to be alive, and the rest to be killed. `digests`: of the code
    that they are mutants of, which may be another when the run is over."""

    digests: Digests
    every: Sequence[Mutant]
    chosen: Sequence[Mutant]
    mutants: Sequence[Mutant]
    alive: tuple[Key, ...] = ()

    @classmethod
    def of(cls, target: Target, sample: int | None = None) -> "Asked":
        now, every = digests(target), mutants_of(target)
        chosen = sampled(target, every, sample)
        return cls(now, every, chosen, chosen)

    @classmethod
    def again(cls, target: Target, before: Measured, known: Known) -> "Asked":
        """A sample is as large as before, but is another where the code is, and is asked anew. Who
        was alive and changes nothing is not asked: no test can tell."""
        is_sample = before.asked < before.of
        anew = cls.of(target, before.asked if is_sample else None)
        now, there = anew.digests, functions(before.digests)
        if is_sample and functions(now) != there:
            return anew
        alive = {key[1:] for key in before.alive}
        asked, still = list[Mutant](), list[Key]()
        for each in anew.chosen:
            if (each.function, now[each.module.name][each.function]) not in there:
                asked.append(each)
            elif each.key[1:] in alive and each.key in known.equivalent:
                still.append(each.key)
            elif each.key[1:] in alive:
                asked.append(each)
        return replace(anew, mutants=asked, alive=tuple(still))

    def measured(self, outcome: Outcome) -> Measured:
        """`outcome`: of those that were asked."""
        return Measured(
            digests=self.digests,
            of=len(self.every),
            asked=len(self.chosen),
            alive=(*self.alive, *(each.key for each in outcome.survived)),
        )
