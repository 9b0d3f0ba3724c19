"""Searches of "wgl", and what their arrays say, as rows and sets."""

from collections.abc import Sequence

from checkers.linearizability.encoded import EncodedHistory, Ints
from checkers.linearizability.methods.jit_antichain.input import read_in
from checkers.linearizability.methods.wgl import method
from checkers.linearizability.methods.wgl.kernel import Place


def search_of(encoded: EncodedHistory, sparing: bool = False) -> method._Search:
    """Before its first step."""
    return method._Search(encoded, read_in(encoded), thrifty=sparing)


def listed(place: Place) -> list[int]:
    """The rows that the order does not have: both directions say the same."""
    forward, back = _from_the_head(place.after), _from_the_head(place.before)
    assert forward == back[::-1]
    return forward


def _from_the_head(list_: Ints) -> list[int]:
    found, at = list[int](), int(list_[0])
    while at and len(found) < len(list_):
        found.append(at - 1)
        at = int(list_[at])
    return found


def in_words(words: Sequence[int] | Ints) -> set[int]:
    """The bits that are set."""
    found, many = set(), sum((int(each) % (1 << 64)) << (64 * at) for at, each in enumerate(words))
    while many:
        found.add((many & -many).bit_length() - 1)
        many &= many - 1
    return found
