#!/usr/bin/env python3
"""Every source that the project names as (Author year) has an entry in tools/references.bib, and every entry is named.

    tests/check_references.py [ROOT]

Prints each breach as file:line: sentence, and ends with status 1 where there is one.
"""

import re
import subprocess
import sys
import unicodedata
from pathlib import Path

BIBLIOGRAPHY = "tools/references.bib"
SUFFIXES = {".cpp", ".hpp", ".cu", ".cuh", ".h", ".py", ".js", ".md", ".yaml", ".geo", ".txt", ".html", ""}
SKIPPED = re.compile(r"build/|results/|cases/h200/(?!.*\.md)|tests/check_references\.py|LICENSE|.*package-lock\.json")

NAME = r"(?:van der |van )?[A-Z][A-Za-z'-]+"
SOURCE = re.compile(rf"\b({NAME}(?:, {NAME})*(?:,? (?:&|and) {NAME})?(?: et al\.)?),? \(?((?:19|20)\d\d)\b(?![-/:.]\d)")
COMMENT = re.compile(r"^\s*(?://[/!]?|#|\*|%)?\s*")
NOT_NAMES = {"In", "Since", "Copyright"}


def plain(text):
    """Without accents and LaTeX's braces, which names are written with in some places only."""
    text = unicodedata.normalize("NFKD", re.sub(r"\\['\"`]|\\[civ]\b|[{}]", "", text))
    return "".join(c for c in text if not unicodedata.combining(c))


def project_files(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "."],
                            capture_output=True, text=True, check=False).stdout.split("\0")  # fmt: skip
    if "CMakeLists.txt" not in listed:  # an archive
        listed = [path.relative_to(root).as_posix() for path in root.rglob("*") if not path.relative_to(root).parts[0].startswith(".")]
    return sorted(name for name in listed if name and Path(name).suffix in SUFFIXES and not SKIPPED.match(name) and (root / name).is_file())


def named_sources(text):
    """(line, names, year) of each source that the text names, across line ends and through comment marks."""
    joined, starts = "", []
    for line in plain(text).splitlines():
        starts.append(len(joined))
        joined += COMMENT.sub("", line) + " "
    for found in SOURCE.finditer(joined):
        names = re.sub(r",? (?:&|and) |, ", " & ", found[1])
        if names not in NOT_NAMES:
            yield sum(start <= found.start() for start in starts), names, found[2]


def entries(text):
    """(line, key, fields) of each entry of a BibTeX file that has a field a line."""
    for found in re.finditer(r"^@\w+\{(\w+),\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        fields = dict(re.findall(r"^  (\w+) = \{(.*?)\},?$", found[2], re.MULTILINE | re.DOTALL))
        yield text[:found.start()].count("\n") + 1, found[1], fields


def labels(fields):
    """How the authors of an entry may be named: all of them, or the first of three or more with "et al."."""
    family = [plain(author).split(",")[0].strip() for author in fields["author"].split(" and ")]
    return {" & ".join(family)} | ({f"{family[0]} et al."} if len(family) > 2 else set())


def breaches(root):
    """Yields (file, line, sentence)."""
    text = (root / BIBLIOGRAPHY).read_text(encoding="utf-8")
    known, unnamed = {}, {}
    for line, key, fields in entries(text):
        unnamed[key] = line
        for field in {"author", "title", "year"} - fields.keys():
            yield BIBLIOGRAPHY, line, f"{key} has no {field}"
            return
        if not re.fullmatch(r"10\.\d{4,9}/\S+", fields.get("doi", "")) and not ("note" in fields and "doi" not in fields):
            yield BIBLIOGRAPHY, line, f"{key} needs a doi such as 10.1000/xyz, or a note that says why it has none"
        for label in labels(fields):
            known.setdefault((label, fields["year"]), []).append(key)
    for name in project_files(root):
        for line, names, year in named_sources((root / name).read_bytes().decode("utf-8", "replace")):
            # Words of a list before the authors, as in "CG, Hestenes & Stiefel 1952", do not belong to the source.
            parts = names.split(" & ")
            keys = next((known[" & ".join(parts[k:]), year] for k in range(len(parts)) if (" & ".join(parts[k:]), year) in known), None)
            if keys is None:
                yield name, line, f"names {names.replace(' & ', ', ')} {year}, of whom {BIBLIOGRAPHY} knows nothing"
            for key in keys or []:
                unnamed.pop(key, None)
    for key, line in unnamed.items():
        yield BIBLIOGRAPHY, line, f"{key} is named nowhere"


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(__doc__.strip())
    found = list(breaches(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()))
    for name, number, sentence in found:
        print(f"{name}:{number}: {sentence}")
    if found:
        sys.exit(f"check_references: {len(found)} breach{'es' if len(found) > 1 else ''}")


if __name__ == "__main__":
    main()
