"""`doctor`: what this machine can do, and how to get the rest."""

import dataclasses
import json as json_format
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from framework.hosts.doctor import Diagnosis, diagnose
from framework.verdict import EXIT_CODE, Verdict


def doctor(json: bool = False, inventory: Path | None = None) -> int:
    """Print what works. 0 if at least one kind of hosts works with all its faults and can carry a
    system, and so do Python and Java; else 2."""
    found = diagnose(inventory)
    healthy = bool(found.usable) and found.sections[0].works
    if json:
        print(json_format.dumps({"healthy": healthy, **dataclasses.asdict(found)}))
    else:
        _print(found)
    return EXIT_CODE[Verdict.VALID if healthy else Verdict.UNKNOWN]


def _print(found: Diagnosis) -> None:
    console = Console()
    table = Table(box=box.SIMPLE, show_header=False)
    for _ in range(4):
        table.add_column(overflow="fold")
    for section in found.sections:
        name = section.name
        for ability in section.abilities:
            detail = ability.detail
            if not ability.works and ability.remedy:
                detail += f"\nto get it: {ability.remedy}"
            mark = "[green]yes[/green]" if ability.works else "[red]no[/red]"
            table.add_row(name, ability.name, mark, escape(detail))
            name = ""
        table.add_section()
    console.print(table)
    usable = ", ".join(found.usable) or "none"
    console.print(f"\nKinds of hosts that work fully: {usable}.", highlight=False)
    if found.chosen:
        console.print(f"--hosts auto takes {found.chosen}.", highlight=False)
