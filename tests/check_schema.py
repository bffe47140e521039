"""The JSON Schema that `femcg schema` prints: that of the tree, which all cases of the tree meet and wrong cases do not.

    check_schema.py FEMCG

Ends with status 77, for ctest to skip it, where Python has no jsonschema or no PyYAML.
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import jsonschema
    import yaml
except ImportError as absent:
    print(f"skipped: {absent}; on Debian: apt install python3-jsonschema python3-yaml")
    sys.exit(77)

ROOT = Path(__file__).resolve().parent.parent
CASES = sorted((ROOT / "cases").glob("*.yaml"))
LINE = "# yaml-language-server: $schema=case.schema.json"


class CoreLoader(yaml.SafeLoader):
    """YAML 1.2, as editors and femcg read it: `off` is a text and 1e-8 a number, other than in YAML 1.1, PyYAML's own."""

    yaml_implicit_resolvers = {}


for tag, pattern, first in [
    ("null", r"|~|null|Null|NULL", ["", "~", "n", "N"]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
]:
    CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), first)
CoreLoader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value, 10))
CoreLoader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(node.value))


def femcg(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)


BOX = "mesh: {box: {cells: [4, 4]}}\n"
GOOD = [
    "",
    "solver: {operator: {name: sell, C: 32, sigma: all}, tolerance: 1e-6, device: cuda:12}",
    "solver: {operator: {name: hyb, width: 7}, preconditioner: {name: chebyshev, degree: 16, ratio: 1.5}}",
    "solver: {operator: {name: csr, coop: auto, values: single}}",
    "solver: {preconditioner: {name: multigrid, smoother: 2, levels: {fine: lma-gather, coarse: sell}}}",
    "solver: {operator: {name: lma-atomic, dedup: off}}",
    "solver: {tolerance: 1/1000, max_iterations: 0}",
    'equation: {diffusion: {box: 1 + x^2}, source: "sin(pi*x)"}\nboundary: {all: {value: 0}}',
    "boundary: {all: {value: 0}}\nloads: {a: {}, b: {source: 1}, c: {boundary: {all: {value: x}}}}",
    "boundary: {left: {transfer: 1, ambient: 0}, right: {flux: -1}}",
    "title: 2026\nname: temperature\nunit: degC\noutput: {fields: [temperature, recovered_flux]}",
    "compare: {operators: all, devices: [cpu, 'cuda:1'], right_hand_sides: [32]}",
    "compare: {operators: [csr, {name: sell, C: 4}], sweep: {degree: [1, 4], C: [4, 8], solver.tolerance: [1e-3]}}",
    "output: {probes: {p: [pi/4, 0]}, vtu: false}",
]
WRONG = [
    "solver: {preconditioner: {name: multigrid, levels: {fine: jad}}}",
    "solver: {preconditioner: {name: multigrid, levels: {middle: csr}}}",
    "solver: {preconditioner: {name: multigrid, levels: csr}}",
    "degre: 2",
    "degree: 5",
    "degree: two",
    "degree: 2.5",
    "degree: [2]",
    "quadrature: 17",
    "title: [a]",
    "solver: csr",
    "solver: {tolerence: 1e-3}",
    "solver: {tolerance: 0}",
    "solver: {tolerance: 1}",
    "solver: {tolerance: fast}",
    "solver: {max_iterations: -1}",
    "solver: {precision: half}",
    "solver: {device: gpu}",
    "solver: {device: 'cuda:9999'}",
    "solver: {operator: cssr}",
    "solver: {operator: {name: cssr}}",
    "solver: {operator: {name: sell, C: 5}}",
    "solver: {operator: {name: csr, C: 32}}",
    "solver: {operator: {sigma: all}}",
    "solver: {operator: {name: csr, block_size: 100}}",
    "solver: {preconditioner: ilu}",
    "solver: {preconditioner: {name: jacobi, degree: 2}}",
    "solver: {preconditioner: {name: chebyshev, degree: 17}}",
    "solver: {preconditioner: {name: chebyshev, ratio: 1}}",
    "equation: {conductivity: 2}",
    "equation: {source: [1]}",
    "boundary: {left: 3}",
    "boundary: {left: {}}",
    "boundary: {left: {value: 1, flux: 2}}",
    "boundary: {left: {transfer: 1}}",
    "boundary: {left: {transfer: 1, ambient: 2, value: 3}}",
    "boundary: {left: {value: 0}}\nloads: {a: {boundary: {left: {transfer: 1}}}}",
    "loads: {}",
    "output: {vtu: yes}",
    "output: {probes: {p: [0]}}",
    "output: {fields: []}",
    "ordering: {cells: random}",
    "compare: {operators: []}",
    "compare: {operators: [cssr]}",
    "compare: {sweep: {degree: [5]}}",
    "compare: {sweep: {degre: [1]}}",
    "compare: {right_hand_sides: [33]}",
    "compare: {repetitions: 1001}",
]
WRONG_MESHES = [
    "mesh: a.msh",
    "mesh: {refine: 1}",
    "mesh: {refine: 13, box: {cells: [4, 4]}}",
    "mesh: {file: quickstart.step, box: {cells: [4, 4]}}",
    "mesh: {box: {cells: [4]}}",
    "mesh: {box: {cells: [4, 0]}}",
    "mesh: {box: {size: [1, 1]}}",
    "mesh: {box: {cells: [4, 4], dofs: 100}}",
    "mesh: {box: {cells: [4, 4], size: [1, -1]}}",
    "mesh: {box: {cells: [4, 4], cell: hex}}",
    "mesh: {box: {cells: [4, 4], distort: 0.4}}",
    "mesh: {file: a.step, groups: {base: {where: z < 0}}}",
    "mesh: {file: a.step, groups: {base: {dimension: 2}}}",
    "mesh: {file: a.step, groups: {base: {dimension: 4, tags: [1]}}}",
    "title: no mesh",
]


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = femcg("schema").stdout
        cls.schema = json.loads(cls.text)
        # jsonschema 3 (Ubuntu 22.04) lacks draft 2020-12; for this schema draft 7 is equivalent.
        cls.validator = getattr(jsonschema, "Draft202012Validator", jsonschema.Draft7Validator)(cls.schema)

    def problems(self, text):
        return [f"{'.'.join(map(str, e.absolute_path))}: {e.message}" for e in self.validator.iter_errors(yaml.load(text, CoreLoader))]

    def checked(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "case.yaml").write_text(text)
            return femcg("check", Path(folder) / "case.yaml").returncode

    def test_it_is_a_schema(self):
        self.validator.check_schema(self.schema)

    def test_the_tree_has_the_same(self):
        kept = (ROOT / "cases" / "case.schema.json").read_text()
        self.assertEqual(kept, self.text, "make it anew: build/release/femcg schema > cases/case.schema.json")

    def test_cases_of_the_tree_meet_it_and_name_it(self):
        self.assertGreater(len(CASES), 10)
        for case in CASES:
            with self.subTest(case.name):
                self.assertEqual(case.read_text().splitlines()[0], LINE)
                self.assertEqual(self.problems(case.read_text()), [])

    def test_a_case_with_every_default_meets_it(self):
        for case in map(ROOT.joinpath, ["tests/cases/everything.yaml", "tests/cases/minimal.yaml", "cases/papers_square.yaml"]):
            with self.subTest(case.name):
                done = femcg("check", case)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.problems(done.stdout), [])

    def test_what_it_takes_and_refuses(self):
        for more in GOOD:
            with self.subTest(more):
                self.assertEqual(self.problems(BOX + more), [])
                self.assertEqual(self.checked(BOX + more), 0)
        for wrong in [BOX + more for more in WRONG] + WRONG_MESHES:
            with self.subTest(wrong):
                self.assertNotEqual(self.problems(wrong), [])
                self.assertEqual(self.checked(wrong), 2 if "sweep" not in wrong else 0)  # errors in a sweep are found when it is expanded

    def test_every_key_and_option_is_described(self):
        def visit(where, node):
            for name, value in node.get("properties", {}).items():
                if isinstance(value, dict):
                    self.assertTrue(value.get("description") or where.startswith("$defs"), f"{where}.{name}")
                    visit(f"{where}.{name}", value)

        visit("", self.schema)
        for kind in "operator", "preconditioner":
            for choice in self.schema["$defs"][kind]["anyOf"][1]["allOf"]:
                for name, option in choice["then"]["properties"].items():
                    if name != "name":
                        self.assertTrue(option["description"])
                        for each in option["properties"].values() if option.get("type") == "object" else [option]:
                            self.assertTrue(each["description"])
                            values = jsonschema.Draft7Validator(each)
                            self.assertTrue(values.is_valid(each["default"]), f"{choice['if']}: {name}")

    def test_wrong_usage(self):
        done = femcg("schema", "extra")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "one argument too many: 'extra'\n")


PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else sys.exit(__doc__.strip())
unittest.main()
