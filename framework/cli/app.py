"""All commands, and the exit codes that everything ends in.

0 every verdict VALID, 1 some INVALID, 2 some UNKNOWN and none INVALID, 254 bad arguments (one
line, before anything is started), 255 the framework itself failed.
"""

import logging
import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Annotated, Final

import typer
from typer.exceptions import TyperException

from framework.cli import completion
from framework.errors import EngineError, UsageError
from framework.verdict import EXIT_ENGINE, EXIT_USAGE

PROGRAM: Final = "kraft-proof"
"""The command beside `python -m framework`; shells complete only this one."""
_COMPLETE: Final = "_KRAFT_PROOF_COMPLETE"
"""Set by a shell that asks how a command line goes on."""
app: Final = typer.Typer(
    name=PROGRAM,
    help="A Jepsen-style test framework for Kafka's control plane.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
)

_MASTER_HELP: Final = "Spark master that checks: local[*], spark://host:port, ..."
_INVENTORY_HELP: Final = "File of your machines, for --hosts ssh; see docs/operating.md."
_MORE: Final = {"allow_extra_args": True, "ignore_unknown_options": True}


def main(argv: list[str]) -> int:
    """Run a command; its exit code. Prints one line for what went wrong, never a traceback."""
    level = os.environ.get("KRAFT_PROOF_LOG", "")
    logging.basicConfig(level=level or "ERROR", format="%(levelname)s %(name)s: %(message)s")
    if not level:  # others' warnings are for us, ours are for the user
        logging.getLogger("framework").setLevel(logging.WARNING)
    try:
        if not argv and _COMPLETE not in os.environ:
            raise UsageError(
                "no command given (run, check, replay, serve, trends, get, doctor, clean, up; "
                "or --help)"
            )
        code = app(args=argv, standalone_mode=False, prog_name=PROGRAM)
        return int(code or 0)
    except UsageError as error:
        return _fail(str(error), EXIT_USAGE)
    except typer.Exit as error:
        return error.exit_code
    except TyperException as error:
        return _fail(_misused(error), EXIT_USAGE)
    except (typer.Abort, KeyboardInterrupt):
        return _fail("interrupted before anything was recorded", EXIT_ENGINE)
    except EngineError as error:
        return _fail(str(error), EXIT_ENGINE)
    except Exception as error:
        logging.getLogger(__name__).info("the framework failed", exc_info=error)
        return _fail(
            f"the framework failed: {type(error).__name__}: {_said(error)} "
            "(KRAFT_PROOF_LOG=INFO shows where)",
            EXIT_ENGINE,
        )


def _misused(error: TyperException) -> str:
    """What is wrong with a command line, and where it stands what would be right."""
    said = str(getattr(error, "format_message", error.__str__)())
    context = getattr(error, "ctx", None)
    return f"{said} ({context.command_path} --help shows what it takes)" if context else said


def _said(error: Exception) -> str:
    """An error of Spark's cannot be written any more once its session has ended."""
    try:
        return str(error)
    except Exception:
        return "it cannot say what it was"


def _fail(message: str, code: int) -> int:
    print("framework: " + " ".join(message.split()), file=sys.stderr)
    return code


def _print_version(wanted: bool) -> None:
    if wanted:
        print(PROGRAM, version_of(PROGRAM))
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Say which version this is."
        ),
    ] = False,
) -> None:
    """A Jepsen-style test framework for Kafka's control plane."""


_Hosts = Annotated[
    str,
    typer.Option(
        help="Where nodes run: docker, namespaces, ssh or auto.",
        autocompletion=completion.plugin("hosts", "auto"),
    ),
]

_Inventory = Annotated[Path | None, typer.Option(help=_INVENTORY_HELP)]


_System = Annotated[
    str | None,
    typer.Option(
        help="The system under test. [the project's own]",
        autocompletion=completion.plugin("systems"),
    ),
]
_Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="[NODE-OR-ROLE:]KEY=VALUE: a setting of nodes. May be given several times."
    ),
]
_Checker = Annotated[
    list[str] | None,
    typer.Option(
        help="NAME:KEY=VALUE,...: options of a checker. May be given several times. Every checker "
        "that applies is asked, whether it is named here or not.",
        autocompletion=completion.plugin("checkers"),
    ),
]


@app.command()
def run(
    nemesis: Annotated[
        str,
        typer.Option(
            help=f"Faults, by commas: {completion.listed('nemeses')}, all, none. With options: "
            "NAME:KEY=VALUE,KEY=VALUE.",
            autocompletion=completion.plugins("nemeses", "all", "none"),
        ),
    ] = "none",
    workload: Annotated[
        str,
        typer.Option(
            help="Workloads, by commas, or all. With options as --nemesis.",
            autocompletion=completion.plugins("workloads", "all"),
        ),
    ] = "all",
    system: _System = None,
    hosts: _Hosts = "auto",
    inventory: _Inventory = None,
    nodes: Annotated[
        str | None,
        typer.Option(help="How many, as the system counts them: 3, or 3+3 by role. [3+3]"),
    ] = None,
    target: Annotated[
        str, typer.Option(help="Whom faults aim at: one, minority, leader, a node's name, ...")
    ] = "",
    rate: Annotated[float, typer.Option(help="Operations a second, all clients together.")] = 60.0,
    concurrency: Annotated[
        str | None,
        typer.Option(
            help="Client threads; 2n is twice the number of nodes. [2n, or what workloads need]"
        ),
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Length of the main phase, s.")] = 60.0,
    exactly: Annotated[
        bool,
        typer.Option(
            "--exactly", help="No longer than that, also where too little was done to be judged."
        ),
    ] = False,
    interval: Annotated[
        float, typer.Option(help="Mean time between a fault's start and its end, s.")
    ] = 5.0,
    lasting: Annotated[
        float | None,
        typer.Option(
            help="Least length of every second fault, s; 0: of none. [as a silent node is fenced]"
        ),
    ] = None,
    observe: Annotated[
        float,
        typer.Option(help="Time from asking all nodes what they tell to the next, s; 0: never."),
    ] = 2.0,
    seed: Annotated[int | None, typer.Option(help="Fixes the schedule; drawn if absent.")] = None,
    name: Annotated[str | None, typer.Option(help="Folder under results.")] = None,
    results: Annotated[Path, typer.Option(help="Where runs are stored.")] = Path("results"),
    keep: Annotated[bool, typer.Option(help="Leave the cluster running afterwards.")] = False,
    no_check: Annotated[
        bool,
        typer.Option("--no-check", help="Record only, without Spark: `check` judges it later."),
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Judge while the run goes on, and say what is broken.")
    ] = False,
    fail_fast: Annotated[
        bool,
        typer.Option("--fail-fast", help="End the run once something is broken for good (--live)."),
    ] = False,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit file.")] = None,
    spark_master: Annotated[str, typer.Option(help=_MASTER_HELP)] = "local[*]",
    defect: Annotated[
        str | None, typer.Option(help="Break the nodes on purpose; see docs/node.md, kafka.md.")
    ] = None,
    budget: Annotated[
        float, typer.Option(help="Time for the linearizability search of one key, s.")
    ] = 30.0,
    setting: _Set = None,
    checker: _Checker = None,
) -> int:
    """Run one test: start a cluster, operate on it, break it, heal it, decide."""
    from framework.cli.run import run_command
    from framework.run.options import Options

    return run_command(
        Options(
            nemesis=nemesis,
            workload=workload,
            system=system,
            hosts=hosts,
            inventory=inventory and inventory.absolute(),
            nodes=nodes,
            targets=target,
            rate=rate,
            concurrency=concurrency,
            time_limit_s=time_limit,
            exactly=exactly,
            interval_s=interval,
            lasting_s=lasting,
            observe_s=observe,
            seed=seed,
            name=name,
            results=results,
            keep=keep,
            check=not no_check,
            live=live,
            fail_fast=fail_fast,
            junit=junit,
            spark_master=spark_master,
            defect=defect,
            budget_s=budget,
            settings=tuple(setting or ()),
            checker=tuple(checker or ()),
        )
    )


@app.command()
def replay(
    run: Annotated[
        Path, typer.Argument(help="A stored run's folder.", autocompletion=completion.run)
    ] = Path("results/latest"),
    hosts: Annotated[
        str | None,
        typer.Option(
            help="Other hosts than then.", autocompletion=completion.plugin("hosts", "auto")
        ),
    ] = None,
    inventory: _Inventory = None,
    results: Annotated[
        Path | None, typer.Option(help="Where it is stored. [where the run was]")
    ] = None,
    setting: _Set = None,
) -> int:
    """Run a stored run's plan again: same seed, same options, same schedule. What --set says
    goes before the run's own settings."""
    from framework.cli.run import replay_command

    return replay_command(run, hosts, inventory, setting or (), results)


@app.command()
def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Runs, folders of runs, or with --model histories.",
            autocompletion=completion.run,
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Check histories: register, kv, topics, set or queue.")
    ] = None,
    format: Annotated[
        str, typer.Option(help="Form of the histories: jsonl, or jepsen (its history.edn).")
    ] = "jsonl",
    budget: Annotated[
        float, typer.Option(help="Time for the linearizability search of one key, s.")
    ] = 30.0,
    json: Annotated[bool, typer.Option("--json", help="One JSON line a history.")] = False,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit file.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a page of what was found, with pictures.")
    ] = None,
    spark_master: Annotated[str | None, typer.Option(help=_MASTER_HELP)] = None,
    checker: _Checker = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also runs that the same checkers judged before.")
    ] = False,
) -> int:
    """Check stored runs again, or histories that somebody else recorded. What --checker says goes
    before the run's own options of checkers."""
    from framework.cli.check import check as check_command

    return check_command(
        paths or [Path("results/latest")],
        model=model,
        format=format,
        budget=budget,
        json=json,
        junit=junit,
        report=report,
        spark_master=spark_master,
        checker=checker or (),
        again=again,
    )


@app.command()
def trends(
    results: Annotated[Path, typer.Argument(help="The folder of runs.")] = Path("results"),
    series: Annotated[
        str, typer.Option(help="Only the runs of one folder below it (run --name). [all]")
    ] = "",
    output: Annotated[
        Path | None, typer.Option(help="Where the page is written. [RESULTS/trends.html]")
    ] = None,
) -> int:
    """Draw what all runs came to, night by night, as one page that works offline."""
    from framework.cli.trends import trends_command

    return trends_command(results, series, output)


@app.command()
def serve(
    results: Annotated[Path, typer.Argument(help="The folder of runs.")] = Path("results"),
    port: Annotated[
        int, typer.Option(help="Where a browser finds it; 0: any that is free.", min=0, max=65535)
    ] = 8765,
    host: Annotated[
        str, typer.Option(help="The address that it is bound to: who reaches it sees all runs.")
    ] = "127.0.0.1",
    replay: Annotated[
        bool,
        typer.Option("--replay", help="Let whoever has the token, which is shown, replay."),
    ] = False,
) -> int:
    """Show stored runs, and those that go on, in a browser, until it is interrupted."""
    from framework.cli.serve import serve_command

    return serve_command(results, host=host, port=port, replay=replay)


@app.command(context_settings=_MORE)
def up(
    context: typer.Context,
    hosts: _Hosts = "auto",
    inventory: _Inventory = None,
    nodes: Annotated[str | None, typer.Option(help="As in run. [3+3]")] = None,
    system: _System = None,
    setting: _Set = None,
) -> int:
    """Start the default cluster without a test; run a command where it can be reached.

    `up -- COMMAND`: with the system's variables set, as they are printed; ends with its exit code.
    """
    from framework.cli.up import up_command

    return up_command(hosts, nodes, context.args, inventory, system, setting or ())


@app.command()
def get(
    system: Annotated[
        str,
        typer.Argument(
            help="A system whose software this machine has not by itself.",
            autocompletion=completion.plugin("systems"),
        ),
    ],
    version: Annotated[str | None, typer.Argument(help="A release of it. [the newest]")] = None,
) -> int:
    """Bring a release of a system's software to this machine, once."""
    from framework.plugins import registry

    print(registry.load("systems", system).get(version))
    return 0


@app.command()
def doctor(
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    inventory: _Inventory = None,
) -> int:
    """Say what this machine can do, and how to get the rest."""
    from framework.cli.doctor import doctor as doctor_command

    return int(doctor_command(json=json, inventory=inventory) or 0)


@app.command()
def clean(
    inventory: _Inventory = None,
) -> int:
    """Remove everything that earlier, killed runs left: here, and on machines that they used."""
    from framework.cli.clean import clean as clean_command

    return int(clean_command(inventory) or 0)
