#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slipringctl top: frames fit every terminal, the server gets few requests, and the terminal is
restored, however the program ends."""

import os
import pty
import re
import subprocess
import sys
import termios
import threading
import time
import unittest

import ctl_world as world

from ctl import feed as feeds
from ctl import frame as frames
from ctl.feed import Feed, Known, Talkers

BLOCKS = frames.BLOCKS


def known(workers=2, drops=3, talkers=5, **more):
    loads = [99.9, 85.0] + [5.0] * workers
    talkers_of = lambda rows: Talkers(rows, "rate", 90.0, 1.2)
    return Known(
        now=100.0, clock=1e9, status=world.status(),
        workers=[world.worker(i, loads[i]) for i in range(workers)],
        drops=[world.drop(f"reason-{i}", rate=i) for i in range(drops)],
        history=[(i * 1000, None if i == 3 else 0, 5) if i != 9 else None for i in range(30)],
        talkers={
            "users": talkers_of([world.user("u" * 60, i) for i in range(talkers)]),
            "allocations": talkers_of([world.allocation(i, "u" * 60, i) for i in range(talkers)]),
        }, **more)  # fmt: skip


def texts(lines):
    return [text for _, text in lines]


class Frames(unittest.TestCase):
    def test_no_frame_is_larger_than_its_terminal(self):
        for size in ((80, 24), (80, 10), (132, 50), (40, 12), (20, 5), (10, 3), (1, 1), (250, 100)):
            for counts in ((1, 0, 0), (2, 3, 5), (64, 40, 200)):
                for view in frames.VIEWS:
                    look = frames.Look(*size, view=view, blocks=BLOCKS, keys=True)
                    for one in (known(*counts), known(*counts, error="gone " * 60), Known(now=1)):
                        lines = texts(frames.frame(one, look))
                        self.assertEqual(len(lines), size[1], (size, counts, view))
                        self.assertLessEqual(max(map(len, lines)), size[0], (size, counts, view))

    def test_everything_fits_80_by_24(self):
        text = "\n".join(texts(frames.frame(known(), frames.Look(80, 24, blocks=BLOCKS, keys=True))))
        for word in ("turn.test", "3 allocations", "in  ", "out ", "drop", "WORKER", "DROP ", "USER", "ID ", "q quit"):
            self.assertIn(word, text)
        self.assertIn("reason-2", text)
        self.assertIn("talkers by rate: users 10s old; allocations 10s old", text)

    def test_a_section_says_that_it_is_cut(self):
        text = "\n".join(texts(frames.frame(known(64, 40, 200), frames.Look(80, 24, keys=True))))
        self.assertRegex(text, r"(?m)^\d OF 64 ")
        self.assertRegex(text, r"DROP \(\d of 40\)")
        first = re.search(r"(?m)^\d OF 64.*\n +(\d+) +(\d+)%", text)
        self.assertEqual(first.groups(), ("0", "100"), "the busiest first")

    def test_without_a_terminal_all_workers_and_ten_of_the_rest(self):
        lines = texts(frames.frame(known(64, 40, 200), frames.Look(80)))
        self.assertEqual(sum("%" in line for line in lines), 64)
        self.assertEqual(sum("reason-" in line for line in lines), 10)
        self.assertEqual(sum(line.startswith("uuu") for line in lines), 10)
        lines = texts(frames.frame(known(2, 3, 20), frames.Look(80, rows=0)))
        self.assertNotIn("talkers", "\n".join(lines))

    def test_lost_and_restarted(self):
        lines = frames.frame(known(error="/run/x: nobody listens there", lost_s=7), frames.Look(80))
        self.assertEqual(lines[1], ("red", "! no server for 7s: /run/x: nobody listens there"))
        lines = frames.frame(known(anew=1e9 - 5), frames.Look(80))
        self.assertIn("was restarted", lines[1][1])
        lines = frames.frame(known(anew=1e9 - 61), frames.Look(80))
        self.assertNotIn("was restarted", lines[1][1])

    def test_a_sparkline_of_the_last_minute(self):
        self.assertEqual(frames.spark([], 60, BLOCKS), " " * 60)
        self.assertEqual(frames.spark([0, 8], 60, BLOCKS), " " * 58 + "▁█")
        self.assertEqual(frames.spark([1, 2, 3, 4, 5, 6, 7], 60, BLOCKS)[-7:], "▂▃▄▅▆▇█")
        self.assertEqual(frames.spark([9] + [0] * 59, 60, "ab"), "b" + "a" * 59)
        self.assertEqual(frames.spark([7, 0, None, 0, 0, 7], 30, "ab")[-3:], "bab")  # two a column
        for columns in range(1, 70):
            line = frames.spark(list(range(60)), columns, BLOCKS)
            self.assertLessEqual(len(line), min(60, columns))

    def test_rows_are_shared_out(self):
        self.assertEqual(frames.share(8, [2, 2, 0]), [2, 2, 0])
        self.assertEqual(frames.share(7, [9, 9]), [3, 2])
        self.assertEqual(frames.share(3, [9, 9]), [2, None])
        self.assertEqual(frames.share(0, [1, 1]), [None, None])


class Asking(unittest.TestCase):
    def until(self, condition, label):
        end = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), end, label)
            time.sleep(0.01)

    def feed(self, box, rows, sort="bytes"):
        feed = Feed(box.path, rows, sort, lambda: None)
        self.addCleanup(feed.stop)
        feed.start()
        return feed

    def test_never_two_lists_at_once(self):
        now, most, lock = [0], [0], threading.Lock()

        def listed(request):
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.05)
            with lock:
                now[0] -= 1
            return {"rows": []}

        with world.Box(users=listed, allocations=listed) as box:
            feed = self.feed(box, 10)
            lists = lambda: [r["cmd"] for r in box.asked if r["cmd"] in feeds.LISTS]
            for sort in ("rate", "bytes") * 4:  # an impatient user
                feed.sort_by(sort)
                time.sleep(0.02)
            self.until(lambda: len(lists()) >= 4, "lists are requested")
        self.assertEqual(most, [1])
        self.assertEqual(set(lists()[:2]), set(feeds.LISTS), "one of each first")

    def test_a_slow_list_is_requested_less_often(self):
        self.assertEqual(feeds.pause_after(1.0, "rate"), 1.0)
        self.assertEqual(feeds.pause_after(4.0, "rate"), 30.0)  # a million: 3 s of work
        self.assertEqual(feeds.pause_after(3.0, "bytes"), 30.0)

    def test_hidden_lists_are_not_requested(self):
        with world.Box() as box:
            feed = self.feed(box, 0)
            self.until(feed.complete, "facts are there")
            self.until(lambda: len(box.asked) > 3, "and again")
            self.assertLessEqual({r["cmd"] for r in box.asked}, {"status", "workers", "drops"})

    def test_a_server_is_replaced(self):
        with world.Box() as box, world.Box(status=world.status(pid=2)) as second:
            feed = self.feed(box, 5)
            self.until(feed.complete, "all is there")
            box.close()
            self.until(lambda: feed.snapshot().error, "the loss of the server is shown")
            self.assertIsNotNone(feed.snapshot().status, "known values are kept")
            os.rename(second.path, box.path)
            self.until(lambda: not feed.snapshot().error, "its return is noticed")
            self.assertIsNotNone(feed.snapshot().anew)
            self.assertIn(None, feed.snapshot().history, "a gap in the sparkline")

    def test_internal_errors_are_shown(self):
        with world.Box(status={"nothing": 1}) as box:
            feed = self.feed(box, 0)
            self.until(lambda: feed.failed, "the error is there")
            self.assertIsInstance(feed.failed, KeyError)


class OnATerminal(unittest.TestCase):
    """The lab test does more of this, with a real server."""

    def start(self, box):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        self.before = termios.tcgetattr(slave)
        process = subprocess.Popen(
            [sys.executable, world.PROGRAM, "--socket", box.path, "top"], stdin=slave, stdout=slave,
            stderr=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "TERM": "xterm", "PYTHONDONTWRITEBYTECODE": "1"}
        )  # fmt: skip
        self.addCleanup(process.stderr.close)
        return process, master, slave

    def read_until(self, master, text):
        data = b""
        while text not in data:
            data += os.read(master, 65536)
        return data

    def restored(self, process, master, slave, data):
        data += self.read_until(master, b"\033[?1049l")
        self.assertEqual(termios.tcgetattr(slave), self.before)
        self.assertLess(data.index(b"\033[?1049h"), data.index(b"\033[?1049l"))
        self.assertIn(b"\033[?25h", data)
        return process.stderr.read().decode()

    def test_restored_after_an_internal_error(self):
        with world.Box() as box:
            process, master, slave = self.start(box)
            data = self.read_until(master, b"WORKER")
            box.answers["workers"] = {"rows": [{"worker": "no such field"}]}
            text = self.restored(process, master, slave, data)
            self.assertEqual(process.wait(), 1)
            self.assertIn("KeyError", text)

    def test_a_million_allocations_keep_no_key_waiting(self):
        slow = threading.Event()

        def listed(request):
            slow.wait(20)
            return {"rows": []}

        with world.Box(users=listed, allocations=listed) as box:
            process, master, slave = self.start(box)
            data = self.read_until(master, b"being counted")
            os.write(master, b"q")
            self.assertEqual(self.restored(process, master, slave, data), "")
            self.assertEqual(process.wait(10), 0)
            slow.set()


if __name__ == "__main__":
    unittest.main()
