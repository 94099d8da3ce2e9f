"""A headless Chromium, spoken to in its own protocol, for tests of the pages for people."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATH = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_PATIENCE = 60.0


class Tab:
    """One tab. `ask` sends a command of the DevTools protocol and gives its answer."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.requests: list[str] = []
        """Addresses that the page asked for."""
        for domain in ("Page", "Runtime", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        return self._until(lambda message: message.get("id") == number)["result"]

    def open(self, page: Path) -> None:
        """Load a file and wait until it is usable."""
        self.ask("Page.navigate", url=page.resolve().as_uri())
        self._until(lambda message: message.get("method") == "Page.loadEventFired")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def box(self, selector: str) -> tuple[float, float]:
        """The middle of an element, scrolled into view."""
        place = self.run(
            f"(e => {{ e.scrollIntoView({{block: 'center'}}); const r = e.getClientRects()[0]; "
            f"return [r.x + r.width / 2, r.y + r.height / 2]; }})(document.querySelector({json.dumps(selector)}))"
        )
        return place[0], place[1]

    def hover(self, selector: str) -> None:
        x, y = self.box(selector)
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        x, y = self.box(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, code: int) -> None:
        text = {"text": key} if len(key) == 1 else {}
        text = {"text": "\r"} if key == "Enter" else text
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def scheme(self, name: str) -> None:
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self) -> bytes:
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def pdf(self) -> bytes:
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])

    def _until(self, wanted: Any) -> dict[str, Any]:
        while True:
            message = json.loads(self._socket.recv())
            if message.get("method") == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
            if wanted(message):
                assert "error" not in message, message
                return message


@contextmanager
def browser(profile: Path) -> Iterator[Tab]:
    """A fresh browser with one tab."""
    import websocket

    assert PATH is not None
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1100,900"]
    command = [PATH, *flags, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = _port(profile / "DevToolsActivePort")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=_PATIENCE) as answer:
            target = next(one for one in json.load(answer) if one["type"] == "page")
        socket = websocket.create_connection(target["webSocketDebuggerUrl"], timeout=_PATIENCE, suppress_origin=True)
        try:
            yield Tab(socket)
        finally:
            socket.close()
    finally:
        process.terminate()
        process.wait(_PATIENCE)


def _port(file: Path) -> int:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        if file.exists() and (lines := file.read_text().splitlines()):
            return int(lines[0])
        time.sleep(0.1)
    raise TimeoutError("the browser did not start")
