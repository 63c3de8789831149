"""A headless Chromium driven over a pipe by its DevTools protocol: nothing to install but the browser itself."""

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOW_TO_GET = "no Chromium found; get one with `apt-get install chromium`"
READY = "document.documentElement?.classList.contains('ready')"  # the page's script has run
LOADED = "location.protocol === 'file:' && document.readyState === 'complete'"  # of a page without scripts
_PATIENCE = 60.0  # seconds for one answer


def find_browser():
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page. Errors and warnings are collected in `problems`, requested addresses in `requests`."""

    def __init__(self, profile: Path):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"]
        quiet = ["--disable-background-networking", "--disable-extensions", "--remote-debugging-pipe"]
        # the protocol's pipes are file descriptors 3 and 4
        command = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                command,
                find_browser(),
                *options,
                *quiet,
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        os.set_blocking(self._in, False)
        self._buffer, self._number, self._session = b"", 0, None
        self.problems, self.requests = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(10)
        os.close(self._in)
        os.close(self._out)

    def call(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _read(self):
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            if time.monotonic() > end:
                raise TimeoutError("the browser does not answer")
            try:
                self._buffer += os.read(self._in, 1 << 20)
            except BlockingIOError:
                time.sleep(0.005)
        line, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(line)
        self._note(message)
        return message

    def _note(self, message):
        params = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"]["exception"].get("description", "exception"))
        elif message.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.problems.append(str(params["args"]))
        elif message.get("method") == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])
        elif message.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def open(self, path: Path, *, width=1280, height=900, fragment="", dark=False, ready=READY):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=path.as_uri() + fragment)
        self.until(ready)

    def run(self, script):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def until(self, script):
        end = time.monotonic() + _PATIENCE
        while not self.run(script):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {script}; {self.problems}")
            time.sleep(0.02)

    def pdf(self) -> bytes:
        """The page as it is printed on A4."""
        return base64.b64decode(
            self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)["data"]
        )

    def screenshot(self, *, whole=False) -> bytes:
        clip = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
        return base64.b64decode(
            self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **clip)["data"]
        )
