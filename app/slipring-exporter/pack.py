#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pack.py OUT VERSION FILE...: packs modules and data into one executable file, reproducibly."""

import os
import sys
import zipfile


def main(out, version, *paths):
    files = {os.path.basename(path): open(path, "rb").read() for path in paths}
    files["build.py"] = f'VERSION = "{version}"\n'.encode()
    with open(out, "wb") as file:
        file.write(b"#!/usr/bin/python3\n")  # the system's Python, which has the packages
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(files):
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), files[name])
    os.chmod(out, 0o755)


if __name__ == "__main__":
    main(*sys.argv[1:])
