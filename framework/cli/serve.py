"""`serve`: runs in a browser."""

import secrets
from pathlib import Path

from framework.errors import UsageError
from framework.serve.app import App, replay_in
from framework.serve.web import server


def serve_command(results: Path, *, host: str, port: int, replay: bool) -> int:
    """Answer until interrupted. Raises `UsageError` where there is nothing to show, or nowhere."""
    if not results.is_dir():
        raise UsageError(f"{results}: no such folder; name the one that `run` stores in")
    if (results / "plan.json").exists() or (results / "history.jsonl").exists():
        whole = results.resolve().parent.parent
        raise UsageError(f"{results}: that is one run; name the folder of all of them, as {whole}")
    token = secrets.token_urlsafe(12) if replay else None
    app = App(results, token, replay_in(results.resolve()))
    try:
        found = server(host, port, app, app.refusal)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise UsageError(
            f"--host {host} --port {port}: {why}; --port 0 takes any that is free"
        ) from None
    with found:
        print(f"framework: {results} is at http://{_shown(host)}:{found.server_port}/", flush=True)
        if token is not None:
            print(f"framework: the token that starts replays is {token}", flush=True)
        try:
            found.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


def _shown(host: str) -> str:
    """As it stands in an address."""
    return f"[{host}]" if ":" in host else host
