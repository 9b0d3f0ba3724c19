"""`serve` as a client of HTTP sees it: pages, files, and what it refuses."""

import http.client
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from subprocess import PIPE
from typing import Any
from urllib.parse import quote, unquote, urlencode

import pytest

sys.path.append(str(Path(__file__).parent.parent / "report"))
from sample_runs import EVIL, write_run

from framework.checking.outcomes_table import write_outcomes
from framework.cli.app import main
from framework.serve.app import app_of
from framework.serve.guard import allowed_host
from framework.serve.replays import Replays, replays_in
from framework.serve.server import listener, serving

TOKEN = "a token"
SERIES = "night+ly #1?"
LARGE = 1 << 26


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

    with on_loopback(root, Replays(TOKEN, replay)) as port:
        yield Served(root, port, replayed)


@contextmanager
def on_loopback(root: Path, replays: Replays | None = None) -> Iterator[int]:
    at = listener("127.0.0.1", 0)
    with serving(app_of(root, "127.0.0.1", replays), at):
        yield at.getsockname()[1]


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
    status, _, headers = served.ask(run_path(f"{SERIES}/1").removesuffix("/"))
    assert status == 307
    assert unquote(headers["Location"]).endswith(f"/run/{SERIES}/1/")


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
        "/assets/%2fetc%2fpasswd",
        "/assets/app.py",
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
    for target, status in ((b"http://[/", b"404"), (b"/%zz%", b"404"), (b"/\x00", b"400")):
        with socket.create_connection(("127.0.0.1", served.port), timeout=30) as raw:
            raw.sendall(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % target)
            assert raw.recv(100).startswith(b"HTTP/1.1 %b " % status), target
    assert served.ask("/nothing")[0] == 404
    status, text, headers = served.ask("/", "HEAD")
    assert (status, text) == (200, "") and int(headers["Content-Length"]) > 0


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [
        ("/", "localhost", 200),
        ("/assets/report.css", "localhost", 200),
        ("/nothing", "localhost", 404),
        ("/", "evil.example", 403),
        ("/run/evil/4/moment", "localhost", 500),
        ("/run/evil/4/files/packed.gz", "localhost", 200),
    ],
)
def test_every_answer_binds_the_browser(
    served: Served, path: str, host: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    found, _, headers = served.ask(path, Host=host)
    assert found == status
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    said = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert [each.exc_info for each in said] == [None] * (status == 500)


def test_a_file_that_grows_is_sent_as_long_as_it_was(served: Served) -> None:
    path = served.root / "killed" / "3" / "growing"
    path.touch()
    os.truncate(path, LARGE)  # more than lies between two ends of a connection
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.request("GET", run_path("killed/3", "files/growing"))
    answer = connection.getresponse()
    os.truncate(path, LARGE + 1_000_000)
    assert len(answer.read()) == LARGE
    connection.request("GET", run_path("killed/3", "files/"))
    assert connection.getresponse().status == 200
    connection.close()


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
    assert served.ask(where, "POST", {"token": "x" * 100_000})[0] == 413
    assert served.replayed == []
    status, text, _ = served.ask(where, "POST", {"token": TOKEN})
    assert status == 200 and "the log" in text
    assert served.replayed == [served.root.resolve() / SERIES / "1"]
    assert 'type="password"' in served.text(run_path(f"{SERIES}/1"))


def test_a_replay_is_a_process_with_a_log(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "1"
    folder.mkdir(parents=True)
    log = Path(replays_in(tmp_path).start(folder))
    end = time.monotonic() + 60
    while not log.read_text().endswith("\n"):
        assert time.monotonic() < end, "the replay said nothing"
        time.sleep(0.05)
    assert log.parent == tmp_path
    assert f"{folder}: not a stored run" in log.read_text()


def test_without_a_token_nothing_is_replayed(tmp_path: Path) -> None:
    write_run(tmp_path / "a" / "1", seconds=5)
    token = "None"
    with on_loopback(tmp_path) as port:
        served = Served(tmp_path, port, [])
        status, text, _ = served.ask(run_path("a/1", "replay"), "POST", {"token": token})
        assert status == 403 and "serve --replay" in text
        assert 'type="password"' not in served.text(run_path("a/1"))


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


def test_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    """Also while a file is sent that nobody takes, and while a run is read."""
    folder = write_run(tmp_path / "a" / "1", seconds=5)
    (folder / "large").touch()
    os.truncate(folder / "large", LARGE)
    (folder / "plan.json").unlink()
    os.mkfifo(folder / "plan.json")  # who reads it waits
    command = [sys.executable, "-m", "framework", "serve", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().rstrip("/\n").rpartition(":")[2])
            sent = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            sent.request("GET", run_path("a/1", "files/large"))
            assert sent.getresponse().status == 200
            read = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            read.request("GET", run_path("a/1"))
            with (folder / "plan.json").open("w"):  # opened as soon as it is read
                process.send_signal(signal.SIGINT)
                _, said = process.communicate(timeout=60)
            assert (process.returncode, said) == (0, "")
        finally:
            process.kill()


def test_runs_do_without_a_web_server() -> None:
    """Its libraries take a tenth of a second to import, and nothing else needs them."""
    script = "import framework.cli.run, sys; print(*sys.modules)"
    command = [sys.executable, "-c", script]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "framework.cli.run" in loaded
    assert not {"starlette", "uvicorn", "framework.serve"}.intersection(loaded)


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
