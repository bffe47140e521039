#!/usr/bin/env python3
"""Uses an installed femcg as its users do: what lies where, the example program, and the package.

    check_installed.py example LIBDIR PREFIX FOLDER [CMAKE_OPTIONS...]    # builds it in FOLDER
    check_installed.py package LIBDIR BUILD_FOLDER FOLDER                 # makes it in FOLDER

LIBDIR is CMAKE_INSTALL_LIBDIR.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ.get("FEMCG_SOURCE_DIR", Path(__file__).parent.parent))
SKIPPED = 77

CASE = """mesh: {box: {cells: [8, 8, 8], cell: hexahedron, distort: 0.2}}
degree: 2
equation: {source: "3*pi^2*sin(pi*x)*sin(pi*y)*sin(pi*z)"}
boundary: {all: {value: 0}}
exact: "sin(pi*x)*sin(pi*y)*sin(pi*z)"
solver: {operator: csr}
"""

EXPECTED = {
    "bin/femcg", "LIBDIR/libfemcg_solver.a", "LIBDIR/cmake/femcg/femcgConfig.cmake", "include/femcg/femcg.hpp",
    "include/femcg/operators/operator.hpp", "include/femcg/plugin.h", "share/doc/femcg/copyright", "share/man/man1/femcg.1",
    "share/bash-completion/completions/femcg", "share/zsh/site-functions/_femcg", "share/fish/vendor_completions.d/femcg.fish",
    "share/femcg/cases/quickstart.yaml", "share/femcg/cases/case.schema.json", "share/femcg/cases/README.md",
}  # fmt: skip


def output(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options).stdout


def check(holds, sentence):
    if not holds:
        sys.exit(f"check_installed: {sentence}")


def expected(libdir):
    return {name.replace("LIBDIR", libdir) for name in EXPECTED}


def check_files(libdir, prefix):
    absent = sorted(name for name in expected(libdir) if not (prefix / name).is_file())
    check(not absent, f"not installed: {absent}")
    program = prefix / "bin/femcg"
    printed = {"share/man/man1/femcg.1": ["manual"], "share/bash-completion/completions/femcg": ["completion", "bash"]}
    for name, command in printed.items():
        check((prefix / name).read_text() == output(program, *command), f"{name} is not what femcg {' '.join(command)} prints")
    # Every header exists at the same path in the source tree and includes only <...>, femcg's headers as <femcg/...>.
    headers = [file for file in (prefix / "include/femcg").rglob("*.hpp") if file.name != "femcg.hpp"]
    for header in headers:
        inside = header.relative_to(prefix / "include/femcg")
        check((SOURCE / inside).is_file(), f"{inside} is no header of the tree")
        for kind, name in re.findall(r'#include ([<"])([^>"]+)', header.read_text()):
            check(kind == "<", f'{inside} includes "{name}"')
            check(not name.startswith("femcg/") or (prefix / "include" / name).is_file(), f"{inside} includes {name}, which is absent")
    check(output(program, "check", prefix / "share/femcg/cases/unit_cube.yaml"), "an installed case does not pass")
    gmsh = re.search(r"^Gmsh +(.*)", output(program, "info"), re.MULTILINE)[1]
    check(gmsh.startswith("no ") or gmsh[0].isdigit(), gmsh)


def check_example(libdir, prefix, folder, options):
    check_files(libdir, prefix)
    shutil.rmtree(folder, ignore_errors=True)
    output("cmake", "-S", SOURCE / "tests/installed_example", "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", *options)
    output("cmake", "--build", folder)
    (folder / "cube.yaml").write_text(CASE)
    run = output(prefix / "bin/femcg", "run", folder / "cube.yaml", "--output", folder / "results", "--set", "output.vtu=false")
    iterations = re.search(r"converged in (\d+) iterations", run)[1]
    error = re.search(r"error +L2 ([0-9.e-]+)", run)[1]
    for name in ["csr", "sell", "matrix-free"]:
        printed = output(folder / "poisson", name)
        found = re.fullmatch(r"(\d+) iterations, converged, error in L2 ([0-9.e-]+)\n", printed)
        check(found, f"the example prints {printed!r}")
        # femcg run may take more iterations: it also requires the energy norm of the error to be below the tolerance.
        more = int(iterations) - int(found[1])
        check(-1 <= more <= 0.1 * int(iterations), f"{name}: {found[1]} iterations, and femcg run takes {iterations}")
        check(found[2] == error, f"{name}: error {found[2]}, and of femcg run {error}")
    wrong = subprocess.run([folder / "poisson", "nothing"], capture_output=True, text=True)
    check(wrong.returncode == 1 and wrong.stderr == "poisson: there is no such operator\n", f"the example says {wrong.stderr!r}")


def check_package(libdir, build, made):
    if not (shutil.which("cpack") and shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps")):
        print("no dpkg-deb here")
        sys.exit(SKIPPED)
    shutil.rmtree(made, ignore_errors=True)
    output("cpack", "-G", "DEB", "-B", made, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", "--config", build / "CPackConfig.cmake", cwd=build)
    [package] = made.glob("*.deb")
    listed = {line.split()[5] for line in output("dpkg-deb", "-c", package).splitlines()}
    absent = sorted(name for name in expected(libdir) if f"./usr/{name}" not in listed)
    check(not absent, f"{package.name} lacks {absent}")
    outside = sorted(name for name in listed if not "./usr/".startswith(name) and not name.startswith("./usr/"))
    check(not outside, f"{package.name} would install {outside}")
    fields = dict(line.split(": ", 1) for line in output("dpkg-deb", "-f", package).splitlines() if re.match(r"\w[\w-]*: ", line))
    check(fields["Package"] == "femcg", f"the package is called {fields['Package']}")
    depends = fields["Depends"]
    for library in ["libc6", "libgomp1", "libyaml-cpp", "libmuparser", "libfmt"]:
        check(library in depends, f"the package depends on {depends}, without {library}")
    check("libeigen3-dev" in fields["Suggests"], f"the package suggests {fields['Suggests']}")


def main():
    what, libdir, *rest = sys.argv[1:]
    source, folder = (Path(name).resolve() for name in rest[:2])
    if what == "example":
        check_example(libdir, source, folder, rest[2:])
    else:
        check_package(libdir, source, folder)


main()
