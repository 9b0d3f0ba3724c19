"""What `--set` and options of plug-ins ask for reaches a real run, and its replay."""

import json
from dataclasses import replace
from pathlib import Path

from framework.checking.runs import read_run
from framework.run.options import from_json, resolve
from tests.end_to_end.runs import made_on_demand, recorded

ASKED = (
    "broker.takeover=deferred",
    "metadata.max.fetch.records=1",
    "listener.security.protocol.map=CLIENT:SASL_SSL,CONTROLLER:SASL_SSL",
    "authorizer.enabled=true",
    "auto.create.topics.enable=true",
    "n2:controller.quorum.prevote=false",
)


def successes(folder: Path) -> set[str]:
    """Kinds of operations that succeeded at least once."""
    events = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    return {event["f"] for event in events if event["type"] == "ok"}


def test_settings_and_options_of_a_run(tmp_path: Path) -> None:
    folder = recorded(
        tmp_path,
        "set",
        nodes="3",
        nemesis="pause:count=1,interval=1,target=all",
        time_limit_s=8.0,
        seed=3,
        settings=ASKED,
        checker=("availability:recovery=20",),
    )
    plan = json.loads((folder / "plan.json").read_text())
    of_all = dict(each.split("=") for each in ASKED if ":" not in each.partition("=")[0])
    assert plan["settings"]["n1"] == plan["settings"]["n3"] == of_all
    assert plan["settings"]["n2"] == of_all | {"controller.quorum.prevote": "false"}
    for node, settings in plan["settings"].items():
        properties = (folder / "nodes" / node / "server.properties").read_text().splitlines()
        assert {f"{key}={value}" for key, value in settings.items()} <= set(properties)
    assert {"create", "alter-isr", "heartbeat", "produce", "fetch", "start"} <= successes(folder)
    assert made_on_demand(folder)
    assert {node["votes"] for node in plan["nodes"].values()} == {True}
    assert read_run(folder).checker_options(()) == {"availability": "recovery=20"}
    ledger = [json.loads(line) for line in (folder / "faults.jsonl").read_text().splitlines()]
    injected = [line for line in ledger if line["step"] == "injected"]
    assert len(injected) > 1, "every 5 s, had the option not come through"
    assert all(len(line["victims"]) == 1 for line in injected)
    assert {line["shape"] for line in injected} == {"all"}
    assert {line["ends_processes"] for line in ledger if line["step"] == "planned"} == {False}

    stored = from_json(plan["options"])
    assert stored.checker == ("availability:recovery=20",)
    assert resolve(stored).settings == plan["settings"]
    anew = replace(stored, settings=(*stored.settings, "n1:broker.takeover=immediate"))
    assert resolve(anew).settings["n1"]["broker.takeover"] == "immediate"
