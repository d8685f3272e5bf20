# SPDX-License-Identifier: BSD-3-Clause
"""Headless Chromium in a namespace of the lab, controlled over a pipe (DevTools protocol).

LAB_BROWSER=firefox selects Firefox instead, which no run of scripts/test installs.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time

import firefox
import lab as labs

NAME = os.environ.get("LAB_BROWSER", "chromium")
# Makes calls between two endpoints of one browser that may use only the relay.
CALLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "chromium.html")
OPTIONS = (
    "--headless", "--no-sandbox",  # the sandbox needs a user other than root
    "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
    "--autoplay-policy=no-user-gesture-required", "--window-size=1160,660",
    "--remote-debugging-pipe",
)  # fmt: skip


def trust(home, ca):
    """Adds a CA to those that the browser with this home directory trusts."""
    store = os.path.join(home, ".pki/nssdb")
    if NAME == "firefox":
        store = firefox.profile(home)
    os.makedirs(store, exist_ok=True)
    labs.command("certutil", "-d", "sql:" + store, "-N", "--empty-password")
    labs.command("certutil", "-d", "sql:" + store, "-A", "-n", "lab", "-t", "C,,", "-i", ca)


def start(lab, ns, home=None):
    """The browser that LAB_BROWSER names, Chromium by default."""
    kind = {"chromium": Browser, "firefox": firefox.Browser}[NAME]
    return kind(lab, ns, home=home)


class Browser:
    """One browser process with its own home directory and one page."""

    def __init__(self, lab, ns, *options, home=None):
        program = shutil.which("chromium")
        if program is None:
            raise labs.Skip("chromium is not installed")
        home = home or os.path.join(lab.dir, "home")
        os.makedirs(home, exist_ok=True)
        theirs_in, self.out = os.pipe()
        self.inward, theirs_out = os.pipe()
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        argv = [program, *OPTIONS, f"--user-data-dir={home}/profile", *options, "about:blank"]
        self.log = open(os.path.join(lab.dir, "chromium.log"), "ab")
        self.process = lab.popen(
            ns, "bash", "-c", script, "bash", *argv, pass_fds=(theirs_in, theirs_out),
            env={**os.environ, "HOME": home}, stdout=self.log, stderr=self.log,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        lab.cleanup.callback(labs.end_process, self.process)
        self.number, self.bytes, self.session, self.events = 0, b"", None, []
        target = next(
            t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page"
        )
        self.session = self.ask(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )["sessionId"]

    def close(self):
        for fd in (self.out, self.inward):
            os.close(fd)
        labs.end_process(self.process)
        self.log.close()

    def ask(self, method, timeout=30, **params):
        """The result of one command. Events on the way are kept."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.out, json.dumps(command).encode() + b"\0")
        end = time.monotonic() + timeout * labs.SLOW
        while True:
            while b"\0" in self.bytes:
                text, self.bytes = self.bytes.split(b"\0", 1)
                answer = json.loads(text)
                if "id" not in answer:
                    self.events.append(answer)
                elif answer["id"] == self.number:
                    assert "error" not in answer, (method, answer)
                    return answer["result"]
            ready = select.select([self.inward], [], [], max(0, end - time.monotonic()))[0]
            assert ready, f"no answer to {method}"
            more = os.read(self.inward, 1 << 16)
            assert more, f"chromium exited: {self.process.poll()}"
            self.bytes += more

    def open(self, url):
        self.ask("Page.enable")
        self.ask("Page.navigate", url=url)
        labs.until(
            lambda: self.run("document.readyState === 'complete' && location.href") == url,
            10, "the page is loaded",
        )  # fmt: skip

    def run(self, script, timeout=30):
        """The value of an expression; a promise is awaited."""
        out = self.ask("Runtime.evaluate", timeout, expression=script, awaitPromise=True,
            returnByValue=True)  # fmt: skip
        assert "exceptionDetails" not in out, out
        return out["result"].get("value")

    def screenshot(self, path, whole=False):
        """whole: the parts below the window, too."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        picture = self.ask("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture))
