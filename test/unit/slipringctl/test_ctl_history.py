#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slipringctl who and usage on files of records: rotated ones, ones that are being written, records
that were lost, names that were cut, and parts of files. Errors say what to do."""

import collections
import contextlib
import io
import json
import os
import tempfile
import unittest
from unittest import mock

import ctl_world as world

from ctl import history, usage

ctl = world.program()
Done = collections.namedtuple("Done", "returncode stdout stderr")
T0 = 1795000000
ADDRESS = "203.0.113.5"


def record(event, offset, number, **fields):
    row = {"time": history.stamp(T0 + offset), "event": event, "id": str(number), "user": "ivan"}
    row.update(realm="turn.example", client="192.0.2.7:5000", transport="udp", worker=1)
    row["relay"] = f"{ADDRESS}:49152"
    if event == "ended":
        row.update({"why": "client", "seconds": 60})
    elif event in ("made", "interim"):
        row["lifetime"] = 600
    return {**row, **fields}


def legs(datagrams):
    return {
        "from_client": {"datagrams": datagrams, "bytes": 100 * datagrams},
        "from_peers": {"datagrams": 2 * datagrams, "bytes": 200 * datagrams},
    }


def text(*rows):
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


class Files(unittest.TestCase):
    """A directory with files of records."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "records.json")

    def write(self, data, suffix="", path=None):
        with open((path or self.path) + suffix, "w") as file:
            file.write(data)

    def run_ctl(self, *args, path="/none"):
        """Runs slipringctl in this process."""
        out, err = io.TextIOWrapper(io.BytesIO(), write_through=True), io.StringIO()
        with mock.patch("sys.argv", ["slipringctl", "--socket", path, *args]):
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = ctl.main()
        return Done(code, out.buffer.getvalue().decode(), err.getvalue())

    def rows(self, relayed, seconds, *args):
        """Rows of the command at a time after T0."""
        done = self.run_ctl("who", relayed, str(T0 + seconds), "--file", self.path, "--json", *args)
        self.assertEqual(done.stderr, "")
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(done.returncode, 0 if rows else 1)
        return rows

    def users(self, *args):
        return [row.get("user") for row in self.rows(*args)]

    def usage(self, begin, end, *args):
        done = self.run_ctl("usage", "--from", str(T0 + begin), "--to", str(T0 + end), "--file", self.path,
            "--json", *args)  # fmt: skip
        self.assertEqual(done.stderr, "")
        return [json.loads(line) for line in done.stdout.splitlines()]


class Who(Files):
    PORT = f"{ADDRESS}:49152"

    def test_one_port_in_the_course_of_time(self):
        """In three files, with another port and an address that begins alike."""
        self.write(text(record("made", 0, 1), record("made", 1, 7, relay=f"{ADDRESS}:4915", user="x")), ".2")
        self.write(text(record("ended", 60, 1, **legs(3)), record("made", 100, 2, user="olga")), ".1")
        self.write(text(record("interim", 400, 2, user="olga", **legs(1)),
            record("ended", 500, 2, user="olga", seconds=400, **legs(9)), record("made", 600, 3, user="jan")))  # fmt: skip
        for seconds, user in ((-1, None), (0, "ivan"), (59, "ivan"), (60, "ivan"), (61, None), (99, None),
                (100, "olga"), (450, "olga"), (500, "olga"), (501, None), (600, "jan"), (9000, "jan")):  # fmt: skip
            self.assertEqual(self.users(self.PORT, seconds), [user] if user else [], seconds)
        (row,) = self.rows(self.PORT, 100)
        self.assertEqual((row["made"], row["ended"], row["why"]),
            (history.stamp(T0 + 100), history.stamp(T0 + 500), "client"))  # fmt: skip
        self.assertEqual(row["from_peers"]["datagrams"], 18)
        self.assertEqual(self.users(self.PORT, 61.5, "--within", "2"), ["ivan"])
        self.assertEqual(self.users(f"{ADDRESS}:4915", 30), ["x"])
        self.assertEqual(self.users("[2001:db8::1]:49152", 30), [])

    def test_the_beginning_is_rotated_away(self):
        self.write(text(record("interim", 400, 2, **legs(1)), record("ended", 500, 2, seconds=450, **legs(9))))
        self.assertEqual(self.users(self.PORT, 49), [])
        (row,) = self.rows(self.PORT, 55)
        self.assertEqual((row["user"], row["made"]), ("ivan", history.stamp(T0 + 50)))

    def test_an_end_was_lost(self):
        """The next allocation on the port shows that there was one."""
        self.write(text(record("made", 0, 1), record("made", 100, 2, user="olga")))
        self.assertEqual(self.users(self.PORT, 150), ["olga"])
        self.assertEqual(self.rows(self.PORT, 50)[0]["why"], "not recorded")

    def test_a_name_that_the_end_has_cut(self):
        long = "a-name-of-more-than-twenty-bytes"
        self.write(text(record("made", 0, 1, user=long), record("ended", 60, 1, user=long[:20], **legs(1))))
        self.assertEqual(self.users(self.PORT, 30), [long])

    def test_a_client_that_moved_and_a_restart(self):
        self.write(text(
            record("made", 0, 1), record("roamed", 10, 1, **{"from": "192.0.2.7:5000"}, client="192.0.2.8:1"),
            record("moved", 20, 5, was="1", client="192.0.2.8:1"),
            record("ended", 60, 5, client="192.0.2.8:1", **legs(1))))  # fmt: skip
        for seconds, client in ((5, "192.0.2.7:5000"), (15, "192.0.2.8:1"), (50, "192.0.2.8:1")):
            (row,) = self.rows(self.PORT, seconds)
            self.assertEqual((row["client"], row["made"]), (client, history.stamp(T0)))

    def test_shared_ports_and_peers(self):
        """Several users at once have the port; the record of the peer tells who it was."""
        rows = [record("made", i, i + 1, user=f"u{i}") for i in range(3)]
        rows += [record("ended", 90 + i, i + 1, user=f"u{i}", seconds=90, **legs(1)) for i in range(3)]
        self.write(text(*rows))
        self.assertEqual(self.users(self.PORT, 50), ["u0", "u1", "u2"])
        peers = [record("peer", 10 + i, i + 1, peer=peer) for i, peer in
            enumerate(("198.51.100.7", "198.51.100.8:80", "198.51.101.0/24"))]  # fmt: skip
        self.write(text(*peers), path=os.path.join(self.folder, "records-peers.json"))
        for peer, user in (("198.51.100.7", "u0"), ("198.51.100.8", "u1"), ("198.51.101.200", "u2")):
            self.assertEqual(self.users(self.PORT, 50, "--peer", peer), [user])
        self.assertEqual(self.rows(self.PORT, 50)[1]["peers"], ["198.51.100.8:80"])

    def test_all_of_an_address(self):
        rows = [record("made", 10 * i, i + 1, user=f"u{i}", relay=f"{ADDRESS}:{50000 + i}") for i in range(100)]
        rows += [record("ended", 10 * i + 15, i + 1, seconds=15, user=f"u{i}",
            relay=f"{ADDRESS}:{50000 + i}", **legs(1)) for i in range(100)]  # fmt: skip
        self.write(text(*sorted(rows, key=lambda row: row["time"])))
        self.assertEqual(self.users(ADDRESS, 503), ["u49", "u50"])

    def test_for_people(self):
        self.write(text(record("made", 0, 1, user="ivan\x1b"), record("ended", 60, 1, **legs(3))))
        done = self.run_ctl("who", self.PORT, "2026-11-18T12:06:50+01:00", "--file", self.path)
        self.assertIn("user     ivan%1B in turn.example\nclient   192.0.2.7:5000 over udp\n", done.stdout)
        done = self.run_ctl("who", self.PORT, "2026-11-18T12:06:50Z", "--file", self.path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("before: ivan%1B until 2026-11-18T11:07:40.000Z", done.stdout)

    def test_errors_say_what_to_do(self):
        self.write(text(record("made", 0, 1)))
        self.write("", path=os.path.join(self.folder, "empty"))
        self.write("not a record\n", path=os.path.join(self.folder, "log"))
        for args, said in (
            ((self.PORT, "2026-11-18T12:06:50"), "say the zone"),
            ((self.PORT, "yesterday"), "must be a time like"),
            (("nobody", "1"), "must be an address and port like"),
            ((self.PORT, "1", "--file", self.path, "--peer", "198.51.100.7"), "see records.peers"),
            ((self.PORT, "1", "--file", self.folder + "/x"), "there is no such file"),
            ((self.PORT, "1", "--file", self.folder + "/empty"), "has no records yet"),
            ((self.PORT, "1", "--file", self.folder + "/log"), "is not a file of records"),
            ((self.PORT, "1"), "--file FILE"),
        ):
            done = self.run_ctl("who", *args)
            self.assertEqual((done.returncode, done.stdout), (1, ""), args)
            self.assertIn(said, done.stderr)
        with world.Box(records={"written": 0}) as box:
            done = self.run_ctl("who", self.PORT, "1", path=box.path)
            self.assertIn("configure records.file", done.stderr)

    def test_a_file_that_may_not_be_read(self):
        os.makedirs(os.path.join(self.folder, "d"))
        path = os.path.join(self.folder, "d", "records.json")
        self.write(text(record("made", 0, 1)), path=path)
        os.chmod(path, 0o640)
        with mock.patch("ctl.history.File", side_effect=PermissionError(13, "denied")):
            with self.assertRaisesRegex(history.NoRecords, "use sudo, or become a member of group"):
                history.opened(path)

    def test_compressed_files_are_named(self):
        self.write(text(record("made", 0, 1)))
        self.write("", ".2.gz")
        done = self.run_ctl("who", self.PORT, str(T0), "--file", self.path)
        self.assertIn("records.json.2.gz", done.stderr)


class Parts(Files):
    def test_every_line_is_in_one_part(self):
        """Wherever files are cut, and however large the pieces are that are read."""
        rows = [record("made", i, i, user="u" * (i % 7)) for i in range(40)]
        self.write(text(*rows) + '{"time":"2026-11-2')
        file = history.File(self.path)
        for block in (300, 777, 1 << 20):
            for size in (1, 150, 251, 1000, 1 << 20):
                with mock.patch("ctl.history.BLOCK", block):
                    found = [line for begin in range(0, file.size, size)
                        for piece in file.blocks(begin, min(begin + size, file.size))
                        for line in piece.splitlines()]  # fmt: skip
                self.assertEqual([json.loads(line)["id"] for line in found], [row["id"] for row in rows], (block, size))

    def test_offsets_by_time(self):
        self.write(text(*(record("made", i, i) for i in range(1000))))
        file = history.File(self.path)
        for seconds in (-5, 0, 1, 500, 999, 2000):
            begin = file.offset_of(history.stamp(T0 + seconds))
            first = next(history.parsed(file.lines(b'"', begin)), None)
            self.assertTrue(first is None or first["time"] <= history.stamp(T0 + max(seconds, 0)), seconds)
            self.assertLess(file.size - begin if seconds == 2000 else 0, 4 * history.LINE)


class Usage(Files):
    def setUp(self):
        super().setUp()
        self.write(text(
            record("made", 0, 1), record("interim", 300, 1, **legs(30)),
            record("ended", 500, 1, seconds=500, **legs(50)), record("made", 510, 2, user="olga")), ".1")  # fmt: skip
        self.write(text(
            record("interim", 900, 2, user="olga", **legs(5)),
            record("ended", 1000, 3, user="1795471476:olga", realm="other", seconds=7, **legs(1)),
            record("ended", 1200, 2, user="olga", seconds=690, **legs(8))))  # fmt: skip

    def sums(self, *args):
        return {(row.get("user"), row["realm"]): (row["sessions"], row["seconds"], row["bytes_from_client"],
            row["bytes_from_peers"]) for row in self.usage(*args)}  # fmt: skip

    def test_the_whole_time(self):
        whole = {("ivan", "turn.example"): (1, 500, 5000, 10000), ("olga", "turn.example"): (1, 690, 800, 1600),
            ("olga", "other"): (1, 7, 100, 200)}  # fmt: skip
        self.assertEqual(self.sums(0, 2000), whole)
        self.assertEqual(self.sums(0, 2000, "--by", "realm"),
            {(None, "turn.example"): (2, 1190, 5800, 11600), (None, "other"): (1, 7, 100, 200)})  # fmt: skip

    def test_a_part_of_the_time(self):
        """Data relayed before it does not count, although records have sums."""
        self.assertEqual(self.sums(400, 950),
            {("ivan", "turn.example"): (1, 500, 2000, 4000), ("olga", "turn.example"): (0, 0, 500, 1000)})  # fmt: skip
        self.assertEqual(self.sums(1100, 1300), {("olga", "turn.example"): (1, 690, 300, 600)})
        self.assertEqual(self.sums(5000, 6000), {})

    def test_parts_add_up(self):
        """Wherever the work is divided, the sums are the same."""
        long = "a-name-of-more-than-twenty-bytes"
        rows = []
        for i in range(60):
            rows += [record("made", i, i, user=long + str(i % 3)), record("interim", i + 30, i, user=long + str(i % 3), **legs(i)),
                record("ended", i + 70, i, user=long[:20], seconds=70, **legs(2 * i))]  # fmt: skip
        self.write(text(*sorted(rows, key=lambda row: row["time"])))
        os.remove(self.path + ".1")
        files, _ = history.opened(self.path)
        whole = usage.joined(map(usage.read_part, usage.parts_of(files, history.stamp(T0), history.stamp(T0 + 999))))
        self.assertEqual({key[1].decode() for key in whole}, {long + str(i) for i in range(3)})
        self.assertEqual(sum(row[3] for row in whole.values()), sum(200 * i for i in range(60)))
        for size in (200, 999, 5000):
            with mock.patch("ctl.usage.PART", size):
                self.assertEqual(usage.read(files, history.stamp(T0), history.stamp(T0 + 999)), whole, size)

    def test_lines_of_another_form(self):
        """A later release may put its fields elsewhere."""
        row = record("ended", 1300, 9, user="jan", **legs(4))
        self.write(text({"new": 1, **dict(reversed(row.items()))}) + text(row), ".9")
        with contextlib.redirect_stdout(io.StringIO()):
            found = list(usage.fields(text(dict(reversed(row.items()))).encode() + text(row).encode()))
        self.assertEqual([one[3] for one in found], [b"jan", b"jan"])

    def test_for_people(self):
        done = self.run_ctl("usage", "--from", str(T0), "--file", self.path)
        self.assertIn("olga  turn.example         1    0.2            800          1.6k\n", done.stdout)
        done = self.run_ctl("usage", "--from", "9", "--to", "8", "--file", self.path)
        self.assertIn("--from is later than --to", done.stderr)


if __name__ == "__main__":
    unittest.main()
