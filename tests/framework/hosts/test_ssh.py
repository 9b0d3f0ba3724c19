"""Runs on machines of the user's: they need no more than Python and sshd, and nothing stays."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from machines import Machines

from framework.cli.app import main
from framework.errors import EngineError
from framework.hosts import runs
from framework.hosts.ssh import SshProvider, provider
from framework.hosts.ssh.provider import Found
from framework.plugins.host import FILTER_TABLE, Image
from nodes.kraft.adapter.image import image
from tests.end_to_end.runs import ONE_WORKER, long_enough, verdict_of

ROOT = Path(__file__).parents[3]
WORKDIRS = {"a": "/var/tmp/kraft-proof", "b": "/srv/made", "c": "/var/tmp/kraft-proof"}

HARNESS = """
import sys, time
from pathlib import Path
from framework.hosts.ssh import SshProvider
from framework.plugins.host import FILTER_TABLE
from nodes.kraft.adapter.image import image
inventory, run_id, scratch = sys.argv[1:]
provider = SshProvider().with_inventory(Path(inventory))
with provider.fleet(run_id, ["x", "y"], Path(scratch), image()) as fleet:
    for host in fleet.hosts.values():
        host.start(["sleep", "1000"], log=f"{host.workdir}/log")
        host.run(["nft", "add", "table", "inet", FILTER_TABLE])
    print("ready", flush=True)
    time.sleep(1000)
"""


def left_on(lab: Machines, name: str) -> str:
    """What a run left on a machine: files, processes, rules. Empty: nothing."""
    return lab.on(
        name,
        f"ls -d {WORKDIRS[name]} 2>/dev/null; grep -slz ^KRAFT_PROOF_RUN= /proc/[0-9]*/environ; "
        f"nft list tables | grep {FILTER_TABLE}",
    ).strip()


@contextmanager
def harness(lab: Machines, run_id: str, scratch: Path) -> Iterator[subprocess.Popen[str]]:
    """Somebody else's run on two machines."""
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", HARNESS, str(lab.in_order()), run_id, str(scratch)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_killed_run_is_cleaned_up_and_a_living_one_is_not_touched(
    lab: Machines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = f"left-{tmp_path.name}"
    with harness(lab, run_id, tmp_path / "scratch") as living:
        assert not SshProvider().clean(), "it lives"
        assert left_on(lab, "a") and left_on(lab, "b")
        machines = SshProvider().with_inventory(lab.in_order())
        busy = [ability for ability in machines.abilities() if not ability.works]
        assert [ability.name for ability in busy] == ["machine a", "machine b"]
        assert f"run {run_id} has the machine" in busy[0].detail
        line = refused(capsys, tmp_path, "--inventory", str(lab.in_order()))
        assert f"machine a: run {run_id} has the machine" in line
        assert left_on(lab, "a") and living.poll() is None
        living.send_signal(signal.SIGKILL)
        living.wait()
    assert all(ability.works for ability in machines.abilities()), "what is dead is in no way"
    assert len(machines.leftovers()) == 2
    assert main(["clean"]) == 0
    out = capsys.readouterr().out
    assert f"removed run {run_id} on machine a" in out and "on machine b" in out
    assert {name: left_on(lab, name) for name in "abc"} == {"a": "", "b": "", "c": ""}
    assert not (tmp_path / "scratch").exists()


def test_machines_tell_of_dead_runs_themselves(
    lab: Machines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the register of runs is gone, or was another user's."""
    run_id = f"stray-{tmp_path.name}"
    with harness(lab, run_id, tmp_path / "scratch"):
        pass
    for file in runs.directory().glob(f"ssh-*{run_id}.json"):
        file.unlink()
    assert main(["clean"]) == 0
    assert left_on(lab, "a"), "nobody named the machines"
    assert main(["clean", "--inventory", str(lab.in_order())]) == 0
    assert "on machine a" in capsys.readouterr().out
    assert {name: left_on(lab, name) for name in "abc"} == {"a": "", "b": "", "c": ""}


def test_a_run_by_somebody_elses_harness_is_nobodys_to_remove(
    lab: Machines, tmp_path: Path
) -> None:
    folder = "/var/tmp/kraft-proof/theirs"
    marker = json.dumps({"run_id": "theirs", "label": "theirs", "harness": "7:1@elsewhere"})
    lab.on("c", f"mkdir -p {folder}; echo '{marker}' >{folder}/run.json")
    lab.on("c", f"nft add table inet {FILTER_TABLE}")
    machines = SshProvider().with_inventory(lab.in_order())
    try:
        (ability,) = [each for each in machines.abilities() if not each.works]
        assert "run theirs has the machine" in ability.detail and folder in ability.remedy
        with (
            pytest.raises(EngineError, match="machine c: run theirs has the machine"),
            machines.fleet("at once", ["x", "y", "z"], tmp_path, image()),
        ):
            pass
        assert {left_on(lab, name) for name in "ab"} == {""}
        assert not machines.clean()
        assert lab.on("c", f"cat {folder}/run.json").strip() == marker
        assert FILTER_TABLE in lab.on("c", "nft list tables"), "their faults hold"
    finally:
        lab.on("c", f"rm -r /var/tmp/kraft-proof; nft delete table inet {FILTER_TABLE}")


def test_two_harnesses_at_once_never_share_a_machine(lab: Machines, tmp_path: Path) -> None:
    """Each finds the other, or finds nobody yet and is found: never do both have them."""
    machines = SshProvider().with_inventory(lab.in_order())
    together = threading.Barrier(2, timeout=120)

    def harness_in_a_thread(name: str) -> str | None:
        """Why it does not get them; None: it does."""
        refusal = None
        with ExitStack() as stack:
            together.wait()
            try:
                stack.enter_context(machines.fleet(name, ["x", "y"], tmp_path / name, image()))
            except EngineError as error:
                refusal = str(error)
            together.wait()
        return refusal

    names = ("one", "other")
    with ThreadPoolExecutor(2) as pool:
        refusals = dict(zip(names, pool.map(harness_in_a_thread, names), strict=True))
    for name, other in (names, names[::-1]):
        assert refusals[name] is None or f"run {other} has the machine" in refusals[name]
    assert any(refusals.values()), "both had them"
    assert {name: left_on(lab, name) for name in "ab"} == {"a": "", "b": ""}


def refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, *arguments: str) -> str:
    """The one line by which `run` refuses; nothing is started."""
    results = tmp_path / "results"
    command = ["run", "--hosts", "ssh", "--nodes", "3", "--results", str(results), *arguments]
    assert main(command) == 254
    assert not results.exists()
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


def test_machines_that_cannot_be_used_are_named_with_the_reason(
    lab: Machines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nobody = {**lab.entry("a"), "name": "nobody"}
    nobody["address"] = str(nobody["address"]).rpartition(".")[0] + ".250"
    stranger = tmp_path / "stranger"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(stranger)]
    subprocess.run(command, check=True)
    broken = lab.inventory(
        lab.entry("a", port=2222),
        lab.entry("b", user="tester", port=2222, key=str(stranger)),
        lab.entry("c", user="tester"),
        lab.entry("bare"),
        nobody,
    )
    line = refused(capsys, tmp_path, "--inventory", str(broken))
    assert f"machine a: nobody listens at {lab.addresses['a']}:2222" in line
    assert f"machine b: {lab.addresses['b']}:2222 does not let tester in with {stranger}" in line
    assert "machine c: user tester cannot become root by sudo" in line
    assert "machine bare: no Python 3.11 or newer" in line and "apt-get install python3" in line
    assert "machine nobody: " in line


def test_too_few_machines(
    lab: Machines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = lab.inventory(lab.entry("a"), lab.entry("c"))
    line = refused(capsys, tmp_path, "--inventory", str(few))
    assert "the inventory names 2, and there are 3 nodes" in line


def test_what_a_fault_needs_is_asked_of_every_machine(
    lab: Machines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machines = lab.inventory(lab.entry("a"), lab.entry("c"), lab.entry("open"))
    line = refused(capsys, tmp_path, "--inventory", str(machines), "--nemesis", "partition")
    assert "no nft on open" in line and "apt-get install nftables" in line


def test_doctor_looks_at_the_machines_of_an_inventory(
    lab: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    machines = lab.inventory(lab.entry("a"), lab.entry("bare"))
    main(["doctor", "--json", "--inventory", str(machines)])
    found = json.loads(capsys.readouterr().out)
    (section,) = (each for each in found["sections"] if each["name"] == "hosts: ssh")
    assert [(each["name"], each["works"]) for each in section["abilities"]] == [
        ("machine a", True),
        ("machine bare", False),
    ]
    assert "ssh" not in found["usable"]
    main(["doctor", "--json", "--inventory", str(lab.in_order())])
    assert "ssh" in json.loads(capsys.readouterr().out)["usable"]


def test_what_a_system_needs_is_asked_of_every_machine(lab: Machines) -> None:
    machines = SshProvider().with_inventory(lab.inventory(lab.entry("a"), lab.entry("open")))
    server = Image(name="server", packages=["nftables"], commands=["nft"])
    (ability,) = machines.carries(server, 2)
    assert (ability.name, ability.detail) == ("machine open", "no nft")
    assert ability.remedy == "apt-get install nftables"
    assert all(each.works for each in machines.carries(image(), 2))


def test_the_harness_is_on_no_machine_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault would cut its own connection."""
    found = Found(harness="10.0.0.2", python="python3", version="3.11.2", abi="", runs={})
    monkeypatch.setattr(provider, "look", lambda machine: found)
    machines = [provider.Machine(name=name, address=f"10.0.0.{name}") for name in "12"]
    abilities = SshProvider(machines).abilities()
    assert not any(ability.works for ability in abilities)
    assert "the harness itself is at 10.0.0.2" in abilities[0].detail


def test_a_run_with_faults_leaves_nothing_behind(lab: Machines, tmp_path: Path) -> None:
    def recorded_of(length_s: int) -> tuple[Path, dict[str, str]]:
        """Its folder, and what was said of its faults."""
        into = tmp_path / f"{length_s}s"
        command = [
            *(sys.executable, "-m", "framework", "run", "--hosts", "ssh", "--nodes", "3"),
            *("--inventory", str(lab.in_order()), "--results", str(into), "--name", "ssh"),
            *("--nemesis", "partition,kill", "--time-limit", str(length_s), "--interval", "2"),
            *("--seed", "7", "--workload", "topics", *ONE_WORKER),
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
        assert done.returncode in (0, 2), (done.stdout[-2000:], done.stderr[-2000:])
        (folder,) = (path for path in (into / "ssh").iterdir() if path.is_dir())
        checkers = {each["name"]: each for each in verdict_of(folder)["checkers"]}
        return folder, {each: checkers["faults-bit"][each] for each in ("verdict", "note")}

    folder, said = long_enough(recorded_of, lambda shown: shown[1]["verdict"] == "VALID", 16, 40)
    assert said["verdict"] == "VALID", said
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["hosts"] == "ssh" and len(plan["clocks"]) == 3
    for clock in plan["clocks"].values():
        times = [sample["at_ns"] for sample in clock["samples"]]
        assert times == sorted(times) and times[-1] > 12e9 and len(times) > 3
    assert {name: left_on(lab, name) for name in "abc"} == {"a": "", "b": "", "c": ""}
