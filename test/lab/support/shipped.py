# SPDX-License-Identifier: BSD-3-Clause
"""The example files of conf/. Only site-specific values change: the device, the addresses, the
paths of the certificate, and permission for peers in the lab's private network.
"""

import os
import re
import time

import lab as labs
import streams
from lab import SERVER4, SERVER6
from turnlib import Auth, rest_credentials

SECRET = "change me"  # in all example files


def text(lab, name, workers=2, lcores=None):
    """The text of conf/NAME adapted to the lab. A certificate is created if the file needs one."""
    with open(os.path.join(labs.TOP, "conf", name)) as file:
        out = file.read()
    out = out.replace('"0000:3b:00.0"', f'"vtap:d0,queues={workers}"')
    out = out.replace("2001:db8::1", SERVER6).replace("192.0.2.1", SERVER4)
    out = re.sub(r"(?m)^ +gateway:.*\n", "", out)
    if "\ntls:" in out:
        _, key = streams.certificate(lab, "turn.example", "shipped")
        out = out.replace("/etc/slipring/fullchain.pem", certificate(lab))
        out = out.replace("/etc/slipring/privkey.pem", key)
    if not lab.vtap:
        # The kernel sees frames that arrive on d0, too, and would answer for the addresses of sr0.
        host = lab.namespace(lab.cleanup, "host").name
        out = out.replace("exception: {", f"exception: {{netns: {host}, ")
        out += f"streams: {{netns: {host}}}\n"
    eal = f"file-prefix: {lab.prefix}n{len(lab.servers)}"
    if lcores and os.cpu_count() > 1:
        eal += f', lcores: "{lcores}"'
    return f"""{out}eal: {{{eal}}}
drivers: {labs.TOP}/drivers-config
workers: {{count: {workers}}}
peers: {{allow: [10.99.0.0/24, "fd99::/64"]}}
log: {{to: stderr, level: info}}
"""


def certificate(lab):
    """Writes the file and returns its path."""
    return os.path.join(lab.dir, "shipped.pem")


def credentials():
    """REST credentials for these files, valid for an hour."""
    return Auth(*rest_credentials(SECRET, time.time() + 3600, "lab"))
