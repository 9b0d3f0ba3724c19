"""`python -m framework.evidence > docs/evidence.md`: the kinds of evidence, as documentation."""

import inspect
from collections.abc import Iterator

from framework.evidence.catalogue import KINDS
from framework.evidence.kinds import COMMON, Evidence, own_fields
from framework.evidence.schemas import schema

_HEAD = """# Evidence

Made by `python -m framework.evidence > docs/evidence.md`; a test says when that is due.

What a run leaves behind, in the words of `framework/evidence/`. Operations and the fault ledger
(the black box) every system has. What nodes did (the white box) is one dataclass a kind (below,
with its module in that folder), which the system's adapter yields from whatever its nodes wrote
(`System.observe`); a table of a kind has its fields as columns. The capability of leaving a kind is
`evidence:` and its name; of the records of the metadata log, which a system leaves all of or none,
`evidence:applied`.

`source` says who tells it: `event`, the node as it happened; `disk`, a file that it left;
`harness`, the harness. What was read from a disk has no time, but for `stalled`, which a process
wrote down with the time of its own clock; its incarnation is the number of the process that left it
(empty: the harness kept nothing of others), and it tells what came of what the former process had
left. The records in a log need not be committed.
"""


def page() -> str:
    """docs/evidence.md."""
    common = inspect.getdoc(Evidence) or ""
    lines = [_HEAD, f"Every row has {', '.join(f'`{name}`' for name in COMMON)}:", ""]
    lines += ["    " + line if line else "" for line in common.splitlines()[2:]]
    lines += ["", "| kind | dataclass | one row says | fields beside those |", f"|{' --- |' * 4}"]
    return "\n".join([*lines, *map(_row, KINDS.values())]) + "\n"


def _row(kind: type[Evidence]) -> str:
    said = " ".join((inspect.getdoc(kind) or "").split())
    where = f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"
    row = f"| `{kind.kind}` | `{where}` | {said} | {', '.join(_fields(kind))} |"
    return row.replace("  |", " |")


def _fields(kind: type[Evidence]) -> Iterator[str]:
    columns = schema(kind)
    for name in own_fields(kind):
        field = columns.field(name)
        yield f"`{name}` {_type(str(field.type))}{' or null' if field.nullable else ''}"


def _type(arrow: str) -> str:
    names = {"int64": "int", "string": "text", "bool": "bool", "double": "float"}
    if "struct<" in arrow:
        return "[...]"
    if arrow.startswith("list<"):
        inner = arrow.removesuffix(">").rpartition(" ")[2]
        return f"[{names.get(inner, inner)}]"
    return names.get(arrow, arrow)


if __name__ == "__main__":
    print(page(), end="")
