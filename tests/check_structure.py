"""tools/check_structure finds every kind of breach, at its place, and nothing else."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).resolve().parent.parent / "tools" / "check_structure"
PRIVATE = "/".join(["", "home", "someone", "mesh.msh"])

SOUND = {
    "CMakeLists.txt": "project(femcg)\n",
    "mesh/mesh.hpp": "#pragma once\n#include <vector>\n",
    "mesh/box/box.hpp": '#pragma once\n#include "mesh/mesh.hpp"\n',
    "mesh/gmsh/raw/raw_mesh.hpp": '#pragma once\n#include "mesh/mesh.hpp"\n',
    "mesh/gmsh/sdk/model.cpp": '#include <gmsh.h>\n#include "mesh/mesh.hpp"\n',
    "operators/backend/vector.hpp": '#pragma once\n#include "mesh/mesh.hpp"\n',
    "operators/backend/device.cu": "#include <cuda_runtime.h>\n#if CUDART_VERSION < 12000\n#endif\n",
    "operators/operator.hpp": '#pragma once\n#include "operators/backend/vector.hpp"\n',
    "operators/stored/common/slots.cuh": '#pragma once\n#include "operators/operator.hpp"\n',
    "operators/stored/io/matrix_market.cpp": '#include "operators/operator.hpp"\n',
    "operators/stored/csr/csr.hpp": '#pragma once\n#include "operators/stored/common/slots.cuh"\n',
    "operators/stored/csr/csr.cu": '#include <cuda_runtime.h>\n#include "operators/stored/csr/csr.hpp"\n',
    "operators/catalogue.hpp": '#pragma once\n#include "operators/operator.hpp"\n',
    "operators/catalogue_rows.cpp": '#include "operators/catalogue.hpp"\n#include "operators/stored/csr/csr.hpp"\n',
    "solver/case/case.cpp": '#include <yaml-cpp/yaml.h>\n#include "operators/backend/vector.hpp"\n',
    "solver/run/run.cpp": '#include "operators/catalogue.hpp"\n#include "solver/case/case.cpp"\n',
    "tests/test_csr.cpp": '#include "operators/stored/csr/csr.hpp"\n// https://example.org/home/page is no path of ours\n',
    "build/release/generated.cpp": '#include "nowhere.hpp"\n',
}


class CheckStructure(unittest.TestCase):
    def check(self, changes):
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**SOUND, **changes}.items():
                path = Path(root) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True, check=False)

    def assert_breach(self, name, text, line, words):
        done = self.check({name: text})
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 1, done.stdout)
        self.assertTrue(done.stdout.startswith(f"{name}:{line}: "), done.stdout)
        self.assertIn(words, done.stdout)

    def test_a_sound_tree_passes(self):
        done = self.check({})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_breaches(self):
        for name, text, line, words in [
            ("mesh/a.cpp", '\n#include "operators/operator.hpp"\n', 2, "mesh must not"),
            ("mesh/mesh.cpp", '#include "mesh/box/box.hpp"\n', 1, "higher layer"),
            ("operators/operator.cpp", '#include "solver/case/case.cpp"\n', 1, "operators must not"),
            ("operators/stored/csr/a.cpp", '#include "solver/case/case.cpp"\n', 1, "operators/stored/csr must not"),
            ("solver/case/a.cpp", '#include "tests/test_csr.cpp"\n', 1, "solver/case must not"),
            ("tools/a.cpp", '#include <tests/test_csr.cpp>\n', 1, "tools must not"),
            ("operators/backend/vector.cpp", '#include "operators/operator.hpp"\n', 1, "operators/backend must not"),
            ("operators/stored/common/a.cpp", '#include "operators/stored/io/matrix_market.cpp"\n', 1, "or the same"),
            ("operators/stored/sell/sell.cpp", '#include "operators/stored/csr/csr.hpp"\n', 1, "another's"),
            ("operators/cellwise/lma/host/a.cpp", '#include "operators/stored/csr/csr.hpp"\n', 1, "another's"),
            ("operators/stored/csr/a.cpp", '#include "operators/stored/io/matrix_market.cpp"\n', 1, "operators/stored/csr must not"),
            ("operators/backend/vector.cpp", '#include "operators/stored/csr/csr.hpp"\n', 1, "only operators/catalogue_*"),
            ("operators/catalogue.cpp", '#include "operators/stored/csr/csr.hpp"\n', 1, "only operators/catalogue_*"),
            ("operators/operator.cpp", '#include "mesh/gmsh/raw/raw_mesh.hpp"\n', 1, "operators must not"),
            ("solver/run/run.cpp", '#include "operators/stored/csr/csr.hpp"\n', 1, "only operators/catalogue_*"),
            ("solver/case/a.cpp", '#include "solver/run/run.cpp"\n', 1, "solver/case must not"),
            ("solver/a.cpp", "int a;\n", 1, "no room"),
            ("operators/stored/csr/csr.cpp", "#  include <cuda_runtime.h>\n", 1, "*.cu"),
            ("solver/run/run.cpp", "#include <yaml-cpp/yaml.h>\n", 1, "solver/case"),
            ("mesh/mesh.cpp", "#include <gmsh.h>\n", 1, "mesh/gmsh/sdk"),
            ("mesh/box/box.cpp", '#include "mesh/gmsh/sdk/model.cpp"\n', 1, "mesh/box must not"),
            ("mesh/mesh.cpp", '#include "mesh.hpp"\n', 1, "from the root"),
            ("mesh/mesh.cpp", "int a;\n#ifdef NDEBUG\n#endif\n", 2, "conditionally"),
            ("cases/a.yaml", f"mesh:\n  file: {PRIVATE}\n", 2, "one person's machine"),
            ("utilities/a.txt", "a\n", 1, "top level"),
        ]:
            with self.subTest(name=name, text=text):
                self.assert_breach(name, text, line, words)

    def test_a_type_has_one_definition(self):
        of = "#pragma once\nnamespace femcg {\nstruct Made {\n};\n}  // namespace femcg\n"
        done = self.check({"mesh/a.hpp": of, "mesh/box/b.hpp": of})
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("mesh/box/b.hpp:3: defines Made, as mesh/a.hpp does"), done.stdout)
        for other in [of.replace("femcg", "femcg::cuda"), of.replace("Made {\n}", "Made"), of.replace("Made {", "Made<int> {")]:
            self.assertEqual(self.check({"mesh/a.hpp": of, "mesh/box/b.hpp": other}).returncode, 0, other)

    def test_a_room_of_17_stems_is_crowded(self):
        crowd = {f"mesh/box/unit_{number}.hpp": "#pragma once\n" for number in range(15)}
        self.assertEqual(self.check(crowd).returncode, 0)
        crowd["mesh/box/unit_15.cpp"] = "int a;\n"
        done = self.check(crowd)
        self.assertEqual(done.returncode, 1)
        self.assertIn("mesh/box has 17 file stems", done.stdout)

    def test_a_folder_that_is_no_project_is_refused(self):
        with tempfile.TemporaryDirectory() as empty:
            done = subprocess.run([sys.executable, CHECK, empty], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not the root", done.stderr)


unittest.main()
