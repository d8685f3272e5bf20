# SPDX-License-Identifier: BSD-3-Clause
"""yaml_page.py CONFIGURATION OUTPUT: makes the manual page slipring.yaml(5) of doc/configuration.md, which
slipring --manual prints.
"""

import re
import sys

HEAD = r""".\" Made from doc/configuration.md.
.TH SLIPRING.YAML 5 "" "slipring" "slipring"
.SH NAME
slipring.yaml \- configuration of slipring, a TURN server
.SH DESCRIPTION
"""
TAIL = r"""
.SH FILES
.I /etc/slipring/slipring.yaml
.SH SEE ALSO
.BR slipring (8),
.BR slipringctl (1)
"""
MARKS = re.compile(r"`(?P<code>[^`]+)`|\[(?P<link>[^]]*)\]\([^)]*\)|\*\*(?P<bold>[^*]+)\*\*|\*(?P<italic>[^*]+)\*")


def escaped(text):
    out = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\\&" + out if out.startswith(".") else out


def styled(text):
    """Text with its marks as fonts."""
    out, done = [], 0
    for found in MARKS.finditer(text):
        out.append(escaped(text[done : found.start()]))
        font = {"code": "B", "bold": "B", "italic": "I", "link": "R"}[found.lastgroup]
        out.append(f"\\f{font}{escaped(found[found.lastgroup])}\\fR")
        done = found.end()
    return "".join((*out, escaped(text[done:])))


def cells(line):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def key(row):
    """A row of a table of keys: key, value, default, explanation."""
    name, value, default, explanation = row
    default = "" if default in ("", "none") else f"; default {styled(default)}"
    return f".TP\n\\fB{escaped(name.strip('`'))}\\fR: {styled(value)}{default}\n{styled(explanation)}\n"


def converted(lines):
    """The body of the page, part by part."""
    paragraph, rows, indent = [], 0, False

    def flush():
        text = styled(" ".join(paragraph)) + "\n" if paragraph else ""
        paragraph.clear()
        return text

    for line in lines:
        if re.match(r"<!--|# ", line):
            continue
        if not line.startswith("|"):
            rows = 0
        if line.startswith("#"):
            yield flush() + f".SH {escaped(line.lstrip('# ')).upper()}\n"
        elif line.startswith("|"):
            rows += 1
            if rows > 2:  # below the head of the table
                row = cells(line)
                yield flush() + (key(row) if len(row) == 4 else ".PP\n" + styled(": ".join(row)) + "\n")
        elif line.startswith("* "):
            yield flush() + ".IP \\(bu 2\n"
            paragraph.append(line[2:])
            indent = True
        elif not line.strip():
            yield flush() + (".PP\n" if not indent or rows == 0 else "")
            indent = False
        else:
            paragraph.append(line.strip())
    yield flush()


def main():
    with open(sys.argv[1]) as file:
        body = "".join(converted(file.read().splitlines()))
    body = re.sub(r"(?:\.PP\n)+(?=\.(?:PP|SH|TP|IP))", "", body)  # an empty paragraph is a warning
    body = re.sub(r"(\.SH .*\n)\.PP\n", r"\1", body)
    with open(sys.argv[2], "w") as file:
        file.write(HEAD + body.strip() + TAIL)


main()
