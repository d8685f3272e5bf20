# SPDX-License-Identifier: BSD-3-Clause
"""Headless Firefox in a namespace of the lab, controlled by Marionette, Firefox's own protocol."""

import base64
import json
import os
import shutil
import socket

import lab as labs

PREFERENCES = {
    "marionette.port": 0,  # any port; Firefox writes the number to a file
    "media.navigator.streams.fake": True,
    "media.navigator.permission.disabled": True,
    "media.autoplay.default": 0,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.proxy.type": 0,
    "app.normandy.enabled": False,
    "services.settings.server": "",
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False,
}


def profile(home):
    """Adds a CA to those that the Firefox profile trusts."""
    path = os.path.join(home, "firefox")
    os.makedirs(path, exist_ok=True)
    return path


class Browser:
    """One browser process with its own home directory and one page."""

    def __init__(self, lab, ns, home=None):
        program = shutil.which("firefox-esr") or shutil.which("firefox")
        if program is None:
            raise labs.Skip("firefox is not installed")
        home = home or os.path.join(lab.dir, "home")
        self.profile = profile(home)
        with open(os.path.join(self.profile, "user.js"), "w") as file:
            for name, value in PREFERENCES.items():
                file.write(f'user_pref("{name}", {json.dumps(value)});\n')
        # Without a default route it gathers no candidates.
        ns.ip("route", "replace", "default", "via", labs.SERVER4)
        ns.ip("-6", "route", "replace", "default", "via", labs.SERVER6)
        self.log = open(os.path.join(lab.dir, "firefox.log"), "ab")
        self.process = lab.popen(
            ns, program, "--headless", "--marionette", "--no-remote", "--profile", self.profile,
            "--width", "1160", "--height", "660", "about:blank",
            env={**os.environ, "HOME": home}, stdout=self.log, stderr=self.log,
        )  # fmt: skip
        self.number, self.bytes, self.sock = 0, b"", None
        labs.until(lambda: self.connected(ns), 60, "firefox answers", pause=0.1)
        self.read()  # the greeting
        answer = self.ask("WebDriver:NewSession", acceptInsecureCerts=False)
        print(f"Firefox {answer['capabilities']['browserVersion']}")

    def connected(self, ns):
        assert self.process.poll() is None, "firefox has ended"
        port = os.path.join(self.profile, "MarionetteActivePort")
        if not os.path.exists(port):
            return False
        with open(port) as file, ns.enter():
            self.sock = socket.create_connection(("127.0.0.1", int(file.read())))
        return True

    def close(self):
        self.sock.close()
        labs.end_process(self.process)
        self.log.close()

    def read(self):
        """One message: its length in decimal digits, a colon, JSON."""
        while True:
            length, colon, rest = self.bytes.partition(b":")
            if colon and len(rest) >= int(length):
                self.bytes = rest[int(length) :]
                return json.loads(rest[: int(length)])
            more = self.sock.recv(1 << 16)
            assert more, "firefox has ended"
            self.bytes += more

    def ask(self, method, timeout=60, **params):
        """The result of one command."""
        self.number += 1
        text = json.dumps([0, self.number, method, params]).encode()
        self.sock.settimeout(timeout * labs.SLOW)
        self.sock.sendall(b"%d:%s" % (len(text), text))
        while (answer := self.read())[:2] != [1, self.number]:
            pass
        assert answer[2] is None, (method, answer[2])
        return answer[3]

    def open(self, url):
        self.ask("WebDriver:Navigate", url=url)

    def run(self, script, timeout=30):
        """The value of an expression; a promise is awaited."""
        self.ask("WebDriver:SetTimeouts", script=1000 * timeout * labs.SLOW)
        return self.ask("WebDriver:ExecuteScript", timeout + 5, script=f"return {script}",
            args=[])["value"]  # fmt: skip

    def screenshot(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("WebDriver:TakeScreenshot", full=False)["value"]))
