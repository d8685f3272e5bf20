# SPDX-License-Identifier: BSD-3-Clause
"""Reads /etc/slipring/accounts.yaml. Each error has the file, the line, and what may stand there."""

import urllib.parse

import source_hook

try:
    import yaml
except ImportError:
    yaml = None  # main() says which package has it

SOURCES_MAX = 8


class Wrong(Exception):
    """An error of the file, with its place."""


class Reader:
    def __init__(self, path):
        self.path = path

    def fail(self, node, text):
        raise Wrong(f"{self.path}:{node.start_mark.line + 1}: {text}")

    def load(self):
        try:
            with open(self.path, encoding="utf-8") as file:
                node = yaml.compose(file, Loader=yaml.SafeLoader)
        except OSError as error:
            raise Wrong(f"{self.path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise Wrong(f"{self.path}: it is not UTF-8") from None
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = f"{mark.line + 1}: " if mark else " "
            raise Wrong(f"{self.path}:{line}{getattr(error, 'problem', None) or 'not YAML'}") from None
        if node is None:
            raise Wrong(f"{self.path}:1: the file is empty: it needs `source`")
        return self.mapping(node, TOP)

    def mapping(self, node, keys, required=()):
        """{key: value} of a mapping with these keys: (function that reads it, default)."""
        if not isinstance(node, yaml.MappingNode):
            self.fail(node, "a mapping belongs here: " + ", ".join(keys))
        values = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            if name not in keys:
                self.fail(key, f"no such key: {name}; there are: {', '.join(keys)}")
            if name in values:
                self.fail(key, f"twice: {name}")
            values[name] = keys[name][0](self, value)
        for name, (_, default) in keys.items():
            if name not in values and default is REQUIRED:
                self.fail(node, f"missing: {name}")
            values.setdefault(name, default)
        return values


REQUIRED = object()


def text(reader, node):
    if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null" or not node.value:
        reader.fail(node, "a text belongs here")
    return node.value


def number(least, most):
    def read(reader, node):
        if not isinstance(node, yaml.ScalarNode) or not node.value.isdecimal() or not least <= int(node.value) <= most:
            reader.fail(node, f"a number from {least} to {most} belongs here")
        return int(node.value)

    return read


def texts(reader, node):
    if not isinstance(node, yaml.SequenceNode) or not node.value:
        reader.fail(node, "a list of texts belongs here")
    return [text(reader, item) for item in node.value]


def realms(reader, node):
    """Realms may be empty texts."""
    if not isinstance(node, yaml.SequenceNode) or not all(isinstance(item, yaml.ScalarNode) for item in node.value):
        reader.fail(node, "a list of realms belongs here")
    return [item.value for item in node.value]


def section(keys):
    return lambda reader, node: reader.mapping(node, keys)


def url(reader, node):
    given = text(reader, node)
    try:
        parts = urllib.parse.urlsplit(given)
        is_url = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not parts.username
    except ValueError:
        is_url = False
    if not is_url or not given.isascii() or not given.isprintable() or " " in given:
        reader.fail(node, "https://HOST/PATH belongs here, or http:// to this host")
    if parts.scheme == "http" and not source_hook.is_loopback(parts.hostname):
        reader.fail(node, "http:// to another host would show the keys to the network: use https://")
    return given


TLS = (section({"ca": (text, None), "certificate": (text, None), "key": (text, None)}), None)
SERVER = {"host": (text, "localhost"), "port": (number(1, 65535), None), "socket": (text, None), "user": (text, None),
    "password": (text, None), "tls": TLS}  # fmt: skip
SOURCES = {
    "redis": {**SERVER, "database": (number(0, 1 << 20), 0)},
    "postgresql": {"conninfo": (text, REQUIRED)},
    "mariadb": {**SERVER, "database": (text, REQUIRED)},
    "sqlite": {"file": (text, REQUIRED)},
    "http": {"url": (url, REQUIRED), "token-file": (text, None), "tls": TLS},
    "command": {"command": (texts, REQUIRED)},
}


def one_source(reader, node):
    if not isinstance(node, yaml.MappingNode):
        reader.fail(node, "a source belongs here: {type: ..., ...}")
    kinds = [value for key, value in node.value if key.value == "type"]
    kind = kinds[0].value if kinds else None
    if kind not in SOURCES:
        reader.fail(kinds[0] if kinds else node, f"type must be one of {', '.join(SOURCES)}")
    return reader.mapping(node, {"type": (text, REQUIRED), **SOURCES[kind]})


def sources(reader, node):
    nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
    if not 0 < len(nodes) <= SOURCES_MAX:
        reader.fail(node, f"1 to {SOURCES_MAX} sources belong here")
    return [one_source(reader, item) for item in nodes]


SOCKET = {"path": (text, "/run/slipring-accounts/socket"), "group": (text, "slipring")}
CACHE = {"lifetime": (number(1, 86400), 60), "unknown": (number(1, 3600), 10), "stale": (number(0, 604800), 3600)}
TOP = {
    "socket": (section(SOCKET), {key: default for key, (_, default) in SOCKET.items()}),
    "cache": (section(CACHE), {key: default for key, (_, default) in CACHE.items()}),
    "realms": (realms, None),
    "source": (sources, REQUIRED),
}


def load(path):
    """The whole configuration as a dict. Raises Wrong."""
    found = Reader(path).load()
    for settings in found["source"]:
        settings["realms"] = found["realms"]
    return found
