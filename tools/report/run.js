// The page of runs: of one all that its record has, of several a table and how they scale; studies are on it too.

const isRun = (record) => record.command === "run" && record.comparison === undefined && record.points === undefined;

/// A number as a quantity is read: as many digits as matter.
const quantity = (value) =>
  !Number.isFinite(value) ? undefined : value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e7) ? scientific(value, 6) : minus(String(Number(value.toPrecision(7))));
const rowsOf = (map) => Object.entries(map ?? {}).map(([name, own]) => ({ name, ...own }));
const processesOf = (record) => (Array.isArray(record.processes) ? record.processes.length : 1) || 1;
const rateOf = (record) => number(record.solve?.iterations_per_second);

function showRuns(records) {
  const main = document.getElementById("report");
  drawings.length = 0;
  const runs = records.filter(isRun);
  const studies = records.filter(isStudy);
  const several = records.length > 1;
  const sections = [
    ...(runs.length === 1 && !several ? runSections(runs[0]) : runs.length ? severalRunsSections(runs) : []),
    ...studies.flatMap((study, index) =>
      studySections(study).map((part) => part && (several ? { ...part, id: `${part.id}-${index + 1}`, heading: `${titleOf(study) || study.case}: ${part.heading.toLowerCase()}` } : part)),
    ),
  ].filter((section) => section);
  main.replaceChildren(
    several ? severalRunsHeader(records) : runs.length ? runHeader(records[0]) : studyHeader(records[0]),
    contents("Contents", sections.map(({ id, heading }) => ({ id, text: heading }))),
    ...sections.map(({ id, heading, explanation, parts }) =>
      section({ id, heading }, explanation ? element("p", { class: "explanation" }, explanation) : null, parts),
    ),
  );
  drawAll();
}

const factList = (items) =>
  element(
    "dl",
    { class: "facts" },
    items.filter(([, value]) => value !== undefined && value !== "").map(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]),
  );

function howItEnded({ solve = {} }) {
  const ended = solve.reason === "converged" ? "Converged" : `Not converged (${String(solve.reason ?? "?").replaceAll("_", " ")})`;
  return `${ended} after ${plural(number(solve.iterations), "iteration", "iterations")}, true residual ${scientific(number(solve.true_relative_residual))}.`;
}

function problemWordsOf({ problem = {} }) {
  const cells = `${count(number(problem.cells))} ${problemWords.cell(problem.cell ?? "cell")} of degree ${problem.degree}`;
  return `${cells}, ${plural(number(problem.unknowns), "unknown", "unknowns")}`;
}

function runHeader(record) {
  const title = titleOf(record) || String(record.case ?? "Run");
  document.title = `${title} \u2013 femcg`;
  return element(
    "header",
    {},
    element("h1", {}, title),
    element("p", { class: "lead" }, `${problemWordsOf(record)}. ${howItEnded(record)}`),
  );
}

function factsSection(record) {
  const { operator = {}, machine = {}, solve = {}, seconds = {} } = record;
  const options = optionText(operator.options ?? {});
  return {
    id: "facts",
    heading: "This run",
    parts: [factList([
      ["Case", record.case],
      ["Operator", `${operator.name}${options ? ` (${options})` : ""}, ${operator.precision} precision, ${si(number(operator.stored_bytes), "B")}`],
      ["Why it", operator.why],
      ["Preconditioner", solve.preconditioner],
      ["Speed", `${si(rateOf(record), "iterations/s")}, ${si(number(solve.unknowns_per_second), "unknowns/s")}`],
      ["Time in all", seconds.total > 0 ? si(seconds.total, "s") : undefined],
      ["Most memory", record.peak_memory_bytes > 0 ? si(record.peak_memory_bytes, "B") : undefined],
      ["Device", machine.device],
      ["Threads", processesOf(record) > 1 ? `${machine.threads} of each of ${processesOf(record)} processes` : machine.threads],
      ["Started", record.started ? dateAndTime(record.started) : undefined],
      ["femcg", record.femcg],
    ])],
  };
}

function runSections(record) {
  const label = record.solution?.name ?? "u";
  const unit = record.solution?.unit ? ` in ${record.solution.unit}` : "";
  return [
    solutionSection(record, label + unit),
    pictureSection(record, label),
    convergenceSection(record),
    timesSection(record),
    factsSection(record),
    tuningSection([record]),
    processSection(record),
    remarksSection(record),
  ];
}

function pictureSection({ picture }, label) {
  if (typeof picture !== "string" || !picture.startsWith("data:image/png;base64,")) return null;
  return { id: "picture", heading: "Picture", parts: [element("img", { src: picture, alt: `${label} on the surface` })] };
}

/// Residuals against iterations, on a logarithmic axis; every line has its name at its end.
function convergenceSection({ history, solve = {} }) {
  const lines = (Array.isArray(history) ? history : [])
    .map(({ name, points }) => ({ name: name || "residual", points: (points ?? []).filter(([, residual]) => residual > 0) }))
    .filter(({ points }) => points.length > 1)
    .map((line, index) => ({ ...line, ...lookAt(index), last: line.points.at(-1) }));
  if (lines.length === 0) return null;
  const told = lines.map(({ name, points, last }) => `${name} from ${scientific(points[0][1])} to ${scientific(last[1])} in ${plural(last[0], "iteration", "iterations")}`);
  return {
    id: "convergence",
    heading: "Convergence",
    explanation: `The residual that conjugate gradients have, over the load${solve.preconditioner && solve.preconditioner !== "none" ? `, with the preconditioner ${solve.preconditioner}` : ""}.`,
    parts: [element("div", { class: "panels single" }, plotFigure(lines.length > 1 ? "Each load" : "Relative residual", `Relative residual: ${told.join("; ")}.`, (width) => residualChart(width, lines)))],
  };
}

const byIteration = { of: (point) => point[0], label: "Iteration" };
const bySeconds = { of: (point) => point[2], label: "Seconds" };

function residualChart(width, lines, across = byIteration) {
  const named = lines.length > 1;
  const names = named ? widest(lines.map((line) => line.name), Math.min(150, 0.3 * width)) : 0;
  const margin = { top: 24, right: named ? names + 30 : 12, bottom: 40, left: 56 };
  const height = Math.max(Math.min(420, Math.max(260, 0.55 * width)), margin.top + margin.bottom + 16 * lines.length);
  const residuals = lines.flatMap(({ points }) => points.map(([, residual]) => residual));
  const domain = [d3.min(residuals) / 1.5, d3.max(residuals) * 1.5];
  const decades = logTicks([domain[0], Math.max(domain[1], 1e4 * domain[0])]).filter((value) => value <= domain[1] && Number.isInteger(Math.round(Math.log10(value) * 1e6) / 1e6));
  const every = Math.ceil(decades.length / 8);
  const ticks = decades.filter((value) => Math.round(Math.log10(value)) % every === 0);
  const y = d3.scaleLog().domain(domain).range([height - margin.bottom, margin.top]);
  const byHeight = lines.toSorted((a, b) => y(a.last[1]) - y(b.last[1]));
  keptApart(byHeight.map((line) => y(line.last[1])), 14, margin.top, height - margin.bottom).forEach((place, index) => (byHeight[index].place = place));
  const all = lines.flatMap(({ name, points }) => points.map((point) => ({ name, iteration: point[0], residual: point[1], seconds: point[2], across: across.of(point) })));
  return Plot.plot({
    ...frameOf(width, height, margin),
    x: { label: null, domain: [0, d3.max(all, (point) => point.across)] },
    y: { type: "log", domain, label: null },
    marks: [
      Plot.gridY(ticks, { strokeOpacity: 0.12 }),
      Plot.axisY(ticks, { text: (value) => `10${scientific(value, 1).split("10")[1]}`, label: "Relative residual", labelArrow: "none", tickSize: 0 }),
      Plot.axisX({ ticks: Math.max(2, width / 110), label: across.label, labelArrow: "none", labelAnchor: "center" }),
      ...lines.map((line) => Plot.lineY(line.points, { x: across.of, y: (point) => point[1], stroke: line.colour, strokeWidth: 1.5, strokeDasharray: line.dashes })),
      ...(named ? [endLabels(lines, across.of, margin.right, names, (line) => y(line.last[1]))] : []),
      Plot.tip(all, Plot.pointer({ x: "across", y: "residual", title: (point) => `${named ? `${point.name}\n` : ""}iteration ${count(point.iteration)}: ${scientific(point.residual, 3)}\nafter ${si(number(point.seconds), "s")}`, fontSize: 12 })),
    ],
  });
}

/// Every step with a bar; those under half a percent share one.
function timesSection({ seconds = {} }) {
  const steps = (Array.isArray(seconds.steps) ? seconds.steps : []).map(({ step, device, seconds: own }) => ({ step: String(step), device, seconds: number(own) }));
  const all = d3.sum(steps, (row) => row.seconds);
  if (!(all > 0)) return null;
  const shown = steps.filter((row) => row.seconds >= 0.005 * all);
  const rest = all - d3.sum(shown, (row) => row.seconds);
  if (rest > 0) shown.push({ step: "other steps", seconds: rest });
  const longest = d3.max(shown, (row) => row.seconds);
  const bar = (row) => element("span", { class: "bar", style: `width:${((100 * row.seconds) / longest).toFixed(1)}%` });
  const table = element(
    "table",
    { class: "times" },
    element("caption", {}, `From the start of the program to its results: ${si(all, "s")} in all.`),
    element("thead", {}, element("tr", {}, ["Step", "On", "Time", "Share", ""].map((text, index) => element(text ? "th" : "td", { scope: text ? "col" : null, class: index > 1 && text ? "number" : null }, text)))),
    element(
      "tbody",
      {},
      shown.map((row) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, row.step),
          element("td", {}, row.device ?? ""),
          element("td", { class: "number" }, si(row.seconds, "s")),
          element("td", { class: "number" }, percent(row.seconds / all)),
          element("td", { class: "bars", "aria-hidden": "true" }, bar(row)),
        ),
      ),
    ),
  );
  return { id: "times", heading: "Where the time went", parts: [element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Where the time went" }, table)] };
}

const column = (label, of) => ({ label, kind: "written", of: (row) => quantity(of(row)) });
const flux = (value) => (Number.isFinite(value) ? `${quantity(Math.abs(value))}${value > 0 ? " in" : value < 0 ? " out" : ""}` : undefined);

function solutionSection(record, label) {
  const loads = (Array.isArray(record.loads) ? record.loads : [{ name: "", quantities: record.quantities, solve: record.solve }]).filter((load) => load.quantities);
  if (loads.length === 0) return null;
  const several = loads.length > 1 || loads[0].name;
  const loadColumn = several ? [{ label: "Load", kind: "word", heading: true, of: (row) => row.load }] : [];
  const table = (caption, columns, rows) => (rows.length ? tableOf([["", ...loadColumn, ...columns]], rows, { caption }) : null);
  const named = (label) => ({ label, kind: "word", heading: !several, of: (row) => row.name });
  const of = (key) => loads.flatMap((load) => rowsOf(load.quantities[key]).map((row) => ({ ...row, load: load.name })));
  const plane = record.problem?.dimension === 2 && record.problem.geometry !== "axisymmetric";
  const own = loads.map((load) => ({ ...load.quantities, load: load.name, solve: load.solve ?? {} }));
  const error = record.error ?? {};
  const terminals = (record.terminals?.names ?? []).map((name, i) => ({ name, values: record.terminals.matrix?.[i] ?? [] }));
  return {
    id: "solution",
    heading: several ? "Solutions" : "Quantities",
    explanation: "Fluxes are integrals of diffusion du/dn: what flows in through a group, or out of it.",
    parts: [
      table(label, [column("Minimum", (row) => row.minimum), column("Maximum", (row) => row.maximum), column("Integral", (row) => row.integral), ...(several ? [{ label: "Iterations", kind: "count", of: (row) => row.solve.iterations }] : [])], own),
      table("Probes", [named("Point"), column("Value", (row) => row.value)], loads.flatMap((load) => Object.entries(load.quantities.probes ?? {}).map(([name, value]) => ({ name, value, load: load.name })))),
      table("Groups of the boundary", [named("Group"), column(plane ? "Length" : "Area", (row) => row.area), column("Mean", (row) => row.mean), column("Minimum", (row) => row.minimum), column("Maximum", (row) => row.maximum), { label: "Flux", kind: "written", of: (row) => flux(row.flux) }], of("groups")),
      table("Regions", [named("Region"), column(plane ? "Area" : "Volume", (row) => row.volume), column("Mean", (row) => row.mean)], of("regions")),
      terminals.length ? tableOf([["", { label: "Terminal", kind: "word", heading: true, of: (row) => row.name }, ...terminals.map((row, j) => column(row.name, (other) => other.values[j]))]], terminals, { caption: "Terminals: flux into each, with that of the column at 1 and the others at 0" }) : null,
      table("Balance: in + sources \u2212 out \u2212 sinks", [...["in", "sources", "out", "sinks"].map((key) => column(capital(key), (row) => row.balance?.[key])), { label: "Relative imbalance", kind: "scientific", of: (row) => row.balance?.relative_error }], own),
      Number.isFinite(error.l2) ? element("p", { class: "errors" }, `Error against the exact solution: ${scientific(error.l2, 4)} in L2, ${scientific(number(error.h1), 4)} in H1.`) : null,
    ],
  };
}

function processSection(record) {
  if (processesOf(record) < 2) return null;
  const { distribution = {} } = record;
  const seconds = (key) => (row) => (row.seconds?.[key] > 0 ? row.seconds[key] : undefined);
  return {
    id: "processes",
    heading: "Processes",
    explanation: `Partition ${distribution.partition}, mode ${distribution.mode}; imbalance ${significant(number(distribution.imbalance))}, ${percent(number(distribution.waiting_fraction))} of the products' time waited for others.`,
    parts: [
      tableOf([["", { label: "Process", kind: "count", heading: true, of: (row) => row.rank }, ...["cells", "unknowns", "ghosts", "neighbours", "messages"].map((key) => ({ label: capital(key), kind: "count", of: (row) => row[key] })), { label: "Sent", kind: "B", of: (row) => row.sent_bytes }, { label: "Multiplying", kind: "s", of: seconds("multiplying") }, { label: "Waiting", kind: "s", of: seconds("waiting") }]], record.processes, { caption: "What each process had and did" }),
    ],
  };
}

function remarksSection({ remarks }) {
  if (!Array.isArray(remarks) || remarks.length === 0) return null;
  return { id: "remarks", heading: "Notes", parts: [element("ul", {}, remarks.map((remark) => element("li", {}, String(remark))))] };
}

// --- Several runs ---------------------------------------------------------------------------------------------------

const runsInWords = (runs) => `${plural(runs.length, "run", "runs")}${runs.length > 1 ? `, ${plural(distinct(runs.map(processesOf)).length, "number", "numbers")} of processes` : ""}`;

function severalRunsHeader(records) {
  const titles = distinct(records.map((record) => titleOf(record) || String(record.case ?? "")));
  const title = titles.length === 1 ? titles[0] : `${count(records.length)} runs`;
  document.title = `${title} \u2013 femcg`;
  return element("header", {}, element("h1", {}, title), element("p", { class: "lead" }, listed([runsInWords(records.filter(isRun)), plural(records.filter(isStudy).length, "study", "studies")].filter((words) => words && !words.startsWith("0 "))) + "."));
}

function severalRunsSections(records) {
  return [...scalingSections(records), tuningSection(records), {
    id: "numbers",
    heading: "All runs",
    parts: [
      tableOf(
        [["", { label: "Run", kind: "word", heading: true, of: (record) => titleOf(record) || String(record.case ?? "?") }, { label: "Operator", kind: "word", of: (record) => record.operator?.name }, { label: "Device", kind: "word", of: (record) => record.machine?.device }, { label: "Processes", kind: "count", of: processesOf }, { label: "Threads", kind: "count", of: (record) => record.machine?.threads }, { label: "Degree", kind: "count", of: (record) => record.problem?.degree }, { label: "Unknowns", kind: "count", of: (record) => record.problem?.unknowns }, { label: "Iterations", kind: "count", of: (record) => record.solve?.iterations }, { label: "Iterations a second", kind: "1/s", of: (record) => rateOf(record) || undefined }, { label: "Solve", kind: "s", of: (record) => record.seconds?.solve }, { label: "In all", kind: "s", of: (record) => record.seconds?.total }, { label: "Imbalance", kind: "ratio", of: (record) => record.distribution?.imbalance }, { label: "Waiting", kind: "percent", of: (record) => record.distribution?.waiting_fraction }]],
        records,
        { caption: "One row a run; a click on a heading sorts by it.", sortable: true },
      ),
    ],
  }];
}

/// Runs of one problem on several numbers of processes; and of problems that grow with their number, each process having
/// as many unknowns, within 15%. The fastest of runs alike counts.
function scalingSections(records) {
  const runs = records.filter((record) => rateOf(record) > 0 && record.problem?.unknowns > 0).map((record) => ({ record, processes: processesOf(record), rate: rateOf(record), unknowns: record.problem.unknowns, operator: String(record.operator?.name) }));
  const setting = ({ record, operator }) => [operator, record.operator?.precision, record.operator?.device, record.machine?.threads, record.problem.degree, record.problem.cell, record.solve?.preconditioner];
  const strong = scalingLines([...groupBy(runs, (run) => JSON.stringify([...setting(run), run.record.case, run.unknowns])).values()], (run) => `${run.operator}, ${si(run.unknowns)}`, (run) => run.rate / run.processes);
  const weakGroups = [...groupBy(runs, (run) => JSON.stringify([...setting(run), run.record.case])).values()].flatMap((own) => {
    const sorted = own.toSorted((a, b) => a.unknowns / a.processes - b.unknowns / b.processes);
    const parts = [];
    for (const run of sorted) {
      const part = parts.at(-1);
      if (part && run.unknowns / run.processes <= 1.15 * (part[0].unknowns / part[0].processes)) part.push(run);
      else parts.push([run]);
    }
    return parts.filter((part) => distinct(part.map((run) => run.unknowns)).length > 1);
  });
  const weak = scalingLines(weakGroups, (run) => `${run.operator}, ${si(run.unknowns / run.processes)} each`, (run) => (run.rate * run.unknowns) / run.processes);
  return [
    scalingSection("strong-scaling", "Strong scaling", "One problem on more and more processes: the iterations a second that each process adds, over those of the fewest processes; 100\u00a0% is ideal.", strong),
    scalingSection("weak-scaling", "Weak scaling", "Problems that grow with the number of processes: the unknowns times iterations a second of each process, over those of the fewest processes; 100\u00a0% is ideal.", weak),
  ];
}

/// Points of an efficiency for each group that has two numbers of processes at least.
function scalingLines(groups, nameOf, achieved) {
  const taken = new Map();
  return groups.flatMap((own) => {
    const best = [...groupBy(own, (run) => run.processes).values()].map((same) => bestOf(same, achieved)).sort((a, b) => a.processes - b.processes);
    if (best.length < 2) return [];
    const name = nameOf(best[0]);
    taken.set(name, (taken.get(name) ?? 0) + 1);
    const line = taken.get(name) > 1 ? `${name} (${taken.get(name)})` : name;
    return best.map((run) => {
      const value = achieved(run) / achieved(best[0]);
      return { line, operator: run.operator, x: run.processes, value, low: value, high: value, text: `${plural(run.processes, "process", "processes")}, ${plural(run.unknowns, "unknown", "unknowns")}\n${si(run.rate, "iterations/s")}, efficiency ${percent(value)}` };
    });
  });
}

function scalingSection(id, heading, explanation, points) {
  if (points.length === 0) return null;
  const lines = distinct(points.map((point) => point.line));
  const operators = new Map(points.map((point) => [point.line, point.operator]));
  const lookOf = (line) => ({ ...lookAt(placeOfOperator(operators.get(line))), symbol: symbols[lines.indexOf(line) % symbols.length] });
  const told = lines.map((line) => `${line} ${points.filter((point) => point.line === line).map((point) => `${percent(point.value)} at ${point.x}`).join(", ")}`);
  return { id, heading, explanation, parts: [element("div", { class: "panels single" }, plotFigure("Efficiency", `Efficiency against processes: ${told.join("; ")}.`, (width) => lineChart(width, points, { lookOf, xLabel: "Processes", yLabel: "Efficiency", unit: "", yTick: percent })))] };
}

/// What tuning had after each product, of the fastest that it found (Reguly & Giles 2012, section 6).
function tuningSection(records) {
  const tuned = records.filter((record) => Array.isArray(record.tuning?.fraction) && record.tuning.fraction.filter(Number.isFinite).length > 1);
  if (tuned.length === 0) return null;
  const name = (record) => `${record.operator?.name}${records.length > 1 ? `, ${titleOf(record) || record.case}` : ""}`;
  const points = tuned.flatMap((record, index) => record.tuning.fraction.map((value, product) => ({ line: tuned.findIndex((other) => name(other) === name(record)) === index ? name(record) : `${name(record)} (${index + 1})`, operator: String(record.operator?.name), x: product + 1, value: number(value), low: number(value), high: number(value), text: `after product ${product + 1}: ${percent(number(value))} of the fastest found` })));
  const operators = new Map(points.map((point) => [point.line, point.operator]));
  const ends = distinct(points.map((point) => point.line)).map((line) => `${line} ${points.filter((point) => point.line === line).map((point) => percent(point.value)).join(", ")}`);
  return {
    id: "tuning",
    heading: "Tuning",
    explanation: "The speed of the fastest setting that was found until a product, as a fraction of the fastest that was found at all (after Reguly and Giles 2012, section 6).",
    parts: [
      element("div", { class: "panels single" }, plotFigure("Fraction of the optimum against products", `Fraction of the optimum after each product: ${ends.join("; ")}.`, (width) => lineChart(width, points, { lookOf: (line) => lookAt(placeOfOperator(operators.get(line))), xLabel: "Products", yLabel: "Of the fastest found", unit: "", yTick: percent }))),
      ...(records.length === 1 ? [element("p", {}, String(tuned[0].tuning.why ?? ""))] : []),
    ],
  };
}
