#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/release --check in repositories that may be released, and in others; scripts/sbom."""

import datetime
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../.."))
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("sbom", TOP + "/scripts/sbom")
sbom = importlib.util.module_from_spec(importlib.util.spec_from_loader("sbom", loader))
loader.exec_module(sbom)

TODAY = datetime.date.today().isoformat()
FILES = {
    "meson.build": "project('slipring', 'c',\n\tversion: '0.2.0',\n)\n",
    "doc/changelog.md": "# Changes\n\n## 0.2.0 (2026-12-01)\n\n## 0.1.0 (2026-11-01)\n",
    "doc/performance.md": f"Measured on {TODAY}.\n",
    "README.md": "# slipring\n",
}
STATUS = """Package: libssl3
Status: install ok installed
Version: 3.0.17-1~deb12u2
Architecture: amd64
Source: openssl
Depends: libc6 (>= 2.34)

Package: libc6
Status: install ok installed
Version: 2.36-9+deb12u10
Architecture: amd64
Source: glibc
Depends: libgcc-s1

Package: libgcc-s1
Status: install ok installed
Version: 12.2.0-14
Architecture: amd64
Source: gcc-12
Depends: gcc-12-base (= 12.2.0-14), libc6 (>= 2.35)

Package: systemd-minimal
Status: install ok installed
Version: 252.38
Architecture: amd64
Provides: systemd (= 252.38)
"""
CONTROL = """Package: slipring
Version: 0.2.0-1~deb12u1
Architecture: amd64
Maintainer: slipring maintainers <maintainers@slipring.example>
Pre-Depends: init-system-helpers (>= 1.54~)
Depends: iproute2, standalone | systemd, libssl3 (>= 3.0.0), python3:any
Description: TURN server
"""


def write(folder, files):
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class Check(unittest.TestCase):
    """scripts/release --check."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.git("init", "-q")
        os.mkdir(self.folder + "/scripts")
        for name in ("release", "common.sh", "roots.sh"):
            shutil.copy(f"{TOP}/scripts/{name}", self.folder + "/scripts")
        self.commit(FILES)

    def git(self, *words):
        name = ("-c", "user.name=Test", "-c", "user.email=test@slipring.example")
        subprocess.run(["git", *name, *words], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def commit(self, files):
        write(self.folder, files)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a commit")

    def check(self):
        """Exit status and messages."""
        done = subprocess.run([self.folder + "/scripts/release", "--check"], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def refused(self, reason):
        status, said = self.check()
        self.assertEqual(status, 1, said)
        self.assertIn(reason, said)

    def test_tagged_commit(self):
        self.git("tag", "v0.2.0")
        self.assertEqual(self.check(), (0, ""))

    def test_without_a_tag_it_is_a_rehearsal(self):
        self.commit({"doc/changelog.md": "## 0.2.0 (not released)\n"})
        status, said = self.check()
        self.assertEqual(status, 0)
        self.assertIn("rehearsal", said)

    def test_changed_and_new_files(self):
        write(self.folder, {"README.md": "# Changed\n"})
        self.refused("commit or remove these first: README.md")
        self.git("checkout", "-q", "README.md")
        write(self.folder, {"lib/new.c": ""})
        self.refused("commit or remove these first: lib/")

    def test_version_without_an_entry(self):
        self.commit({"doc/changelog.md": "## 0.1.0 (2026-11-01)\n\n## 012.0 (2026-10-01)\n\n## 0.2.01 (2026-10-01)\n"})
        self.refused("doc/changelog.md: no entry '## 0.2.0 (YYYY-MM-DD)'")

    def test_tagged_entry_without_a_date(self):
        self.commit({"doc/changelog.md": "# Changes\n\n## 0.2.0 (not released)\n"})
        self.git("tag", "v0.2.0")
        self.refused("doc/changelog.md:3: write the day of the release")

    def test_tag_of_another_commit(self):
        self.git("tag", "-a", "-m", "a tag", "v0.2.0")
        self.commit({"README.md": "# Later\n"})
        self.refused("v0.2.0 is the tag of another commit")

    def test_old_figures_are_a_warning(self):
        self.git("tag", "v0.2.0")
        old = "The report of 2020-02-29, and of 2020-03-01.\n"
        self.commit({"doc/performance.md": old})
        self.git("tag", "-f", "v0.2.0")
        status, said = self.check()
        self.assertEqual(status, 0)
        self.assertIn("warning: doc/performance.md:1: figures of 2020-02-29 are ", said)
        self.assertIn("figures of 2020-03-01", said)

    def test_not_a_repository(self):
        shutil.rmtree(self.folder + "/.git")
        self.refused("a release is made of a git repository")


class Bill(unittest.TestCase):
    """scripts/sbom."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root, self.deb = temporary.name + "/root", temporary.name + "/slipring.deb"
        status = re.sub("^Status: ", "Maintainer: Debian <debian@slipring.example>\nDescription: a package\nStatus: ", STATUS, flags=re.M)
        write(self.root, {"var/lib/dpkg/status": status, "etc/os-release": 'ID=debian\nVERSION_ID="12"\n'})
        os.makedirs(temporary.name + "/deb/DEBIAN", mode=0o755)
        os.chmod(temporary.name + "/deb/DEBIAN", 0o755)
        write(temporary.name, {"deb/DEBIAN/control": CONTROL})
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", temporary.name + "/deb", self.deb], check=True, capture_output=True)
        os.environ["SOURCE_DATE_EPOCH"] = "1796000000"
        self.bill = sbom.bill(self.root, [self.deb])
        self.packages = {package["name"]: package for package in self.bill["packages"]}
        self.links = {tuple(link.values()) for link in self.bill["relationships"]}

    def linked(self, source, kind, target):
        return (f"SPDXRef-{source}", kind, f"SPDXRef-{target}") in self.links

    def test_dependencies_of_dependencies_are_named(self):
        self.assertTrue(self.linked("DOCUMENT", "DESCRIBES", "slipring"))
        self.assertTrue(self.linked("slipring", "DEPENDS_ON", "libssl3"))
        self.assertTrue(self.linked("libssl3", "DEPENDS_ON", "libc6"))
        self.assertTrue(self.linked("libgcc-s1", "DEPENDS_ON", "libc6"))
        self.assertEqual(self.packages["libssl3"]["versionInfo"], "3.0.17-1~deb12u2")
        self.assertEqual(self.packages["libssl3"]["sourceInfo"], "built from openssl 3.0.17-1~deb12u2")
        (url,) = self.packages["libc6"]["externalRefs"]
        self.assertEqual(url["referenceLocator"], "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64&distro=debian-12")

    def test_alternatives_and_virtual_packages(self):
        self.assertTrue(self.linked("slipring", "DEPENDS_ON", "systemd-minimal"))
        self.assertNotIn("standalone", self.packages)

    def test_a_package_that_no_build_needs_has_no_version(self):
        self.assertTrue(self.linked("slipring", "DEPENDS_ON", "iproute2"))
        self.assertNotIn("versionInfo", self.packages["iproute2"])

    def test_what_the_build_uses(self):
        self.assertTrue(self.linked("libdpdk-dev", "BUILD_DEPENDENCY_OF", "slipring"))
        self.assertTrue(self.linked("python3", "BUILD_DEPENDENCY_OF", "slipring"))
        self.assertNotIn("debhelper-compat", self.packages)

    def test_every_identifier_is_defined_once(self):
        identifiers = [package["SPDXID"] for package in self.bill["packages"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        used = {end for source, _, target in self.links for end in (source, target)}
        self.assertEqual(used - {"SPDXRef-DOCUMENT"}, set(identifiers))

    def test_the_same_packages_give_the_same_text(self):
        self.assertEqual(sbom.bill(self.root, [self.deb]), self.bill)
        self.assertEqual(self.bill["creationInfo"]["created"], "2026-11-30T00:53:20Z")


if __name__ == "__main__":
    if not all(map(shutil.which, ("git", "dpkg-deb"))):
        print("no git or dpkg")
        sys.exit(77)
    unittest.main()
