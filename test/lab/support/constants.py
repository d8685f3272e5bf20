# SPDX-License-Identifier: BSD-3-Clause
"""Constants of slipring, which tests set by test-constants: small pools, short times, low rates."""

import glob
import json
import os
import re

import lab as labs

NAMES = []
for table in ("schema/schema_constants.c", "features/*/conf_points.h"):
    for path in glob.glob(os.path.join(labs.TOP, "lib/conf", table)):
        with open(path) as rows:
            NAMES += re.findall(r'^(?:X\()?{TESTS "([^"]+)"', rows.read(), re.M)


def take(config, name):
    """Takes what a dotted name stands for out of nested mappings, and those that it leaves empty."""
    first, dot, rest = name.partition(".")
    if not isinstance(config, dict) or first not in config:
        return None
    if not dot:
        return config.pop(first)
    value = take(config[first], rest)
    if config[first] == {}:
        del config[first]
    return value


def document(config):
    """A configuration as YAML. A test writes constants as if they were keys: here they are moved."""
    config = json.loads(json.dumps(config))  # tests use one mapping in several places
    found = {name: value for name in NAMES if (value := take(config, name)) is not None}
    if found:
        config["test-constants"] = found | config.get("test-constants", {})
    return json.dumps(config, indent=1)
