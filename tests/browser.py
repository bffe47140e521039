"""A headless Chromium, told what to do over a pipe (DevTools protocol), with nothing but Python's standard library."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND",
           "--remote-debugging-pipe")  # fmt: skip


class Browser:
    """One page, whose console and requests are kept in `messages` and `requests`."""

    def __init__(self, patience=60):
        program = next((found for found in map(shutil.which, NAMES) if found), None)
        if program is None:
            raise FileNotFoundError(
                "this test opens the report in Chromium, which is not installed; on Debian: apt install chromium, on Ubuntu: snap install chromium"
            )
        self.patience = patience
        self.profile = tempfile.mkdtemp(prefix="femcg-chromium-")
        # The browser reads commands from descriptor 3 and writes answers to descriptor 4.
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        high = [os.dup2(end, place, inheritable=False) for end, place in ((commands, 60), (answers, 61))]

        def place_pipes():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [program, *OPTIONS, f"--user-data-dir={self.profile}", "about:blank"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, preexec_fn=place_pipes, pass_fds=(3, 4), start_new_session=True)  # fmt: skip
        for end in {commands, answers, *high}:
            os.close(end)
        self.received, self.number, self.session = b"", 0, None
        self.messages, self.requests, self.loaded = [], [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.commands)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **parameters):
        """The result of one command; meanwhile events are noted."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters} | (
            {"sessionId": self.session} if self.session else {}
        )
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        until = time.monotonic() + self.patience
        while True:
            message = self.receive(until)
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    def receive(self, until):
        while b"\0" not in self.received:
            if not select.select([self.answers], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError(f"Chromium did not answer within {self.patience} s")
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise RuntimeError(
                    "Chromium ended early; run it by hand to see why: chromium --headless --no-sandbox about:blank"
                )
            self.received += part
        message, self.received = self.received.split(b"\0", 1)
        return json.loads(message)

    def note(self, event):
        method, of = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.messages.append(
                f"console.{of['type']}: " + " ".join(str(a.get("value", a.get("description"))) for a in of["args"])
            )
        elif method == "Runtime.exceptionThrown":
            details = of["exceptionDetails"]
            self.messages.append("exception: " + details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.messages.append(f"{of['entry']['level']}: {of['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(of["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def open(self, path, width=1280, height=900, scheme="light"):
        """Loads a file, and waits until it is drawn."""
        self.messages, self.requests, self.loaded = [], [], False
        self.emulate("screen", scheme)
        self.resize(width, height)
        self.call("Page.navigate", url=path.as_uri())
        until = time.monotonic() + self.patience
        while not self.loaded:
            self.note(self.receive(until))
        self.settle()

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def settle(self):
        """Two frames later."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['result'].get('description')}")
        return answer["result"].get("value")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode={"Enter": 13, "Tab": 9}[key],
                **text,
            )

    def screenshot(self, path):
        """The whole page as a PNG file."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def emulate(self, media, scheme):
        self.call(
            "Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}]
        )

    def print(self, path, scheme):
        """The page as a PDF file, as a reader who uses this scheme prints it."""
        self.emulate("print", scheme)
        path.write_bytes(
            base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"])
        )
