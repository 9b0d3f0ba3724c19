"""How much of a log is surely on the disk."""

from batch_bytes import Given, by_kio
from hypothesis import given
from hypothesis import strategies as st

from nodes.kafka_files.batches import scan
from nodes.kafka_files.forced import Extent, extents, forced_bytes, last_segments, recovery_points

OLD, NEW = "0" * 20 + ".log", f"{120:020d}.log"


def test_of_each_log_the_last_segment() -> None:
    files = [
        (f"a-b-0/{NEW}", 7),
        (f"a-b-0/{OLD}", 900),
        (f"a-b-1/{OLD}", 0),
        (f"gone-0.5f9c0e3f8d6d4f6c-delete/{OLD}", 30),
        ("a-b-1/leader-epoch-checkpoint", 30),
        ("meta.properties", 90),
    ]
    for order in (files, files[::-1]):
        found = list(last_segments(order))
        assert [(each.path, each.size) for each in found] == [
            (f"a-b-0/{NEW}", 7),
            (f"a-b-1/{OLD}", 0),
        ]
        assert [(each.topic, each.partition, each.base_offset) for each in found] == [
            ("a-b", 0, 120),
            ("a-b", 1, 0),
        ]


def test_recovery_points_are_by_topic_and_partition() -> None:
    assert recovery_points(b"0\n2\nlog-0 1 37\nlog-0 0 0\n") == {("log-0", 1): 37, ("log-0", 0): 0}
    assert recovery_points(b"") == {}, "a broker that did not live for a minute has none"


@st.composite
def logs(draw: st.DrawFn) -> tuple[int, list[tuple[int, bytes]], bytes]:
    """Base offset; end offset and bytes of each batch; and what may follow: half a batch."""
    base = at = draw(st.integers(0, 1000))
    batches = []
    for count in draw(st.lists(st.integers(1, 4), max_size=5)):
        data = by_kio(*(Given(at + each) for each in range(count)))
        at += count
        batches.append((at, data))
    whole = by_kio(Given(at))
    torn = whole[: draw(st.integers(0, len(whole) - 1))]
    return base, batches, torn


@given(log=logs())
def test_up_to_where_so_many_bytes_hold_a_log(
    log: tuple[int, list[tuple[int, bytes]], bytes],
) -> None:
    base, batches, torn = log
    size, expected = 0, []
    for begin, (end, data) in zip([base, *(end for end, _ in batches)], batches, strict=False):
        size += len(data)
        expected.append(Extent(size, begin, end))
    assert extents(b"".join(each for _, each in batches) + torn, base) == expected


@given(log=logs(), ahead=st.integers(-3, 25))
def test_what_is_below_the_recovery_point_is_forced_in_whole_batches(
    log: tuple[int, list[tuple[int, bytes]], bytes], ahead: int
) -> None:
    base, batches, torn = log
    data = b"".join(each for _, each in batches) + torn
    point = max(0, base + ahead)
    forced = forced_bytes(extents(data, base), point)
    left = scan(data[:forced], base)
    assert left.stop is None, "never the middle of a batch"
    begins = [base, *(end for end, _ in batches)][: len(batches)]
    assert len(left.table) == sum(begin < point for begin in begins)
