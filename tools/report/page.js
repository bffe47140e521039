// Sections of the page, from top to bottom.

/// Reads the records and shows them. `build.mjs` appends the call to the script.
function showReport() {
  const records = parseRecords(document.getElementById("records").textContent);
  let pending = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(drawAll);
  });
  if (records.length > 0 && records.every((record) => isRun(record) || isStudy(record))) {
    showRuns(records);
    return;
  }
  const chapters = chaptersOf(records);
  let shown;
  const show = () => {
    // Other addresses within the page are those of sections.
    const chosen = chapters.find(({ id }) => location.hash === `#${id}`) ?? shown ?? chapters[0];
    if (chosen === shown) return;
    const first = shown === undefined;
    shown = chosen;
    showChapter(chapters, chosen);
    if (!first) scrollTo(0, 0);
  };
  show();
  addEventListener("hashchange", show);
}

/// Settings of the command line that override the case file, without the compared ones: "key value, key value".
const changesOf = (record) =>
  Object.entries(record.set ?? {})
    .filter(([key]) => !/^(compare|output)(\.|$)/.test(key))
    .map(([key, value]) => `${key} ${value}`)
    .join(", ");
const titleOf = (record) => [record.title || record.problem?.matrix, changesOf(record)].filter(Boolean).join(": ");

/// Records grouped by case, {id, title, records}. A case with different --set options makes several groups; matrices from
/// files make one.
function chaptersOf(records) {
  const fileOf = (record) => (record.problem?.matrix === undefined ? record.case : undefined);
  const cases = groupBy(records, (record) => JSON.stringify([fileOf(record), changesOf(record)]));
  const chapters = [...cases.values()].map((own) => {
    const name = String(fileOf(own[0]) ?? "matrices").replace(/^.*[/\\]|\.[^.]*$/g, "");
    return { name, title: titleOf(own[0]) || name, records: own };
  });
  chapters.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  const namesakes = groupBy(chapters, ({ name }) => name.replace(/[^\w.-]+/g, "-"));
  for (const [name, own] of namesakes)
    own.forEach((chapter, index) => (chapter.id = `case-${name}${index ? `-${index + 1}` : ""}`));
  return chapters.length ? chapters : [{ id: "case-", title: "", records }];
}

function showChapter(chapters, chosen) {
  const report = readReport(chosen.records);
  const main = document.getElementById("report");
  drawings.length = 0;
  // One operator has no others to be measured against: its options are the subject.
  const sweeps = sweepSections(report);
  const alone = report.series.length === 1 && sweeps.some(({ panels }) => panels.length > 0);
  const sections = [
    preconditionersSection(report),
    ...(alone ? sweeps : [ratesSection(report)]),
    degreeSection(report),
    rightHandSidesSection(report),
    ...(alone ? [] : sweeps),
    bandwidthSection(report),
    memorySection(report),
    rowLengthSection(report),
    reductionSection(report),
    breakEvenSection(report),
    predictionSection(report),
  ].filter((section) => section.panels.length > 0);
  const tables = [baselineTable(report), numbersTable(report)].filter((section) => section);
  const links = [...sections, ...tables].map(({ id, heading }) => ({ id, text: heading }));
  const cases = chapters.map((chapter) => ({ id: chapter.id, text: chapter.title, current: chapter === chosen }));
  main.replaceChildren(
    ...[
      chapters.length > 1 ? contents("Cases", cases) : null,
      header(report),
      troubleTable(report),
      asideTable(report),
      problemTable(report),
    ].filter((part) => part),
    contents("Contents", links),
    ...sections.map(plotSection),
    ...tables.map((section) => section.node),
  );
  drawAll();
}

/// Header: title, commands and host.
function header(report) {
  const { records, entries, timed } = report;
  const facts = (of) =>
    distinct(
      records.map(of).filter((value) => value !== undefined && value !== null && value !== "" && value !== 0),
    ).map(String);
  const titles = facts(titleOf);
  const title =
    titles.length === 0
      ? "Comparison of operators"
      : titles.length <= 3
        ? listed(titles)
        : `${titles[0]} and ${titles.length - 1} more`;
  document.title = `${title} \u2013 femcg`;
  const started = facts((record) => record.started).sort();
  const machine = (key) => facts((record) => record.machine?.[key]);
  const copies = [
    ...groupBy(
      entries.filter((entry) => entry.record.machine?.copy_bandwidth > 0),
      (entry) => deviceName(entry),
    ),
  ]
    .map(([device, own]) => [device, d3.extent(own, (entry) => entry.record.machine.copy_bandwidth)])
    .map(([device, [least, most]]) => [
      device,
      si(least, "B/s") === si(most, "B/s") ? si(most, "B/s") : `${si(least, "B/s")} to ${si(most, "B/s")}`,
    ]);
  const swept = distinct(entries.flatMap((entry) => Object.keys(entry.sweep)));
  const items = [
    [
      facts((record) => record.problem?.matrix).length ? "Matrix" : "Case",
      facts((record) => record.problem?.matrix ?? record.case),
    ],
    ["Command", facts((record) => `femcg ${record.command ?? "compare"}`)],
    [
      "Swept",
      swept.map(
        (key) =>
          `${key} (${distinct(entries.map((entry) => entry.sweep[key]).filter((value) => value !== undefined)).join(", ")})`,
      ),
    ],
    ["Started", started.length ? [dateAndTime(started[0])] : []],
    ["femcg", facts((record) => record.femcg)],
    ["Processor", machine("processor")],
    ["Threads", machine("threads")],
    ["Device", machine("device")],
    ["Copy bandwidth", copies.map(([device, speed]) => (copies.length > 1 ? `${speed} (${device})` : speed))],
  ].filter(([, values]) => values.length > 0);
  return element(
    "header",
    {},
    element("h1", {}, title),
    element("p", { class: "lead" }, outcome(entries, timed)),
    recommendations(report),
    element(
      "dl",
      { class: "facts" },
      items.map(([name, values]) => [element("dt", {}, name), element("dd", {}, values.join("; "))]),
    ),
  );
}

function outcome(entries, timed) {
  const others = [
    ...groupBy(
      entries.filter((entry) => entry.status !== "timed"),
      (entry) => entry.status,
    ),
  ];
  const words = {
    disagrees: (n) => (n === 1 ? "1 disagrees with the reference" : `${n} disagree with the reference`),
    failed: (n) => `${n} failed`,
  };
  const rest = others.map(([status, own]) =>
    (words[status] ?? ((n) => `${n} ${n === 1 ? "was" : "were"} ${status}`))(own.length),
  );
  if (entries.length === 0) return "There are no records to show.";
  if (entries.length === 2 && timed.length === 2)
    return "Both combinations of operator, precision, device and problem were timed.";
  const all =
    timed.length === entries.length
      ? timed.length === 1
        ? "The one combination"
        : `All ${count(timed.length)} combinations`
      : `${count(timed.length)} of ${plural(entries.length, "combination", "combinations")}`;
  const was = timed.length === 1 ? "was" : "were";
  return `${all} of operator, precision, device and problem ${was} timed${rest.length ? `; ${listed(rest)}` : ""}.`;
}

/// Table of the fastest operator of each problem, precision and device.
function problemTable(report) {
  const panels = [
    ...groupBy(report.entries, (entry) => JSON.stringify([entry.problem, entry.precision, entry.device])).values(),
  ];
  const rows = panels.map((panel) => {
    const timed = panel.filter((entry) => entry.status === "timed");
    const measure = measureOf(timed);
    const best = timed.length ? bestOf(timed, (entry) => measure.of(entry).value) : undefined;
    const rate = best ? measure.of(best) : undefined;
    return {
      first: panel[0],
      problem: panel[0].record.problem ?? {},
      best: rate?.value > 0 ? best : undefined,
      ties: best ? bestOfSeries(timed, (entry) => measure.of(entry).value).filter((entry) => entry !== best && tiesWith(measure.of(entry), rate)) : [],
      rate,
      measure,
    };
  });
  if (rows.length === 0) return null;
  const fact = (key) => (row) => row.problem[key];
  const matrices = rows.some((row) => row.problem.matrix !== undefined);
  return tableOf(
    [
      [
        "",
        {
          label: matrices ? "Matrix" : "Cells",
          kind: "word",
          heading: true,
          of: (row) =>
            row.problem.matrix ??
            `${count(number(row.problem.cells))} ${problemWords.cell(row.problem.cell ?? "cell")}`,
        },
        { label: "Fastest operator", kind: "word", of: (row) => row.best && [row.best, ...row.ties].map((entry) => entry.label).join(" \u2248 ") },
        {
          label: "Its rate",
          kind: "written",
          of: (row) => (row.rate?.value > 0 ? si(row.rate.value, row.measure.unit) : undefined),
        },
        {
          label: "Of its roof",
          kind: "percent",
          of: (row) => (row.rate?.roof > 0 ? row.rate.value / row.rate.roof : undefined),
        },
        ...report.problemKeys.map((key) => ({ label: key, kind: "word", of: (row) => row.first.sweep[key] })),
        { label: "Ordering", kind: "word", of: fact("ordering") },
        { label: "Degree", kind: "count", of: fact("degree") },
        { label: "Unknowns", kind: "count", of: fact("unknowns") },
        {
          label: "Right-hand sides",
          kind: "count",
          of: (row) => (report.severalSides ? row.first.rightHandSides : undefined),
        },
        { label: "Precision", kind: "word", of: (row) => row.first.precision || undefined },
        { label: "Device", kind: "word", of: (row) => deviceName(row.first) || undefined },
      ],
    ],
    rows,
    {
      caption:
        `${rows.length > 1 ? "The problems, and the fastest operator for each" : "The problem, and its fastest operator"}${rows.some((row) => row.best && row.ties.length) ? "; \u2248: a tie, within 3\u00a0% or the spread of both" : ""}`,
    },
  );
}

/// Lists the records that were not timed, with the reasons.
function statusTable(report, rows, caption) {
  return tableOf(
    [
      [
        "",
        { label: "Operator", kind: "word", heading: true, of: (entry) => entry.label },
        { label: "Status", kind: "word", of: (entry) => entry.status },
        { label: "Reason", kind: "reason", of: (entry) => entry.comparison.reason || undefined },
        { label: "Problem", kind: "word", of: (entry) => report.problemLabel(entry) || undefined },
        { label: "Precision", kind: "word", of: (entry) => entry.precision || undefined },
        { label: "Device", kind: "word", of: (entry) => deviceName(entry) || undefined },
        {
          label: "Difference",
          kind: "scientific",
          of: (entry) => (entry.status === "disagrees" ? (entry.comparison.agreement ?? undefined) : undefined),
        },
        {
          label: "Bound",
          kind: "scientific",
          of: (entry) => (entry.status === "disagrees" ? (entry.comparison.agreement_bound ?? undefined) : undefined),
        },
      ],
    ],
    rows,
    { caption },
  );
}

const troubles = ["disagrees", "failed"];

function troubleTable(report) {
  const rows = report.entries.filter((entry) => troubles.includes(entry.status));
  if (rows.length === 0) return null;
  return section(
    { id: "trouble", heading: "Failed, or not in agreement", look: "trouble" },
    statusTable(
      report,
      rows,
      "None of these appears in the plots: a wrong result has no speed. Differences are from the reference product, scaled.",
    ),
  );
}

function asideTable(report) {
  const rows = report.entries.filter((entry) => entry.status !== "timed" && !troubles.includes(entry.status));
  if (rows.length === 0) return null;
  return section(
    { id: "aside", heading: "Left out", look: "aside" },
    statusTable(report, rows, "Not timed, for the reasons given."),
  );
}

function contents(label, links) {
  return element(
    "nav",
    { "aria-label": label },
    element(
      "ul",
      {},
      links.map(({ id, text, current }) =>
        element("li", {}, element("a", { href: `#${id}`, "aria-current": current ? "page" : null }, text)),
      ),
    ),
  );
}

function section({ id, heading, look }, ...children) {
  return element(
    "section",
    { id, class: look, "aria-labelledby": `${id}-heading` },
    element("h2", { id: `${id}-heading` }, heading),
    children,
  );
}

function plotSection({ id, heading, explanation, extra, panels }) {
  return section(
    { id, heading },
    element("p", { class: "explanation" }, explanation),
    extra,
    element("div", { class: panels.length > 1 ? "panels" : "panels single" }, panels),
  );
}

function baselineTable(report) {
  const rows = report.entries
    .filter((entry) => entry.comparison.baseline_verdict !== undefined)
    .toSorted((a, b) => number(b.comparison.baseline_ratio) - number(a.comparison.baseline_ratio));
  if (rows.length === 0) return null;
  const told = (verdict) => rows.filter((entry) => entry.comparison.baseline_verdict === verdict).length;
  const changed = rows.filter((entry) => entry.comparison.baseline_verdict !== "same");
  const place = { id: "baseline", heading: "Against the baseline" };
  const table = tableOf(
    [
      [
        "",
        { label: "Operator", kind: "word", heading: true, of: (entry) => entry.label },
        { label: "Problem", kind: "word", of: (entry) => report.problemLabel(entry) || undefined },
        { label: "Precision", kind: "word", of: (entry) => entry.precision || undefined },
        { label: "Device", kind: "word", of: (entry) => deviceName(entry) || undefined },
        { label: "New over old speed", kind: "ratio", of: (entry) => entry.comparison.baseline_ratio },
        { label: "Verdict", kind: "word", of: (entry) => entry.comparison.baseline_verdict },
      ],
    ],
    changed,
    { caption: "What changed, the largest gain first; a ratio above 1 is faster than the baseline." },
  );
  return {
    ...place,
    node: section(
      place,
      element("p", {}, `${told("faster")} faster, ${told("slower")} slower, ${told("same")} the same.`),
      changed.length ? table : null,
    ),
  };
}

function numbersTable(report) {
  if (report.entries.length === 0) return null;
  const place = { id: "numbers", heading: "All numbers" };
  return {
    ...place,
    node: section(
      place,
      csvButton(numberColumns(report), report.entries, "comparison.csv"),
      tableOf(numberColumns(report), report.entries, {
        caption: "One row a record; a click on a heading sorts by it. SI units: 1 kB is 1000 bytes.",
        sortable: true,
      }),
    ),
  };
}
