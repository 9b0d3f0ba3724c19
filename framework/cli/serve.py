"""`serve`: runs in a browser."""

import signal
from pathlib import Path
from typing import Final

from framework.errors import UsageError
from framework.serve.app import app_of
from framework.serve.replays import replays_in
from framework.serve.server import listener, serving

LOOK_S: Final = 0.2


def serve_command(results: Path, *, host: str, port: int, replay: bool) -> int:
    """Answer until interrupted. Raises `UsageError` where there is nothing to show, or nowhere."""
    if not results.is_dir():
        raise UsageError(f"{results}: no such folder; name the one that `run` stores in")
    if (results / "plan.json").exists() or (results / "history.jsonl").exists():
        whole = results.resolve().parent.parent
        raise UsageError(f"{results}: that is one run; name the folder of all of them, as {whole}")
    try:
        at = listener(host, port)
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (")[0].lower()
        raise UsageError(
            f"--host {host} --port {port}: {why}; --port 0 takes any that is free"
        ) from None
    replays = replays_in(results.resolve()) if replay else None
    shown = f"[{host}]" if ":" in host else host
    print(f"framework: {results} is at http://{shown}:{at.getsockname()[1]}/", flush=True)
    if replays is not None:
        print(f"framework: the token that starts replays is {replays.token}", flush=True)
    # Who starts it in the background of a script has it ignore Ctrl-C, unless it asks for it.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    with serving(app_of(results, host, replays), at) as thread:
        try:
            # Ctrl-C may come to another thread, and then ends no wait without an end.
            while thread.is_alive():
                thread.join(LOOK_S)
        except KeyboardInterrupt:
            print()
        finally:
            signal.signal(signal.SIGINT, previous)
    return 0
