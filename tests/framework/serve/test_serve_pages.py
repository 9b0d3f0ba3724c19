"""`serve` as a client of HTTP sees it: pages, files, and what it refuses."""

import http.client
import json
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

sys.path.append(str(Path(__file__).parent.parent / "report"))
from sample_runs import EVIL, write_run

from framework.checking.outcomes_table import write_outcomes
from framework.cli.app import main
from framework.serve import app as app_module
from framework.serve.app import App
from framework.serve.web import allowed_host, server

TOKEN = "a token"
SERIES = "night+ly #1?"


@dataclass(frozen=True)
class Served:
    root: Path
    port: int
    replayed: list[Path]

    def ask(
        self, path: str, method: str = "GET", form: dict[str, str] | None = None, **headers: str
    ) -> tuple[int, str, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        body = None if form is None else urlencode(form)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        connection.close()
        return answer.status, text, answer.headers

    def text(self, path: str) -> str:
        status, text, _ = self.ask(path)
        assert status == 200, text
        return unescape(text)


def run_path(run: str, rest: str = "") -> str:
    return f"/run/{quote(run)}/{rest}"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("what is kept")
    root = outside / "results"
    write_run(root / SERIES / "1", seconds=20, invalid=True)
    write_run(root / SERIES / "2", seconds=20, seed=8)
    write_run(root / "killed" / "3", seconds=20, killed=True)
    evil = root / "evil" / "4"
    evil.mkdir(parents=True)
    (evil / "plan.json").write_text(json.dumps({"nodes": 4, "seed": EVIL, "started": EVIL}))
    findings = [{"message": EVIL, "operations": "x", "events": [7]}]
    checkers = [{"name": EVIL, "verdict": "INVALID", "findings": findings}]
    (evil / "verdict.json").write_text(json.dumps({"verdict": "INVALID", "checkers": checkers}))
    (evil / "page.html").write_text("<script>alert(1)</script>")
    (evil / "packed.gz").write_bytes(b"\x1f\x8b\0")
    (evil / "link").symlink_to(outside / "secret")
    (evil / "up").symlink_to(outside)
    (evil / "report.html").symlink_to(outside / "secret")
    (root / "evil" / "5").symlink_to(outside)
    replayed: list[Path] = []

    def replay(folder: Path) -> str:
        replayed.append(folder)
        return "the log"

    app = App(root, TOKEN, replay)
    with server("127.0.0.1", 0, app, app.refusal) as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield Served(root, found.server_port, replayed)
        found.shutdown()


def test_the_list_has_every_run_and_leads_to_it(served: Served) -> None:
    text = served.text("/")
    for run in (f"{SERIES}/1", f"{SERIES}/2", "killed/3", "evil/4"):
        address = run_path(run).replace("%2B", "+")
        assert f'href="{address}"' in text
        assert f'value="{run}"' in text
        served.text(address)
    assert "<script>alert" not in served.ask("/")[1]
    assert 'value="killed/3"' not in served.text("/rows?state=INVALID")
    assert "None of 4 runs" in served.text("/?q=nothing")


def test_a_run_has_its_story_and_its_findings(served: Served) -> None:
    text = served.text(run_path(f"{SERIES}/1"))
    assert "What happened" in text and "Topic orders-1 was deleted" in text
    report = re.findall(r'href="(/run/[^"]*report\.html)#(finding-[^"]*)"', text)
    assert [place for _, place in report] == [
        "finding-topic-linearizability-1",
        "finding-topic-linearizability-2",
    ]
    for address, place in report:
        assert f'id="{place}"' in served.text(address)
    moments = re.findall(r'href="(/run/[^"]*moment\?at=\d+\.\d+)"', text)
    assert len(moments) == 2
    for address in moments:
        assert "orders-" in served.text(address)
    assert served.ask(run_path(f"{SERIES}/1").removesuffix("/"))[0] == 303


def test_a_moment_has_a_column_for_each_node(served: Served) -> None:
    text = served.text(run_path(f"{SERIES}/2", "moment?at=4&room=2"))
    head = re.findall(r"<th>(?:<a [^>]*>)?([^<]+)", text)
    assert head == ["faults", "clients", "c1", "c2", "c3", "b1", "b2", "b3"]
    assert "injected" in text and 'class="here"' in text
    assert "Nothing is known" in served.text(run_path(f"{SERIES}/2", "moment?at=4000"))
    for nonsense in ("at=x&room=y", "at=nan", "room=-1", "at=1e300&room=1e300"):
        served.text(run_path(f"{SERIES}/2", f"moment?{nonsense}"))


def test_two_runs_are_compared(served: Served) -> None:
    both = [("run", f"{SERIES}/1"), ("run", f"{SERIES}/2")]
    text = served.text(f"/compare?{urlencode(both)}")
    verdicts = text[text.index("Verdicts that differ") :]
    assert re.search(r"topic-linearizability.*?>INVALID<.*?>VALID<", verdicts, re.DOTALL)
    assert "one-leader-per-epoch" not in verdicts[: verdicts.index("Clauses")]
    assert served.ask(f"/compare?{urlencode(both[:1])}")[0] == 400
    assert served.ask(f"/compare?{urlencode([both[0], ('run', '../results')])}")[0] == 404


def test_trends_are_of_the_table_of_outcomes(served: Served) -> None:
    status, text, _ = served.ask("/trends")
    assert status == 404 and "nothing to draw" in text
    run = served.root / "trend" / "7"
    run.mkdir(parents=True)
    plan = {"name": "trend", "started": "2026-11-21T11:49:02+00:00"}
    (run / "plan.json").write_text(json.dumps(plan))
    write_outcomes(run, {"verdict": "VALID", "checkers": []})
    assert "1 run in 1" in served.text("/trends?series=trend")
    assert served.ask("/trends?series=none")[0] == 404


def test_files_are_shown_as_they_are_and_never_as_pages(served: Served) -> None:
    text = served.text(run_path(f"{SERIES}/1", "files/"))
    assert 'files/nodes/"' in text and 'files/plan.json"' in text
    _, plan, headers = served.ask(run_path(f"{SERIES}/1", "files/plan.json"))
    assert json.loads(plan)["seed"] == 7
    assert headers["Content-Type"].startswith("text/plain")
    _, page, headers = served.ask(run_path("evil/4", "files/page.html"))
    assert page == "<script>alert(1)</script>"
    assert headers["Content-Type"].startswith("text/plain")
    assert headers["X-Content-Type-Options"] == "nosniff"
    _, _, headers = served.ask(run_path("evil/4", "files/packed.gz"))
    assert headers["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret",
        "/%2e%2e/secret",
        "/run/../secret/",
        "/run/%2e%2e/outside/",
        "/run/evil/..%2f..%2f/",
        "/run/evil/%2e%2e/",
        "/run/evil/../files/plan.json",
        "/run/evil/5/files/secret",
        "/run/evil/4/files/link",
        "/run/evil/4/files/up/secret",
        "/run/evil/4/files/../../../secret",
        "/run/evil/4/files/..%2f..%2f..%2fsecret",
        "/run/evil/4/files/%2e%2e/%2e%2e/%2e%2e/secret",
        "/run/evil/4/files/../5/secret",
        "/run/evil/4/files//etc/passwd",
        "/run/evil/4/files/%2fetc%2fpasswd",
        "/run/evil/4/files/plan.json%00.txt",
        "/run/evil/4/report.html",
        "/assets/../app.py",
        "/assets/%2e%2e%2fapp.py",
        "/run/evil/4/files/" + "x" * 5000,
        "/compare?run=evil/5&run=evil/../../x",
    ],
)
def test_nothing_outside_the_folder_is_shown(served: Served, path: str) -> None:
    status, text, _ = served.ask(path)
    assert "what is kept" not in text and "root:" not in text and "import" not in text
    assert status in (404, 500) and "Traceback" not in text


def test_a_malformed_run_is_said_to_be_so(served: Served) -> None:
    status, text, _ = served.ask(run_path("evil/4"))
    assert status == 200 and "<script>alert" not in text and "Traceback" not in text
    status, text, _ = served.ask(run_path("evil/4", "moment?at=1"))
    assert "Traceback" not in text and "<script>alert" not in text
    text = served.text(run_path("killed/3"))
    assert "ended before it was checked" in text
    assert "UNKNOWN" in served.text(run_path("killed/3", "report.html"))


def test_what_is_no_address_is_said_to_be_none(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as raw:
        raw.sendall(b"GET http://[/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 400 ")
    assert served.ask("/nothing")[0] == 404
    status, text, headers = served.ask("/", "HEAD")
    assert (status, text) == (200, "") and int(headers["Content-Length"]) > 0


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.7", "[", ""])
def test_another_host_is_refused(served: Served, host: str) -> None:
    status, text, _ = served.ask("/", Host=host)
    assert status == 403 and "nightly" not in text


def test_hosts_that_are_this_machine() -> None:
    for header in ("127.0.0.1:80", "localhost", "LOCALHOST:9", "[::1]:80"):
        assert allowed_host(header, "127.0.0.1"), header
    assert allowed_host("10.0.0.7:80", "0.0.0.0")
    assert allowed_host("box.lan:80", "box.lan")
    for header in (None, "box.lan", "10.0.0.7.nip.io"):
        assert not allowed_host(header, "0.0.0.0"), header


def test_a_replay_needs_the_token(served: Served) -> None:
    where = run_path(f"{SERIES}/1", "replay")
    assert served.ask(where)[0] == 405
    assert served.ask(f"{where}?{urlencode({'token': TOKEN})}")[0] == 405
    for form in ({}, {"token": ""}, {"token": "another"}, {"token": "å"}):
        assert served.ask(where, "POST", form)[0] == 403
    assert served.ask(where, "POST", {"token": "x" * 100_000})[0] == 400
    assert served.replayed == []
    status, text, _ = served.ask(where, "POST", {"token": TOKEN})
    assert status == 200 and "the log" in text
    assert served.replayed == [served.root.resolve() / SERIES / "1"]
    assert 'type="password"' in served.text(run_path(f"{SERIES}/1"))


def test_a_replay_is_a_process_with_a_log(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "1"
    folder.mkdir(parents=True)
    log = Path(app_module.replay_in(tmp_path)(folder))
    end = time.monotonic() + 60
    while not log.read_text().endswith("\n"):
        assert time.monotonic() < end, "the replay said nothing"
        time.sleep(0.05)
    assert log.parent == tmp_path
    assert f"{folder}: not a stored run" in log.read_text()


def test_without_a_token_nothing_is_replayed(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a" / "1", seconds=5)
    started: list[Path] = []
    app = App(tmp_path, None, lambda folder: str(started.append(folder)))
    request = app_module.Request(("run", "a", "1", "replay"), (), (("token", "None"),))
    with pytest.raises(app_module.Refused, match="--replay"):
        app(request)
    assert started == [] and folder.is_dir()


def test_a_run_that_goes_on_streams_in(served: Served) -> None:
    folder = served.root / "live" / "6"
    folder.mkdir(parents=True)
    plan = {"harness_pid": os.getpid(), "started": datetime.now(UTC).isoformat()}
    (folder / "plan.json").write_text(json.dumps(plan))
    live = run_path("live/6", "live")
    assert "running" in served.text(run_path("live/6"))
    with (folder / "history.jsonl").open("w") as history:

        def write(text: str) -> None:
            history.write(text)
            history.flush()

        write('{"type": "invoke", "process": 1, "f": "read", "time": 1500000000}\n')
        assert figures(served.text(live)) == {"invoked": "1", "ok": "0", "open": "1"}
        write('{"type": "ok", "process": 1, "f": "read", "key": "k", "tim')
        assert figures(served.text(live))["ok"] == "0"
        write('e": 2500000000}\n{"type": "ok", "process": "observer:c1", "f": "x"}\nnonsense\n')
        assert figures(served.text(live)) == {"invoked": "1", "ok": "1", "open": "0"}
        assert "p1 read k ok" in served.text(live) and "2.5 s" in served.text(live)
    fault = {"id": 1, "fault": "kill", "shape": "one", "step": "injected", "time": 1}
    (folder / "faults.jsonl").write_text(f"{json.dumps(fault)}\n")
    assert '<td>kill one</td><td class="fault">active</td>' in served.text(live)
    assert served.ask(run_path("live/6", "report.html"))[0] == 409
    (folder / "verdict.json").write_text('{"verdict": "VALID", "checkers": []}')
    status, text, headers = served.ask(live)
    assert (status, text, headers["X-Ended"]) == (200, "", "yes")
    assert 'id="verdict">VALID' in served.text(run_path("live/6"))


def figures(text: str) -> dict[str, str]:
    found = dict(re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)</dd>", text))
    return {name: found[name] for name in ("invoked", "ok", "open")}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{root}/none"], "no such folder"),
        (["{root}/a/1"], "that is one run; name the folder of all of them, as {root}"),
        (["{root}", "--port", "{taken}"], "--port 0 takes any"),
        (["{root}", "--port", "70000"], "less than or equal to 65535"),
        (["{root}", "--host", "no.such.host.invalid"], "--host no.such.host.invalid"),
    ],
)
def test_bad_input_is_refused_before_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    (tmp_path / "a/1").mkdir(parents=True)
    (tmp_path / "a/1/plan.json").write_text("{}")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        values: dict[str, Any] = {"root": tmp_path, "taken": taken.getsockname()[1]}
        assert main(["serve", *(word.format(**values) for word in words)]) == 254
    error = capsys.readouterr().err
    assert said.format(**values) in error and error.count("\n") == 1
