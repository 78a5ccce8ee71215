"""A page in headless Chromium, through its DevTools protocol, for tests of what a page does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tornado.websocket import WebSocketClientConnection, websocket_connect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
# What keeps the browser from the network, and lets it run in a container.
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
KEYS = {"Tab": 9, "Enter": 13, " ": 32}
Result = TypeVar("Result")


class Page:
    """A page; complaints of its console are collected in ``complaints``."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self._socket = socket
        self._sent = 0
        self.complaints: list[str] = []

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command of the protocol and return its result."""
        self._sent += 1
        await self._socket.write_message(json.dumps({"id": self._sent, "method": method, "params": params}))
        while True:
            answer = json.loads(str(await asyncio.wait_for(self._socket.read_message(), 30)))
            if answer.get("method") in {
                "Runtime.exceptionThrown",
                "Log.entryAdded",
                "Runtime.consoleAPICalled",
            }:
                self.complaints.append(json.dumps(answer["params"]))
            if answer.get("id") == self._sent:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    async def run(self, expression: str) -> Any:
        """Return the value of an expression, as JSON has it."""
        told = await self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True
        )
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    async def press(self, key: str) -> None:
        """Press a key, as a person does."""
        text = {"Enter": "\r", " ": " "}.get(key)
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            await self.send(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=KEYS[key], **more
            )

    async def write(self, text: str) -> None:
        """Type a text into what has the focus."""
        await self.send("Input.insertText", text=text)

    async def resize(self, width: int) -> None:
        """Give the window a width in pixels."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        await self.send("Emulation.setDeviceMetricsOverride", **size)


def visit(file: Path, act: Callable[[Page], Awaitable[Result]]) -> Result:
    """Open a file in a browser of its own, and return what a function of the page returns."""

    async def go() -> Result:
        with _browser() as port:
            async with _opened(port) as page:
                for domain in ("Page", "Runtime", "Log"):
                    await page.send(f"{domain}.enable")
                await page.send("Page.navigate", url=file.resolve().as_uri())
                while not await page.run(
                    "document.readyState === 'complete' && location.href !== 'about:blank'"
                ):
                    await asyncio.sleep(0.05)
                return await act(page)

    return asyncio.run(go())


@contextlib.contextmanager
def _browser() -> Iterator[int]:
    """Start a browser and yield the port on which it listens."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            str(CHROMIUM),
            *FLAGS,
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
            "about:blank",
        ]
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stderr is not None
            try:
                address = next(line for line in process.stderr if line.startswith("DevTools listening on"))
                yield int(address.split(":")[2].split("/")[0])
            finally:
                process.terminate()
                process.stderr.read()


@contextlib.asynccontextmanager
async def _opened(port: int) -> AsyncIterator[Page]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as told:
        tabs = json.load(told)
    address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
    socket = await websocket_connect(address, max_message_size=100_000_000)
    try:
        yield Page(socket)
    finally:
        socket.close()
        while await socket.read_message() is not None:
            pass
