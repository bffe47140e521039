#!/usr/bin/env python3
"""Builds the plug-ins of tests/plugin with the installed header, and has femcg use them: check_plugins.py PREFIX FOLDER [CMAKE_OPTIONS...]"""

import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("FEMCG_SOURCE_DIR", Path(__file__).parent.parent))
PREFIX, FOLDER = (Path(name).resolve() for name in sys.argv[1:3])
FEMCG = PREFIX / "bin/femcg"

# The cells are distorted, so that CG needs several iterations.
CASE = """mesh: {box: {cells: [6, 5, 4], cell: hexahedron, distort: 0.2}}
degree: 2
equation: {diffusion: 1 + x, source: 1}
boundary: {left: {value: 0}}
solver: {device: cpu}
output: {vtu: false}
"""


def setUpModule():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for command in (
        ["cmake", "-S", SOURCE / "tests/plugin", "-B", FOLDER, "-DMISTAKES=ON", f"-DCMAKE_PREFIX_PATH={PREFIX}", *sys.argv[3:]],
        ["cmake", "--build", FOLDER],
    ):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (FOLDER / "case.yaml").write_text(CASE)
    (FOLDER / "with_plugin.yaml").write_text("plugins: [libmine.so]\n" + CASE.replace("solver: {", "solver: {operator: mine, "))
    (FOLDER / "no_library.so").write_text("plain text\n")


def femcg(*arguments):
    return subprocess.run([FEMCG, *arguments], cwd=FOLDER, capture_output=True, text=True)


class Plugins(unittest.TestCase):
    def done(self, *arguments, status=0):
        result = femcg(*arguments)
        self.assertEqual(result.returncode, status, (arguments, result.stdout, result.stderr))
        return result

    def refused(self, sentence, *arguments):
        result = self.done(*arguments, status=2)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(sentence, result.stderr)

    def result(self, *arguments):
        self.done("run", "--output", "out", *arguments)
        return json.loads((FOLDER / "out/result.json").read_text())

    def test_list_shows_its_row_and_the_others(self):
        plain = self.done("list", "operators").stdout.splitlines()
        listed = self.done("list", "operators", "--plugin", "libmine.so", "--plugin", "./libmine.so").stdout.splitlines()
        self.assertEqual(len(listed), len(plain) + 1)
        self.assertEqual(listed[-1].split()[:3], ["mine", "cpu", "matrix"])
        self.assertIn("compressed rows, and the diagonal apart", listed[-1])

    def test_run_solves_with_it_in_every_precision(self):
        for precision in ["double", "single", "mixed"]:
            csr, mine = (
                self.result("case.yaml", "--plugin", "libmine.so", "--operator", name, "--set", f"solver.precision={precision}")
                for name in ["csr", "mine"]
            )
            self.assertEqual(mine["operator"]["name"], "mine")
            # In single precision, restarts, and thus iterations, depend on rounding.
            most = 1 if precision == "double" else 0.2 * csr["solve"]["iterations"]
            self.assertLessEqual(abs(mine["solve"]["iterations"] - csr["solve"]["iterations"]), most)
            self.assertAlmostEqual(mine["quantities"]["integral"] / csr["quantities"]["integral"], 1, 6)
            self.assertLess(mine["solve"]["true_relative_residual"], 1e-8)
            # A value and a column per nonzero, only the value per diagonal entry, and the offsets.
            word = 8 if precision == "double" else 4
            rows, nonzeros = mine["problem"]["unknowns"], csr["operator"]["nonzeros"]
            self.assertEqual(mine["operator"]["stored_bytes"], nonzeros * (word + 4) - 4 * rows + 8 * (rows + 1))

    def test_a_case_brings_it_along_and_its_result_is_a_case_again(self):
        first = self.result("with_plugin.yaml")
        shutil.copy(FOLDER / "out/case.yaml", FOLDER / "again.yaml")
        self.assertEqual(self.result("again.yaml")["quantities"], first["quantities"])
        self.done("check", "with_plugin.yaml")

    def test_comparisons_check_and_time_it(self):
        loads = "--right-hand-sides 4 --iterations 5 --repetitions 1 --plugin libmine.so --operators csr,mine --device cpu".split()
        commands = {
            "compare": ["case.yaml", "--set", "compare.sweep={precision: [double, single]}"],
            "matrix": [SOURCE / "tests/matrices/laplace.mtx", "--precision", "single,double"],
        }
        for command, arguments in commands.items():
            self.done(command, *arguments, *loads, "--output", "compared")
            records = [r for r in json.loads((FOLDER / "compared/compare.json").read_text()) if r["operator"]["name"] == "mine"]
            self.assertEqual(len(records), 4)  # two precisions, each with one vector and with four
            for record in records:
                self.assertLessEqual(record["comparison"]["agreement"], record["comparison"]["agreement_bound"])
                self.assertGreater(record["apply"]["median_seconds"], 0)
            self.assertIn("mine", (FOLDER / "compared/compare.csv").read_text())

    def test_auto_does_not_take_it(self):
        self.assertNotEqual(self.result("case.yaml", "--plugin", "libmine.so")["operator"]["name"], "mine")

    def test_a_wrong_product_disagrees_and_converges_to_nothing_wrong(self):
        loads = "--iterations 5 --repetitions 1 --plugin libwrong_product.so --operators csr,wrong_product --output wrong".split()
        compared = self.done("compare", "case.yaml", *loads, status=1)
        self.assertIn("its product differs from the reference", " ".join(compared.stdout.split()))
        loads[loads.index("--operators") + 1] = "{name: wrong_product, factor: 1}"
        self.done("compare", "case.yaml", *loads)
        csr, wrong = (self.result("case.yaml", "--plugin", "libwrong_product.so", "--operator", name) for name in ["csr", "wrong_product"])
        self.assertLess(wrong["solve"]["true_relative_residual"], 1e-8)
        self.assertGreater(wrong["solve"]["iterations"], csr["solve"]["iterations"])
        self.assertAlmostEqual(wrong["quantities"]["integral"] / csr["quantities"]["integral"], 1, 6)

    def test_a_wrong_product_with_several_vectors_disagrees_alone(self):
        loads = "--right-hand-sides 4 --iterations 5 --repetitions 1 --plugin libwrong_columns.so --operators wrong_columns".split()
        self.done("compare", "case.yaml", *loads, "--output", "columns", status=1)
        records = json.loads((FOLDER / "columns/compare.json").read_text())
        self.assertEqual([r["comparison"]["status"] for r in records], ["timed", "disagrees"])

    def test_what_is_wrong_is_one_sentence(self):
        for file, sentence in {
            "absent.so": "plug-in absent.so: No such file or directory",
            "no_library.so": "no_library.so cannot be loaded: file too short",
            "libempty.so": "libempty.so is no plug-in of femcg: it has no function femcg_plugin_entry",
            "libold_version.so": "has version 0 of the interface, and this femcg has version 1",
            "libname_that_exists.so": "calls an operator 'csr', and there is one of that name already",
            "libno_destroy.so": "its operator 'no_destroy' has no destroy",
            "libmany_operators.so": "libmany_operators.so states 2000000 operators: there are 256 of plug-ins at most",
            "libexits_at_once.so": "libexits_at_once.so ended the program, by a call of exit",
        }.items():
            self.refused(sentence, "run", "case.yaml", "--plugin", file)
        self.refused("absent.so: No such", "list", "operators", "--plugin", "absent.so")
        # Only the missing file is reported, not the operator that it would have defined.
        (FOLDER / "absent.yaml").write_text("plugins: [absent.so]\n" + CASE.replace("solver: {", "solver: {operator: own, "))
        self.refused(f"absent.yaml:1:11: plug-in {FOLDER}/absent.so: No such file", "check", FOLDER / "absent.yaml")
        self.refused("is no name of a file", "check", "case.yaml", "--set", 'plugins=["a\\nb"]')
        failing = ["case.yaml", "--plugin", "libcreate_fails.so", "--operator", "create_fails"]
        self.refused("libcreate_fails.so cannot be made: it wants 3 rows at most", "run", *failing)
        self.assertIn("it wants 3 rows at most", self.done("compare", *failing, status=2).stderr)
        self.refused("operator 'mine' has no option 'C'", "run", "with_plugin.yaml", "--set", "solver.operator={name: mine, C: 4}")
        self.refused("option 'factor' of operator 'wrong_product' must be a number above 0, not '-1'", "run", "case.yaml",
                     "--plugin", "libwrong_product.so", "--set", "solver.operator={name: wrong_product, factor: -1}")  # fmt: skip
        self.refused("libexits_later.so ended the program, by a call of exit", "run", "case.yaml", "--plugin", "libexits_later.so",
                     "--operator", "exits_later")  # fmt: skip
        product = self.done("run", "case.yaml", "--plugin", "libapply_fails.so", "--operator", "apply_fails", status=3)
        self.assertIn("the product of operator 'apply_fails'", product.stderr)
        self.assertIn("failed: the moon is full", product.stderr)

    def test_a_version_for_the_gpu_alone_is_none_for_the_cpu(self):
        if not (FOLDER / "libmine_cuda.so").exists():
            self.skipTest("built without nvcc")
        plugin = ["--plugin", "libmine_cuda.so"]
        self.assertIn("block: 64, 128, 256 or 512 (128)", self.done("list", "operators", *plugin).stdout)
        self.refused("'mine-cuda' has no version for the CPU", "run", "case.yaml", *plugin, "--operator", "mine-cuda")
        wrong = ["--set", "solver.device=cuda", "--set", "solver.operator={name: mine-cuda, block: 7}"]
        self.refused("option 'block' of operator 'mine-cuda' must be 64, 128, 256 or 512, not '7'", "run", "case.yaml", *plugin, *wrong)
        if "cuda:0" not in femcg("info").stdout:
            return
        for precision in ["double", "single"]:
            loads = ["--operators", "csr,mine-cuda", "--device", "cuda", "--right-hand-sides", "4", "--iterations", "20", "--repetitions", "2"]
            self.done("compare", "case.yaml", *plugin, *loads, "--output", "gpu", "--set", f"solver.precision={precision}")
            on_gpu = ["--operator", "mine-cuda", "--device", "cuda", "--set", f"solver.precision={precision}"]
            solved = self.result("case.yaml", *plugin, *on_gpu)
            self.assertEqual(solved["operator"]["device"], "cuda")
            self.assertLess(solved["solve"]["true_relative_residual"], 1e-8)


unittest.main(argv=sys.argv[:1])
