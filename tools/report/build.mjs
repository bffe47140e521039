// Makes the page of `femcg run` and `femcg compare` and the C++ source that carries it:
//
//     node build.mjs NODE_MODULES PAGE.html PAGE.cpp
//
// The page is page.html with the style sheet, the two libraries and the scripts beside this file put in; only the records
// are left open, between the two halves that the program joins (solver/report_page.cpp).

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [modules, pageFile, sourceFile] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const read = (...path) => readFileSync(join(...path), "utf8");

/// JavaScript that no `</script` or `<!--` inside can end early; both can occur only in strings, patterns and comments.
const inScript = (code) => code.replace(/<(?=\/script|!--)/gi, "\\x3c");

/// A library as its authors built it, with the licence that must go along.
function library(name, file) {
  const licence = read(modules, name, "LICENSE").trim();
  return `/*! ${name} ${JSON.parse(read(modules, name, "package.json")).version}\n\n${licence}\n*/\n${read(modules, name, file)}`;
}

const ours = ["format.js", "records.js", "chart.js", "rates.js", "measures.js", "prediction.js", "table.js", "run.js", "study.js", "solutions.js", "page.js"];
const scripts = [
  library("d3", "dist/d3.min.js"),
  library("@observablehq/plot", "dist/plot.umd.min.js"),
  `(() => {\n"use strict";\n${ours.map((file) => read(here, file)).join("\n")}\nshowReport();\n})();`,
].map(inScript);

// Only these scripts may run, whatever else a file name or a title brings in.
const hash = (code) => `'sha256-${createHash("sha256").update(code).digest("base64")}'`;

const page = read(here, "page.html")
  .replace("@STYLE@", () => read(here, "style.css"))
  .replace("@SCRIPT_HASHES@", () => scripts.map(hash).join(" "))
  .replace("@SCRIPTS@", () => scripts.map((code) => `<script>${code}</script>`).join("\n"));

const mark = "@RECORDS@";
if (page.split(mark).length !== 2) throw new Error(`the page must have one place for the records, ${mark}`);
const halves = page.split(mark);

const delimiter = "femcg_page";
if (page.includes(`)${delimiter}"`)) throw new Error(`the page contains the end of a C++ string, )${delimiter}"`);
const literal = (text) => `R"${delimiter}(${text})${delimiter}"`;

writeFileSync(pageFile, page);
writeFileSync(
  sourceFile,
  `// Made by tools/report/build.mjs.
#include "solver/report/report_page_text.hpp"

namespace femcg::solver {

namespace {
constexpr char before[] = ${literal(halves[0])};
constexpr char after[] = ${literal(halves[1])};
}  // namespace

ReportPageText report_page_text() { return {{before, sizeof before - 1}, {after, sizeof after - 1}, {}}; }

}  // namespace femcg::solver
`,
);
