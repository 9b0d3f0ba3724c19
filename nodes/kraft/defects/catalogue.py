"""The defects there are: name -> what is wrong then. Each is a module of the same name (with
underscores) that has a function `install()`."""

from collections.abc import Mapping
from typing import Final

DEFECTS: Final[Mapping[str, str]] = {
    "answer-before-commit": "a leader answers before its records are committed",
    "acknowledge-before-replication": "a partition's leader acknowledges what no follower has",
    "elect-nobody": "a controller grants elections of preferred leaders, and elects nobody",
    "forget-deletes": "deleted records come back with a restart",
    "forget-vote": "a voter forgets its vote over a restart",
    "grant-shutdown-at-once": "a controller lets a broker go with all that it leads",
    "ignore-broker-epoch": "a controller accepts requests of a broker's earlier life",
    "ignore-generation": "a coordinator takes commits of a group's earlier generations",
    "ignore-leader-epoch": "a controller accepts ISR changes of an earlier leader epoch",
    "ignore-member-epochs": "a controller accepts ISR changes that name members by earlier epochs",
    "one-queue": "a node serves its controller's requests in line with its clients'",
    "serve-after-lease": "a broker serves clients after its lease ended",
    "isr-applied-twice": "an ISR change is applied twice",
    "undelete-on-failover": "a new controller brings back topics that were deleted",
}
