"""The report page in a browser: every plot and table that its records call for, and nothing from outside.

    test_report.py MAKE_REPORT_PAGE [--screenshots FOLDER]
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import report_records
from browser import Browser

PLOTS = {"rates", "bandwidth", "memory"}
ASSEMBLED = PLOTS | {"row-lengths", "reduction", "break-even"}

# Expected contents of each page: sections; panels of bars, and bars (the best of a sweep counts once); lines; roofs.
EXPECTED = {
    "sweep": {"sections": ASSEMBLED | {"degree", "sweep-0", "numbers", "trouble", "aside"}, "panels": 8, "bars": 8 * 12 - 5, "lines": 2 * 12, "roofs": 8 * 12 - 5},
    "devices": {"sections": ASSEMBLED | {"baseline", "prediction", "numbers"}, "panels": 2, "bars": 12, "roofs": 12},
    "variants": {"sections": ASSEMBLED | {"sweep-problem-0", "numbers"}, "panels": 3, "bars": 9, "roofs": 9},
    "columns": {"sections": ASSEMBLED | {"degree", "right-hand-sides", "numbers"}, "panels": 8, "bars": 24, "lines": 12, "side_lines": 12, "roofs": 24},
    "preconditioners": {"sections": ASSEMBLED | {"preconditioners", "sweep-problem-0", "numbers"}, "panels": 4, "bars": 8, "roofs": 8},
    "matrices": {"sections": ASSEMBLED | {"numbers"}, "panels": 2, "bars": 8, "roofs": 8},
    "option": {"sections": (ASSEMBLED - {"rates", "break-even"}) | {"degree", "sweep-0", "numbers"}, "panels": 0, "bars": 0, "lines": 2, "roofs": 0},
    "cases": {"sections": ASSEMBLED | {"numbers"}, "panels": 1, "bars": 2, "roofs": 2, "records": 2},
    "single": {"sections": ASSEMBLED - {"break-even"} | {"numbers"}, "panels": 1, "bars": 1, "roofs": 1},
    "hostile": {"sections": ASSEMBLED | {"numbers", "trouble"}, "panels": 1, "bars": 2, "roofs": 2},
    "zeros": {"sections": {"row-lengths", "break-even", "numbers"}, "panels": 0, "bars": 0, "roofs": 0},
    "failures": {"sections": {"row-lengths", "numbers", "trouble", "aside"}, "panels": 0, "bars": 0, "roofs": 0},
    "run": {"sections": {"facts", "picture", "convergence", "times", "solution", "tuning", "processes", "remarks"}, "panels": 0, "bars": 0, "roofs": 0, "records": 0},
    "runs": {"sections": {"strong-scaling", "weak-scaling", "numbers"}, "panels": 0, "bars": 0, "roofs": 0},
    "study": {"sections": {"changes", "facts", "results", "errors", "effort", "points"}, "panels": 0, "bars": 0, "roofs": 0, "records": 0},
    "nothing": {"sections": set(), "panels": 0, "bars": 0, "roofs": 0},
}  # fmt: skip

LUMINANCE = """
  ((name) => {
    const probe = document.body.appendChild(document.createElement("span"));
    probe.style.color = `var(--${name})`;
    const [r, g, b] = getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    probe.remove();
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  })"""


def contrast(a, b):
    """Of two luminances, as WCAG 2 defines it."""
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.browser = cls.enterClassContext(Browser())
        cls.pages = {name: cls.make(name) for name in EXPECTED}

    @classmethod
    def make(cls, name):
        records = getattr(report_records, name)()
        made = subprocess.run(
            [arguments.program],
            input=json.dumps(records, ensure_ascii=False).encode(),
            capture_output=True,
            check=False,
        )
        if made.returncode != 0:
            raise RuntimeError(f"no page to test: {made.stderr.decode().strip()}")
        path = Path(cls.folder.name) / f"{name}.html"
        path.write_bytes(made.stdout)
        return path

    def open(self, name, **how):
        self.browser.open(self.pages[name], **how)

    def evaluate(self, expression):
        return self.browser.evaluate(expression)

    def number(self, selector):
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def test_every_page_in_both_schemes_wide_and_narrow(self):
        for name in EXPECTED:
            for scheme, width in (("light", 1600), ("dark", 400)) + (
                (("dark", 1600), ("light", 400)) if name == "sweep" else ()
            ):
                with self.subTest(page=name, scheme=scheme, width=width):
                    self.open(name, scheme=scheme, width=width)
                    self.check_content(name)
                    self.check_fit(width)
                    self.check_access()
                    self.keep(f"{name}-{scheme}-{width}.png", self.browser.screenshot)
                    self.browser.resize(width + 150)
                    self.browser.settle()
                    self.check_content(name)
                    self.check_silence(name)

    def keep(self, name, write):
        if arguments.screenshots:
            arguments.screenshots.mkdir(parents=True, exist_ok=True)
            write(arguments.screenshots / name)

    def check_silence(self, name):
        """No warnings, no errors, and nothing asked of the network."""
        self.assertEqual(self.browser.messages, [])
        outside = [
            url for url in self.browser.requests if url != self.pages[name].as_uri() and not url.startswith("data:")
        ]
        self.assertEqual(outside, [])

    def check_content(self, name):
        expected, count = EXPECTED[name], self.number
        self.assertEqual(
            set(self.evaluate("[...document.querySelectorAll('section')].map((e) => e.id)")), expected["sections"]
        )
        self.assertEqual(count("#rates figure"), expected["panels"])
        self.assertEqual(count("#rates [aria-label=bar] rect"), expected["bars"])
        self.assertEqual(count("#rates .roof > *"), expected["roofs"])
        self.assertEqual(count("#degree [aria-label=line] path"), expected.get("lines", 0))
        self.assertEqual(count("#right-hand-sides [aria-label=line] path"), expected.get("side_lines", 0))
        self.assertEqual(count("#numbers tbody tr"), expected.get("records", len(getattr(report_records, name)())))
        self.assertEqual(count("nav[aria-label=Contents] a"), len(expected["sections"] - {"trouble", "aside"}))
        self.assertEqual(count("figure"), count("figure svg:first-child"))
        text = self.evaluate("document.getElementById('report').outerHTML")
        self.assertNotRegex(text, r"NaN|undefined|Infinity|\[object")

    def check_fit(self, width):
        self.assertLessEqual(self.evaluate("document.documentElement.scrollWidth"), width)
        self.assertEqual(
            self.evaluate(
                "[...document.querySelectorAll('figure svg')].filter((e) => e.getBoundingClientRect().right > innerWidth).length"
            ),
            0,
        )

    def check_access(self):
        """Plots have a text, tables captions and headings, and no two elements one id."""
        self.assertEqual(self.number("figure svg:not([role=img][aria-label])"), 0)
        self.assertEqual(
            self.evaluate(
                "[...document.querySelectorAll('table')].filter((e) => !e.caption?.textContent || !e.querySelector('th[scope=col]')).length"
            ),
            0,
        )
        self.assertEqual(self.number("h1"), 1)
        ids = self.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
        self.assertEqual(len(ids), len(set(ids)))

    def test_the_page_names_no_address_that_is_fetched(self):
        for name, path in self.pages.items():
            with self.subTest(page=name):
                page = re.sub(r"<script.*?</script>", "", path.read_text(), flags=re.DOTALL)
                self.assertNotIn("://", page)
                self.open(name)
                links = self.evaluate(
                    "[...document.querySelectorAll('[src],[href]')].map((e) => e.getAttribute('src') ?? e.getAttribute('href'))"
                )
                self.assertEqual([link for link in links if not re.match("#|data:", link)], [])

    def test_a_plot_says_what_it_shows(self):
        self.open("devices")
        self.assertIn(
            "matrix-free 256", self.evaluate("document.querySelector('#rates figure svg').getAttribute('aria-label')")
        )

    def test_contrast_in_both_schemes(self):
        papers = {}
        for scheme in ("light", "dark"):
            self.open("single", scheme=scheme)
            luminance = {name: self.evaluate(f"{LUMINANCE}('{name}')") for name in
                         ["paper", "wash", "bad-wash", "ink", "soft", "link", "bad", "good", *(f"series-{i}" for i in range(18))]}  # fmt: skip
            papers[scheme] = luminance["paper"]
            for name in ("ink", "soft", "link", "bad", "good"):
                for ground in ("paper", "wash", "bad-wash"):
                    self.assertGreaterEqual(contrast(luminance[name], luminance[ground]), 4.5, (scheme, name, ground))
            for i in range(18):
                self.assertGreaterEqual(contrast(luminance[f"series-{i}"], luminance["paper"]), 3, (scheme, i))
        self.assertGreater(papers["light"], papers["dark"])

    def test_an_operator_has_one_colour_everywhere(self):
        self.open("devices")
        pairs = self.evaluate(
            """[...document.querySelectorAll("#rates figure svg, #memory svg, #bandwidth svg")].flatMap((svg) => {
            const middle = (e) => { const box = e.getBoundingClientRect(); return box.top + box.height / 2; };
            const names = [...svg.querySelectorAll("text")].filter((e) => /^[a-z]+(-[a-z]+)*$/.test(e.textContent));
            return [...svg.querySelectorAll("[aria-label=bar] rect")].map((bar) =>
              [names.toSorted((a, b) => Math.abs(middle(a) - middle(bar)) - Math.abs(middle(b) - middle(bar)))[0].textContent, bar.getAttribute("fill")]);
          })"""
        )
        self.assertEqual(len(pairs), 3 * 12)
        self.assertEqual(len({tuple(pair) for pair in pairs}), 6)

    def test_it_says_which_operator_to_use(self):
        self.open("devices")
        texts = self.evaluate("[...document.querySelectorAll('.recommendation li')].map((e) => e.textContent)")
        self.assertEqual([text.split(". ", 1)[1] for text in texts], [f"To solve often, use sell on the {device}." for device in ("cpu", "cuda")])
        first_chart = "document.querySelector('figure').getBoundingClientRect().top"
        self.assertLess(self.evaluate("document.querySelector('.recommendation').getBoundingClientRect().bottom"), self.evaluate(first_chart))

    def test_predictions_stand_against_measurements(self):
        self.open("devices")
        self.assertEqual(self.number("#prediction figure"), 2)
        self.assertEqual(self.number("#prediction figure:first-child [aria-label=dot] > *"), 6)
        # One of six predictions is 20% too low, the others are 10% too high.
        self.assertEqual(
            self.evaluate("document.querySelector('#prediction .note').textContent"),
            "Difference rate: mean 12\u00a0%, median 10\u00a0%, worst 20\u00a0%.",
        )
        column = "[...document.querySelectorAll('#numbers thead tr:last-child th')].findIndex((e) => e.textContent === 'Regret of auto')"
        shown = self.evaluate(f"[...document.querySelectorAll('#numbers tbody tr')].map((row) => row.children[{column}].textContent)")
        self.assertEqual([text for text in shown if text != "–"], ["13\u00a0%"] * 2)

    def test_the_page_of_a_run_has_its_numbers(self):
        self.open("run")
        text = self.evaluate("document.getElementById('report').textContent")
        for words in ("Converged after 150 iterations", "warmth in degC", "68.25 in", "68.25 out", "1.250\u00a0×\u00a010⁻⁵ in L2", "joined 7 solids"):
            self.assertIn(words, text)
        self.assertEqual(self.evaluate("[document.images.length, document.images[0].naturalWidth]"), [1, 1])
        self.assertEqual(
            self.evaluate("[...document.querySelectorAll('.times tbody tr')].map((row) => [row.children[0].textContent, row.children[3].textContent, row.querySelector('.bar').style.width])"),
            [["meshing", "25\u00a0%", "33.2%"], ["iterating", "75\u00a0%", "100%"], ["other steps", "0.1\u00a0%", "0.1%"]],
        )
        self.assertEqual(self.number("#convergence [aria-label=line] path"), 1)

    def test_residuals_stand_against_seconds(self):
        self.open("preconditioners")
        self.assertEqual(self.number("#preconditioners [aria-label=line] path"), 4)
        text = self.evaluate("document.querySelector('#preconditioners').textContent + document.querySelector('#preconditioners svg').outerHTML")
        for name in ("jacobi", "chebyshev (degree 2)", "multigrid", "boomeramg"):
            self.assertIn(name, text)
        self.assertIn("Seconds", text)

    def test_runs_scale_by_their_processes(self):
        self.open("runs")
        told = self.evaluate("[...document.querySelectorAll('figure svg')].map((svg) => svg.getAttribute('aria-label'))")
        self.assertEqual(
            [text.replace("\u00a0", " ") for text in told],
            [
                "Efficiency against processes: csr, 80.0 k 100 % at 1, 90 % at 2, 80 % at 4.",
                "Efficiency against processes: csr, 20.0 k each 100 % at 1, 95 % at 2, 85 % at 4.",
            ],
        )

    def test_the_table_is_saved_as_csv(self):
        self.open("devices")
        self.evaluate("HTMLAnchorElement.prototype.click = function () { window.saved = this.download; }; URL.createObjectURL = (blob) => { window.blob = blob; return '#'; }; void document.querySelector('.csv').click()")
        lines = self.evaluate("window.blob.text()").split("\r\n")
        self.assertEqual((self.evaluate("window.saved"), len(lines)), ("comparison.csv", 12 + 1 + 1))
        self.assertTrue(lines[0].startswith("Operator,"))
        self.assertIn("CG iterations per second: Median", lines[0].split(","))

    def test_an_operator_keeps_its_colour_from_page_to_page(self):
        colours = set()
        for page in ("devices", "single", "cases"):
            self.open(page)
            colours.add(self.evaluate(
                """(() => { const svg = document.querySelector("#rates figure svg"), text = [...svg.querySelectorAll("text")].find((e) => e.textContent === "csr").getBoundingClientRect();
                return [...svg.querySelectorAll("[aria-label=bar] rect")].find((e) => { const box = e.getBoundingClientRect(); return box.top < text.bottom && box.bottom > text.top; }).getAttribute("fill"); })()"""))
        self.assertEqual(colours, {"var(--series-0)"})

    def test_failures_say_why(self):
        self.open("sweep")
        text = self.evaluate("document.getElementById('trouble').textContent")
        for words in ("disagrees", "failed", "jad", "hyb", "needs 71.2 GB", "3.1\u00a0×\u00a010⁻³"):
            self.assertIn(words, text)
        self.assertIn("has no CPU version", self.evaluate("document.getElementById('aside').textContent"))
        self.assertIn("171 of 176 combinations", self.evaluate("document.querySelector('header').textContent"))

    def test_text_from_outside_stays_text(self):
        self.open("hostile")
        self.assertEqual(
            self.evaluate("[document.images.length, document.scripts.length, typeof window.broken]"),
            [0, 4, "undefined"],
        )
        shown = re.sub("[\u2028\u202e]", "\ufffd", report_records.HOSTILE)
        self.assertEqual(self.evaluate("document.querySelector('h1').textContent"), shown)
        self.assertIn(shown, self.evaluate("document.getElementById('trouble').textContent"))

    def test_products_where_cg_was_not_timed(self):
        self.open("matrices")
        texts = self.evaluate("[...document.querySelectorAll('#rates figure svg')].map((svg) => svg.textContent)")
        self.assertIn("Products per second", texts[0])
        self.assertIn("CG iterations per second", texts[1])

    def test_one_operator_has_a_line_for_each_problem_against_its_option(self):
        self.open("option")
        figures = self.evaluate(
            """[...document.querySelectorAll("#sweep-0 figure")].map((figure) =>
            [figure.querySelector("h3").textContent, [...figure.querySelectorAll(".name")].map((e) => e.textContent).sort(),
             figure.querySelectorAll("[aria-label=line] path").length])"""
        )
        degrees = [f"Degree {degree}" for degree in (1, 2, 3, 4)]
        self.assertEqual(
            figures,
            [[f"csr, rule 2012 \u00b7 {precision} precision \u00b7 GPU", degrees, 4] for precision in ("double", "single")],
        )

    def test_cases_are_shown_one_by_one(self):
        self.open("cases")
        case = "[document.querySelector('h1').textContent, document.querySelector('nav [aria-current]').textContent, document.querySelector('tbody th').textContent]"
        changed = "Two: mesh.box.cell triangle, degree 3"
        titles = ["Two", changed, "Ten", "Other ten"]
        self.assertEqual(
            self.evaluate("[...document.querySelectorAll('nav[aria-label=Cases] a')].map((e) => e.textContent)"), titles
        )
        self.assertEqual(self.evaluate(case)[:2], ["Two", "Two"])
        for name, title in (("case-case_10-2", "Other ten"), ("case-case_10", "Ten"), ("memory", "Ten"), ("case-case_2-2", changed), ("case-case_2", "Two")):
            self.evaluate(f"document.querySelector('[href=\"#{name}\"]').click()")
            self.browser.settle()
            self.assertEqual(self.evaluate(case)[:2], [title, title], name)
        self.check_content("cases")
        self.check_silence("cases")

    def test_powers_of_two_are_evenly_spaced(self):
        self.open("sweep")
        ticks = self.evaluate(
            """[...document.querySelector("#sweep-0 [aria-label='x-axis tick label']").children]
            .map((e) => [e.textContent, Number(e.getAttribute("transform").match(/[0-9.]+/)[0])])"""
        )
        self.assertEqual([text for text, _ in ticks], ["1", "2", "4", "8", "16", "32"])
        steps = [b - a for (_, a), (_, b) in zip(ticks, ticks[1:])]
        self.assertLess(max(steps) - min(steps), 1e-6 * max(steps))

    def test_the_table_sorts_by_keyboard(self):
        self.open("sweep")
        heading = "[...document.querySelectorAll('#numbers th')].find((e) => e.textContent.startsWith('Median'))"
        column = f"[...document.querySelectorAll('#numbers tbody tr')].map((row) => row.children[{heading}.cellIndex].textContent)"
        self.evaluate(f"{heading}.querySelector('button').focus()")
        for expected, turned in (("descending", True), ("ascending", False)):
            self.browser.press("Enter")
            self.assertEqual(self.evaluate(f"{heading}.getAttribute('aria-sort')"), expected)
            shown = self.evaluate(column)
            numbers = [float(text) for text in shown if text != "–"]
            self.assertEqual(numbers, sorted(numbers, reverse=turned))
            self.assertEqual(shown[len(numbers) :], ["–"] * 5)

    def test_it_prints(self):
        self.open("sweep", scheme="dark")
        path = Path(self.folder.name) / "sweep.pdf"
        self.browser.print(path, scheme="dark")
        self.assertTrue(path.read_bytes().startswith(b"%PDF"))
        self.assertEqual(self.browser.messages, [])
        self.assertEqual(self.evaluate(f"{LUMINANCE}('paper')"), 1, "dark paper")
        self.keep(path.name, lambda kept: kept.write_bytes(path.read_bytes()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program", help="the program make_report_page")
    parser.add_argument("--screenshots", type=Path, help="keep pictures of every page in this folder")
    arguments, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
