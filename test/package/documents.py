# SPDX-License-Identifier: BSD-3-Clause
"""Commands and configurations in the documents, and how each command is tested.

A command is a line of a shell block, a line of a block that begins with "$ ", an indented line of
README.Debian, or code in a sentence that begins with one of our programs.
"""

import glob
import os
import re
import shlex

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
INSTALLED = "conf/debian/slipring.README.Debian"
# Documents that an operator follows step by step: each command of their blocks has a row in WAYS.
FOLLOWED = (INSTALLED, "README.md", "doc/install.md", "doc/operations.md", "doc/recipes.md")
RUN = "run: test_package.py runs the line itself"
# (pattern of the line without sudo, RUN or the reason against it). "lab NAME" and "unit NAME" are tests.
WAYS = (
    (r"slipring init", RUN),
    (r"(mkdir|ln) .*/slipring\.service\.d/?", RUN),
    (r"apt install \./build-packages/.*", RUN),
    (r"slipring --check -c /etc/slipring/slipring\.yaml", RUN),
    (r"systemctl (daemon-reload|enable --now slipring|reload slipring|start slipring|restart slipring)", RUN),
    (r'turnutils_uclient -y -W "change me" 192\.0\.2\.1', RUN),
    (r"slipringctl (status( \| grep state)?|explain ivan|config (diff|reload)|stop --keep)", RUN),
    (r"slipringctl top", "it does not end: unit ctl_top"),
    (r"slipringctl (drain --deadline 10m|status \| grep drains)", "the server would end: lab drain"),
    (r"slipringctl crash( newest)?", "nothing has crashed: lab crash"),
    (r"slipring-tune( -c /etc/slipring/slipring\.yaml)?", "the exit status depends on the machine: unit tune"),
    (r"slipring init --device 0000:3b:00\.0 .*", "needs a NIC: unit init"),
    (r"(dpdk-devbind\.py|ip link set NAME down; modprobe) .*", "needs a NIC"),
    (r"echo vm\.nr_hugepages=1024 .*", "changes the machine"),
    (r"apt install dpdk librte-meta-net", "installs packages of Debian"),
    (r"apt install fail2ban python3-systemd", "installs packages of Debian"),
    (r"printf .* (>|\| tee )/etc/fail2ban/jail.d/slipring.local", "lab fail2ban: a jail of its own"),
    (r"fail2ban-client reload", "lab fail2ban: a server of its own"),
    (r"scripts/demo", "lab demo"),
    (r"scripts/test", "runs the tests"),
    (r"scripts/package", "scripts/test-elsewhere packages begins with it"),
    (r"apt-get install build-essential .*", "unit commands compares the list with scripts/common.sh"),
    (r"meson (setup|install) .*", "the packages are built in this way (conf/debian/rules)"),
    (r"systemd-sysusers && systemctl daemon-reload", "the packages do so: debhelper"),
    (r"slipring-upgrade-check /usr/local/bin/slipring build/app/slipring/slipring", "unit upgrade"),
    (r"build/app/slipring/slipring --check .*", "differs in the path only"),
    (r"journalctl .*", "no journald runs there: lab journald"),
    (r"podman (load|run) .*", "scripts/test-elsewhere container runs the image"),
    (r"cat /etc/slipring/conf\.d/50-ivan\.yaml", "shows a file: unit conf_include"),
)


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def every_document():
    names = glob.glob("doc/**/*.md", root_dir=TOP, recursive=True)
    return ("README.md", INSTALLED, *sorted(names))


def blocks(path):
    """(number of the first line, language, lines) of each block of code."""
    found = None
    for number, line in enumerate(read(path).splitlines(), 1):
        if path == INSTALLED and line.startswith("    "):
            yield number, "sh", [line[4:]]
        elif line.lstrip().startswith("```"):
            if found:
                yield found
                found = None
            else:
                found = (number + 1, line.strip("` "), [])
        elif found:
            found[2].append(line)


def without_comment(line):
    """The line without its comment, white space at its end and sudo."""
    line = re.sub(r"""^((?:[^'"#]|"[^"]*"|'[^']*'|\S#)*?)\s+#\s.*$""", r"\1", line).strip()
    return re.sub(r"(^|[;&|]\s*)sudo (-E )?", r"\1", line)


def lines(path):
    """(number, line) of each command of the document's blocks. Scripts are not commands."""
    for first, language, text in blocks(path):
        if language not in ("", "sh") or (text and text[0].startswith("#!")):
            continue
        whole = ""
        for number, line in enumerate(text, first):
            if language == "sh" or line.startswith("$ "):
                whole += line.removeprefix("$ ")
                if whole.endswith("\\"):
                    whole = whole[:-1]
                elif without_comment(whole):
                    yield number, without_comment(whole)
                    whole = ""


def simple_commands(line):
    """The words of each command of a line. Pipes, ; and && separate commands."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words, last = [], ""
    for word in [*lexer, ";"]:
        if word == ";" or re.fullmatch(r"[&|]+", word):
            yield from [words] if words else []
            words = []
        elif word[0] != "<" and word[0] != ">" and last[-1:] not in ("<", ">"):
            words.append(word)
        last = word


def programs(path):
    """(number, words) of each call of our programs, also in sentences."""
    for number, line in lines(path):
        yield from ((number, words) for words in simple_commands(line))
    fenced = False
    for number, line in enumerate(read(path).splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        for code in () if fenced else re.findall(r"`((?:sudo )?slipring[a-z-]* [^`]*)`", line):
            yield from ((number, words) for words in simple_commands(without_comment(code)))


def how_tested(line):
    """How the command is tested, or None."""
    return next((text for form, text in WAYS if re.fullmatch(form, line)), None)


def to_run(path):
    """The commands of a document that test_package.py runs, in their order."""
    return [line for _, line in lines(path) if how_tested(line) == RUN]
