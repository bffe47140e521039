"""tools/sanitize runs every test under every tool, one process a GPU at a time, and says what was found, with programs
in place of NVIDIA's and of the tests."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Programs that the script may call; no others are on its PATH.
TOOLS = ["bash", "dirname", "env", "getconf", "grep", "mkdir", "rmdir", "sed", "sleep", "sort", "tail"]

# Stand-in for compute-sanitizer: records its GPU and arguments, and reports a second process on the same GPU.
SANITIZER = """#!/usr/bin/env bash
tool=$2
printf '%s\\n' "$CUDA_VISIBLE_DEVICES $FEMCG_TEST_DEVICE $*" >>"$NOTES/calls"
mkdir "$NOTES/gpu_$CUDA_VISIBLE_DEVICES" || echo "$CUDA_VISIBLE_DEVICES" >>"$NOTES/met"
shift 6
status=0
"$@" || status=$?
sleep 0.05
rmdir "$NOTES/gpu_$CUDA_VISIBLE_DEVICES"
case $tool in
  racecheck) echo "========= RACECHECK SUMMARY: ${HAZARDS:-0} hazards displayed (0 errors, ${HAZARDS:-0} warnings)" ;;
  *) echo "========= ERROR SUMMARY: 0 errors" ;;
esac
exit $status
"""


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)


class Sanitize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.bin, self.build = self.folder / "bin", self.folder / "build"
        self.bin.mkdir()
        self.build.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        sources = (ROOT / "tests").glob("*/test_*.cpp")
        sources = [path for path in sources if '#include "tests/device.hpp"' in path.read_text()]
        self.tests = sorted(path.stem for path in sources)
        for folder in {path.parent.name for path in sources}:
            write_program(self.build / f"tests_{folder}", "#!/usr/bin/env bash\n")

    def give_sanitizer(self, gpus="0\n1\n"):
        write_program(self.bin / "compute-sanitizer", SANITIZER)
        write_program(self.bin / "nvidia-smi", f"#!/usr/bin/env bash\nprintf '{gpus}'\n")

    def sanitize(self, *arguments, **environment):
        return subprocess.run(
            [ROOT / "tools" / "sanitize", "--build", self.build, *arguments],
            env={"PATH": str(self.bin), "NOTES": str(self.folder), **environment},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()

    def assert_sentence(self, done, status, words):
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(words, done.stderr)

    def test_without_the_sanitizer_or_a_gpu_one_sentence(self):
        self.assert_sentence(self.sanitize(), 3, "there is no compute-sanitizer")
        self.give_sanitizer(gpus="")
        self.assert_sentence(self.sanitize(), 3, "need an NVIDIA GPU, and there is none")
        self.give_sanitizer(gpus="NVIDIA-SMI has failed\n")
        self.assert_sentence(self.sanitize(), 3, "need an NVIDIA GPU, and there is none")
        self.assert_sentence(self.sanitize(CUDA_VISIBLE_DEVICES=""), 3, "need an NVIDIA GPU, and there is none")

    def test_the_sanitizer_beside_the_compiler_of_the_build(self):
        self.give_sanitizer()
        toolkit = self.folder / "toolkit"
        toolkit.mkdir()
        (self.bin / "compute-sanitizer").rename(toolkit / "compute-sanitizer")
        (self.build / "CMakeCache.txt").write_text(f"FEMCG_NVCC:FILEPATH={toolkit}/nvcc\n")
        self.assertEqual(self.sanitize("test_lma").returncode, 0)

    def test_wrong_usage(self):
        self.assert_sentence(self.sanitize("test_mesh"), 2, "test_mesh is no test that runs on a GPU")
        self.assert_sentence(self.sanitize("--tools", "memchek"), 2, "has no tool 'memchek'")
        self.assert_sentence(self.sanitize("--tools", ""), 2, "names no tool")
        self.assert_sentence(self.sanitize("-tc=x"), 2, "behind --")
        self.assert_sentence(self.sanitize("--gpus"), 2, "--gpus needs a value")
        (self.build / "tests_operators").unlink()
        self.assert_sentence(self.sanitize("test_lma"), 2, "build it first")

    def test_every_test_and_tool_once_and_a_gpu_for_itself(self):
        self.give_sanitizer()
        done = self.sanitize()
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        jobs = {f"{test} {tool}" for test in self.tests for tool in ("memcheck", "racecheck", "initcheck")}
        self.assertEqual({" ".join(line.split()[:2]) for line in done.stdout.splitlines()}, jobs)
        self.assertEqual(len(self.calls()), len(jobs))
        self.assertFalse((self.folder / "met").exists())
        self.assertEqual({call.split()[0] for call in self.calls()}, {"0", "1"})
        call_of_job = re.compile(r"\S+ cuda --tool \w+ --kernel-name-exclude kns=8cusparse ")
        self.assertTrue(all(call_of_job.match(call) for call in self.calls()), self.calls())
        self.assertRegex(done.stdout, r"(?m)^test_lma +racecheck +GPU [01] +\d+ s  RACECHECK SUMMARY: 0 hazards")

    def test_options(self):
        self.give_sanitizer()
        done = self.sanitize("--tools", "memcheck,synccheck", "--gpus", "5", "test_lma", "--", "-tc=*a b*")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([call.split()[3] for call in self.calls()], ["memcheck", "synccheck"])
        self.assertTrue(all(call.startswith("5 ") and call.endswith("/tests_operators --source-file=*/test_lma.cpp -tc=*a b*") for call in self.calls()))

    def test_what_is_found_is_said(self):
        self.give_sanitizer()
        done = self.sanitize("test_lma", "test_cg", HAZARDS="2")
        self.assertEqual(done.returncode, 1)
        found = r"test_lma +racecheck .* 2 hazards displayed .*; status 0, see .*test_lma.racecheck.log"
        self.assertRegex(done.stdout, found)
        self.assertRegex(done.stdout, r"(?m)test_lma +memcheck .*: 0 errors$")
        self.assertTrue((self.build / "sanitize" / "test_lma.racecheck.log").is_file())

        write_program(self.build / "tests_solver", "#!/usr/bin/env bash\nexit 1\n")
        done = self.sanitize("--tools", "memcheck", "test_lma", "test_cg")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"test_cg +memcheck .*: 0 errors; status 1, see ")

        write_program(self.build / "tests_solver", "#!/usr/bin/env bash\necho skipped: no driver\nexit 77\n")
        done = self.sanitize("--tools", "memcheck", "test_lma", "test_cg")
        self.assertEqual(done.returncode, 3)
        self.assertIn("skipped: no driver", done.stdout)

    def test_help(self):
        done = self.sanitize("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("--gpus LIST", done.stdout)
        self.assertNotIn("set -", done.stdout)


unittest.main()
