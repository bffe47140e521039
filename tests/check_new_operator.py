"""tools/new-operator begins an operator that is right at once, and refuses names that no operator can have.

    tests/check_new_operator.py write COPY                      # the files of one, and copies of those that get a row of it
    tests/check_new_operator.py check BUILD PROGRAM PRODUCTS    # builds and runs two programs that have it in their catalogue
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHANGED = ["operators/catalogue_rows.cpp", "operators/catalogue_cuda_rows.cu", "solver/prediction/models/bandwidth_model.cpp", "cases/operators.md"]
REFUSED = {
    "jad": "there is an operator or a folder of that name: jad",
    "lma-atomic": "there is an operator or a folder of that name: lma-atomic",
    "new-format": "there is an operator or a folder of that name: new-format",
    "new": "'new' is a word of C++; an operator's name is also that of a function",
    "Rows": "'Rows' is no name for an operator: a small letter, then small letters, digits, - and _",
    "2-rows": "'2-rows' is no name for an operator: a small letter, then small letters, digits, - and _",
    "../rows": "'../rows' is no name for an operator: a small letter, then small letters, digits, - and _",
}


def begin(name, root):
    return subprocess.run([sys.executable, ROOT / "tools/new-operator", name, root], capture_output=True, text=True, check=False)


def write(copy):
    """Made anew, since there may be no operator of that name yet."""
    shutil.rmtree(copy, ignore_errors=True)
    for name in [*CHANGED, ".clang-format", "operators/stored/jad/jad.hpp"]:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    return begin("new-format", copy)


def files(root):
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def check_files():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        done = write(root)
        new = [f"operators/stored/new_format/new_format.{ending}" for ending in ("hpp", "cpp", "cu")]
        assert (done.returncode, done.stdout, done.stderr) == (0, "".join(f"{name}\n" for name in [*new, *CHANGED]), ""), done
        after = files(root)
        for name in CHANGED:
            assert (b"new-format" if not name.endswith("_rows.cpp") else b"new_format()") in after[name], name
        if formatter := shutil.which("clang-format"):
            subprocess.run([formatter, "--dry-run", "-Werror", *(root / name for name in new)], check=True)
        for name, sentence in REFUSED.items():
            done = begin(name, root)
            assert (done.returncode, done.stdout, done.stderr) == (2, "", f"new-operator: {sentence}\n"), done
        assert files(root) == after


def check(build, program, products):
    check_files()
    subprocess.run(["cmake", "--build", build, "--target", Path(program).name, Path(products).name], check=True)
    listed = subprocess.run([program, "list", "operators"], capture_output=True, text=True, check=True).stdout
    assert any(line.split()[:1] == ["new-format"] for line in listed.splitlines()), listed
    # Selects the test cases of operators made from a matrix; the other cases test operators on cells.
    compared = [products, "--source-file=*/test_operators.cpp", "--test-case=every operator*,enough cells*,one cell*,constants map*"]
    subprocess.run(compared, check=True)
    status = subprocess.run(compared, env={**os.environ, "FEMCG_TEST_DEVICE": "cuda"}, check=False).returncode
    assert status in (0, 77), status  # 77: there is no GPU


if sys.argv[1] == "write":
    done = write(Path(sys.argv[2]))
    sys.exit(done.stderr or None)
check(*sys.argv[2:])
