#!/usr/bin/env python3
"""Kills femcg run and femcg compare at random moments, or asks them to end, and looks at what they leave in their folders.

    tests/kill_at_random.py FEMCG [--kills N] [--seed S]

After every kill, where there is a result.json or compare.json, the other files must be of the same run and the same
number of points; an earlier result is the last complete one. After every run that ends by itself, nothing else is in
the folder. Half of the kills come at any time, half while files are written. Every third is a SIGINT or SIGTERM, after
which the program ends by itself, within a time, and leaves nothing unfinished. Prints what was found, and ends with status 1
where something is wrong.
"""

import argparse
import collections
import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OPTIONS = "--quiet --no-progress --threads 1 --set equation.source=1"
OF_COMPARE = "--operators csr --iterations 2 --repetitions 1 --set compare.sweep.degree=[1,2,3]"


class Mistake(Exception):
    """What is wrong with a folder."""


def require(true, sentence):
    if not true:
        raise Mistake(sentence)


class Command:
    """One command and its folder. Every start has a title and a number of cells of its own, by which its files are known."""

    def __init__(self, program, name, place):
        self.program, self.name, self.folder = program, name, place / name
        self.folder.mkdir()
        self.number = 0
        self.complete = None  # number of the start whose result was last seen in the folder
        self.seconds = 1.0

    def start(self):
        self.number += 1
        cells = 10 + self.number % 37
        line = [self.program, self.name, str(self.folder.parent / "case.yaml"), "--output", str(self.folder), *OPTIONS.split()]
        line += ["--set", f"title=start {self.number}", "--set", f"mesh.box.cells=[{cells},{cells}]"]
        if self.name == "compare":
            line += OF_COMPARE.split()
        return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def run_to_the_end(self):
        began = time.monotonic()
        process = self.start()
        errors = process.communicate()[1]
        require(process.returncode == 0, f"status {process.returncode}: {errors}")
        self.seconds = time.monotonic() - began
        self.complete = title = self.title()
        require(title == self.number, f"the result is of start {title}, not of {self.number}")
        expected = {"run": {"case.yaml", "residuals.csv", "solution.vtu", "run.log", "result.json"},
                    "compare": {"compare.csv", "compare.json", "report.html"}}[self.name]  # fmt: skip
        found = set(os.listdir(self.folder))
        pages = {"report.html", "result.html"}  # absent in builds without the report page
        require(found | pages == expected | pages, f"files are left over or missing: {sorted(found)}")

    def kill(self, chance, with_signal):
        """Returns whether the process was still there, and whether it had files open."""
        process = self.start()
        if chance.random() < 0.5:
            time.sleep(chance.uniform(0, self.seconds))
        else:  # while it writes
            for _ in range(chance.randint(1, 3 if self.name == "compare" else 1)):
                while self.unfinished(process.pid) and process.poll() is None:
                    pass
                while not self.unfinished(process.pid) and process.poll() is None:
                    pass
            time.sleep(chance.choice([0, chance.uniform(0, 0.003), chance.uniform(0, 0.03)]))
        process.send_signal(with_signal)
        try:
            errors = process.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            raise Mistake(f"it went on for a minute after signal {with_signal}")
        # A signal that arrives before the handlers are installed ends the program at once.
        require(process.returncode in (0, 1, -with_signal), f"status {process.returncode}: {errors}")
        unfinished = self.unfinished(process.pid)
        require(process.returncode < 0 or not unfinished, f"it has ended by itself and left {unfinished}")
        return process.returncode == -with_signal, bool(unfinished)

    def unfinished(self, process):
        return [name for name in os.listdir(self.folder) if name.endswith(".part") and str(process) in name]

    def title(self):
        """The number of the start that all files are of; None where the folder says that there is no result."""
        last = self.folder / ("result.json" if self.name == "run" else "compare.json")
        if not last.exists():
            return None
        record = json.loads(last.read_text())
        return self.title_of_run(record) if self.name == "run" else self.title_of_comparison(record)

    def title_of_run(self, record):
        case = (self.folder / "case.yaml").read_text()
        require(f"title: {record['title']}\n" in case, f"case.yaml is not of '{record['title']}'")
        last_line = (self.folder / "residuals.csv").read_text().splitlines()[-1].split(",")
        solve = record["solve"]
        require((int(last_line[0]), float(last_line[1])) == (solve["iterations"], solve["relative_residual"]), "residuals.csv is of another run")  # fmt: skip
        points = re.search(rb'NumberOfPoints="(\d+)"', (self.folder / "solution.vtu").read_bytes())
        require(int(points[1]) == record["problem"]["dofs"], "solution.vtu is of another run")
        return int(record["title"].split()[1])

    def title_of_comparison(self, records):
        titles = {record["title"] for record in records}
        require(len(titles) == 1, f"compare.json is of several runs: {titles}")
        with open(self.folder / "compare.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        known = [record["problem"]["unknowns"] for record in records]
        require([int(row["unknowns"]) for row in rows] == known, "compare.csv is not of compare.json")
        page = self.folder / "report.html"
        if page.exists():
            text = page.read_text()
            found = re.findall(r'"title":"(start \d+)"', text)
            require(set(found) == titles and len(re.findall(r'"unknowns":\d+', text)) >= len(records), "report.html is not of compare.json")  # fmt: skip
        return int(titles.pop().split()[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    count = collections.Counter()
    mistakes = []
    with tempfile.TemporaryDirectory(prefix="femcg_kill_") as place:
        place = Path(place)
        (place / "case.yaml").write_text("mesh: {box: {cells: [4, 4]}}\nboundary: {all: {value: 0}}\n")
        commands = [Command(given.program, name, place) for name in ("run", "compare")]
        for kill in range(given.kills):
            command = commands[kill % 2]
            try:
                if kill % 10 < 2:
                    command.run_to_the_end()
                with_signal = chance.choice([signal.SIGINT, signal.SIGTERM]) if kill % 3 == 2 else signal.SIGKILL
                killed, writing = command.kill(chance, with_signal)
                count["asked to end"] += with_signal != signal.SIGKILL
                count["of them while it wrote"] += writing
                count["ended before the kill"] += not killed and with_signal == signal.SIGKILL
                title = command.title()
                require(title in {None, command.complete, command.number}, f"the result is of start {title}, which was not the last")
                count["no result, and so told" if title is None else "the new result" if title == command.number else "the earlier result"] += 1  # fmt: skip
                command.complete = title
            except Mistake as mistake:
                mistakes.append(f"kill {kill + 1}, {command.name}: {mistake}")
        for command in commands:
            try:
                command.run_to_the_end()
            except Mistake as mistake:
                mistakes.append(f"the last {command.name}: {mistake}")
    print(f"{given.kills} kills: " + ", ".join(f"{what} {times}" for what, times in sorted(count.items())))
    for mistake in mistakes:
        print(mistake)
    sys.exit(f"{len(mistakes)} mistakes" if mistakes else 0)


main()
