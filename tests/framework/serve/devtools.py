"""A browser, driven through the DevTools protocol over a pipe: what a test needs of it, no more.

https://chromedevtools.github.io/devtools-protocol/
"""

import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--remote-debugging-pipe", "--window-size=1300,900"),
)
KEYS = {
    "Tab": (9, ""),
    "Enter": (13, "\r"),
    " ": (32, " "),
    "ArrowLeft": (37, ""),
    "ArrowRight": (39, ""),
}
"""By name: Windows' virtual code, and the text that it makes."""
PATIENCE_S = 45.0
"""A test fails then instead of waiting for ever."""


def found() -> str:
    """The browser of this machine. Raises `AssertionError`: a test without it proves nothing."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    raise AssertionError(f"none of {', '.join(NAMES)} is here; scripts/setup.sh test installs it")


class Browser:
    """One page of a browser of its own. `errors`: what its pages complained of; `pid`: of its first
    process."""

    def __init__(self, profile: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The protocol's pipe is file descriptors 3 and 4.
        command = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, found(), *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self.pid = self._process.pid
        self.errors: list[str] = []
        self._number, self._buffer, self._session = 0, b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)
        os.close(self._read)
        os.close(self._write)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """A method of the protocol; its result. Raises `RuntimeError`."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], PATIENCE_S)[0]:
                raise TimeoutError("the browser says nothing")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise EOFError("the browser is gone")
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        params = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"]))
        elif message.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        return message

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)
        self.until(f"location.href === {json.dumps(url)}")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript; promises are waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, condition: str) -> None:
        """Wait until an expression is true of a page that is loaded, maybe another than now."""
        end = time.monotonic() + PATIENCE_S
        condition = f"document.readyState === 'complete' && ({condition})"
        loop = (
            f"(async () => {{ for (let i = 0; i < 50; i++) {{ if ({condition}) return true;"
            " await new Promise((later) => setTimeout(later, 20)); } return false; })()"
        )
        while True:
            try:
                if self.evaluate(loop):
                    return
            except RuntimeError:  # its page is left meanwhile
                pass
            if time.monotonic() > end:
                raise TimeoutError(f"never: {condition}; errors: {self.errors}")

    def click(self, selector: str) -> None:
        """With the mouse, in the middle of the first that fits; again where the page moved it
        away just then. Raises `TimeoutError` for what something else lies over."""
        quoted = json.dumps(selector)
        end = time.monotonic() + PATIENCE_S
        self.until(f"document.querySelector({quoted})")
        while True:
            self._press(quoted)
            try:
                if self.evaluate("window.wasClicked !== false"):  # a page that came knows nothing
                    return
            except RuntimeError:  # its page is left meanwhile
                return
            if time.monotonic() > end:
                raise TimeoutError(f"no click reaches {selector}")

    def _press(self, quoted: str) -> None:
        x, y = self.evaluate(
            f"(() => {{ const it = document.querySelector({quoted}); window.wasClicked = false;"
            " it.addEventListener('click', () => { window.wasClicked = true; },"
            " {capture: true, once: true});"
            " it.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const box = it.getClientRects()[0];"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """A key of the keyboard, down and up: the name of one of `KEYS`, or the character that it
        makes. It goes to what has the focus."""
        code, text = KEYS[key] if key in KEYS else (ord(key), key)
        named = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call(
            "Input.dispatchKeyEvent", type="keyDown", **named, **({"text": text} if text else {})
        )
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def seen_as(self, media: str, scheme: str) -> None:
        """`media`: screen or print; `scheme`: light or dark, what the reader prefers. Until it is
        called again."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def text(self, selector: str) -> str:
        found: str = self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")
        return " ".join(found.split())
