"""From the start of six processes until they serve."""

from collections.abc import Mapping, Sequence

from benchmarks.beside_kafka.measuring import Figure, Running, Sizes, WithThreeBrokers


class Start(WithThreeBrokers):
    """Nothing has to be done for it: whoever made the cluster looked at the clock."""

    name = "start"
    alone = True

    def figures(self, sizes: Sizes) -> Sequence[Figure]:
        return [Figure("3+3 start until serving", "s", "less")]

    def measure(self, running: Running, sizes: Sizes) -> Mapping[str, float]:
        return {"3+3 start until serving": running.started_s}
