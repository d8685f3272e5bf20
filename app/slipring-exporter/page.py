# SPDX-License-Identifier: BSD-3-Clause
"""The status page, and the JSON that it polls. Both answer only if the Host header is an IP address or
localhost. A page of another site can make its own name resolve to this host (DNS rebinding), but the
browser then sends that name as Host.
"""

import base64
import hashlib
import ipaddress
import pkgutil
import re

from status import body
from web import HELP, TEXT, Shared

HTML, JSON = "text/html; charset=utf-8", "application/json"
REFUSED = b"ask by an IP address or as localhost: the name in Host may be that of another site (DNS rebinding)\n"


def is_own(host):
    """True if a Host header is an IP address or localhost."""
    found = re.fullmatch(r"(?:\[([^\]]*)\]|([^:]*))(?::\d*)?", host)
    if not found:
        return False
    try:
        return (found[2] or "").lower() == "localhost" or bool(ipaddress.ip_address(found[1] or found[2]))
    except ValueError:
        return False


def guarded(call):
    """Wraps a page so that pages of other sites cannot read it."""
    return lambda headers: call(headers) if is_own(headers.get("host", "")) else (403, TEXT, REFUSED)


def digest(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'"


def policy(html):
    """Content-Security-Policy: the page uses only its own script and styles, and asks only this exporter."""
    scripts, styles = (
        " ".join(digest(text) for text in re.findall(rb"<%b>(.*?)</%b>" % (tag, tag), html, re.S))
        for tag in (b"script", b"style")
    )
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; connect-src 'self'; img-src data:;"
        " frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )


def page():
    """The page for browsers, a line of help for others."""
    html = pkgutil.get_data(__name__, "page.html")
    headers = {"Content-Security-Policy": policy(html)}

    def answer(asked):
        if "text/html" not in asked.get("accept", ""):
            return 200, TEXT, HELP
        return 200, HTML, html, headers

    return guarded(answer)


def status(slipring, cache, control):
    seen = Shared(lambda: slipring.see(True), cache)
    return guarded(lambda headers: (200, JSON, body(seen.get(), slipring.version, control)))
