// The page of a study: its results against the values of its keys, and a row a point.

const isStudy = (record) => record.command === "run" && Array.isArray(record.sweep) && Array.isArray(record.points);

function studyHeader(record) {
  const title = titleOf(record) || String(record.case ?? "Study");
  document.title = `${title} \u2013 femcg`;
  const converged = record.points.filter((point) => point.status === "converged").length;
  return element(
    "header",
    {},
    element("h1", {}, title),
    element("p", { class: "lead" }, `${count(converged)} of ${plural(record.points.length, "point", "points")} converged, in ${si(number(record.seconds?.total), "s")}.`),
  );
}

function factsOfStudy(record) {
  return {
    id: "facts",
    heading: "This study",
    parts: [factList([
      ["Keys", record.sweep.join(", ")],
      ["Case", record.case],
      ["Operators", distinct(record.points.map((point) => point.operator?.name).filter(Boolean)).join(", ")],
      ["Device", record.machine?.device],
      ["Threads", record.machine?.threads],
      ["Most memory", record.peak_memory_bytes > 0 ? si(record.peak_memory_bytes, "B") : undefined],
      ["Started", record.started ? dateAndTime(record.started) : undefined],
      ["femcg", record.femcg],
    ])],
  };
}

function studySections(record) {
  const rows = studyRows(record);
  const axis = axisOfStudy(record);
  const panels = (charts) => charts.map((chart) => studyPanel(record, rows, axis, chart)).filter(Boolean);
  return [
    chartSection("results", "Results", `What was measured, against ${axis}; what is the same at every point is in the table alone.`, panels(resultsOfStudy(rows))),
    chartSection("errors", "Errors", "Of the solution against the exact one.", panels([
      { label: "L2 error", of: (row) => row.point.error?.l2, log: true },
      { label: "H1 error", of: (row) => row.point.error?.h1, log: true },
    ])),
    changesSection(record),
    chartSection("effort", "Effort", "What each point took; those that were solved together share their time.", panels([
      { label: "Iterations", of: (row) => row.solve?.iterations },
      { label: "Wall time", of: (row) => row.point.wall_seconds, unit: "s" },
    ])),
    { id: "points", heading: "All points", parts: [studyTable(record, rows)] },
    factsOfStudy(record),
  ];
}

const chartSection = (id, heading, explanation, figures) => (figures.length === 0 ? null : { id, heading, explanation, parts: [element("div", { class: "panels" }, figures)] });

/// What changes from point to point, and, where cells become smaller, how fast.
function changesSection({ changes }) {
  const rows = (Array.isArray(changes) ? changes : []).filter(({ points, values }) => Array.isArray(points) && Array.isArray(values));
  if (rows.length === 0) return null;
  const written = (value) => (Number.isFinite(value) ? quantity(value) : undefined);
  const steps = d3.max(rows, (row) => row.values.length - 1);
  const columns = [
    { label: "Quantity", kind: "word", heading: true, of: (row) => row.quantity },
    { label: "Load", kind: "word", of: (row) => row.load },
    { label: "Points", kind: "word", of: (row) => row.points.join(", ") },
    { label: "First", kind: "written", of: (row) => written(row.values[0]) },
    ...d3.range(1, steps + 1).map((step) => ({ label: `Change ${step}`, kind: "written", of: (row) => written(row.values[step] - row.values[step - 1]) })),
    { label: "Last", kind: "written", of: (row) => written(row.values.at(-1)) },
    { label: "Rates", kind: "word", of: (row) => (row.rates ?? []).map((rate) => (Number.isFinite(rate) ? rate.toFixed(2) : "\u2013")).join(", ") || undefined },
    { label: "Limit", kind: "written", of: (row) => written(row.limit) },
  ];
  return {
    id: "changes",
    heading: "From point to point",
    explanation: "What changes by more than the solver leaves open. A rate is the p for which three values in a row are a + b h^p, h being the size of cells; the limit is a.",
    parts: [tableOf([["", ...columns]], rows, { caption: "A row for each quantity, and load.", sortable: true })],
  };
}

/// A row for each point, and for each load of it.
const studyRows = (record) => record.points.flatMap((point) => {
  const loads = Array.isArray(point.loads) && point.loads.length > 0 ? point.loads : [null];
  return loads.map((load) => ({ point, load: load?.name, solve: load ? load.solve : point.solve, quantities: load ? load.quantities : point.quantities }));
});

/// The key that charts go along: of those whose values are numbers the one with most of them, else the one with most.
function axisOfStudy({ sweep, points }) {
  const values = (key) => distinct(points.map((point) => String(point.values?.[key])));
  const isNumeric = (key) => values(key).every((value) => value.trim() !== "" && Number.isFinite(Number(value)));
  const numeric = sweep.filter(isNumeric);
  return (numeric.length ? numeric : sweep).reduce((best, key) => (values(key).length > values(best).length ? key : best));
}

/// What a study is made for: extremes, means, fluxes and probes.
function resultsOfStudy(rows) {
  const names = (of) => distinct(rows.flatMap((row) => Object.keys(of(row.quantities ?? {}) ?? {})));
  return [
    { label: "Maximum", of: (row) => row.quantities?.maximum },
    { label: "Minimum", of: (row) => row.quantities?.minimum },
    { label: "Integral", of: (row) => row.quantities?.integral },
    ...names((quantities) => quantities.probes).map((name) => ({ label: `At ${name}`, of: (row) => row.quantities?.probes?.[name] })),
    ...names((quantities) => quantities.groups).flatMap((name) => [
      { label: `Flux through ${name}`, of: (row) => row.quantities?.groups?.[name]?.flux },
      { label: `Mean on ${name}`, of: (row) => row.quantities?.groups?.[name]?.mean },
    ]),
  ];
}

/// A chart with a line for each combination of the other keys and load; none where nothing changes beyond rounding.
function studyPanel(record, rows, axis, { label, of, log = false, unit = "" }) {
  const others = record.sweep.filter((key) => key !== axis);
  const lineOf = ({ point, load }) => [...others.map((key) => `${key.split(".").at(-1)} ${point.values?.[key]}`), ...(load ? [load] : [])].join(", ") || label;
  const points = rows
    .filter((row) => row.point.status === "converged" && Number.isFinite(of(row)))
    .map((row) => ({ line: lineOf(row), x: row.point.values?.[axis], value: of(row), low: of(row), high: of(row) }))
    .map((point) => ({ ...point, text: `${axis} ${point.x}: ${unit ? si(point.value, unit) : quantity(point.value)}` }));
  const [least, most] = d3.extent(points, (point) => point.value);
  const rounding = 1e-9;
  if (points.length < 2 || !(most - least > rounding * Math.max(Math.abs(least), Math.abs(most)))) return null;
  if (distinct(points.map((point) => String(point.x))).length < 2) return null;
  const lines = distinct(points.map((point) => point.line));
  const told = lines.map((line) => `${line}: ${points.filter((point) => point.line === line).map((point) => `${quantity(point.value)} at ${point.x}`).join(", ")}`);
  const scale = log && least > 0 ? "log" : unit || label === "Iterations" ? undefined : "within";
  const yTick = unit ? (value) => tick(value, unit) : (value) => (scale === "log" ? scientific(value, 1) : quantity(value));
  return plotFigure(label, `${label} against ${axis}: ${told.join("; ")}.`, (width) => lineChart(width, points, { lookOf: (line) => lookAt(lines.indexOf(line)), xLabel: axis, yLabel: "", unit, yTick, scale }));
}

function studyTable(record, rows) {
  const groupNames = distinct(rows.flatMap((row) => Object.keys(row.quantities?.groups ?? {})));
  const probeNames = distinct(rows.flatMap((row) => Object.keys(row.quantities?.probes ?? {})));
  const written = (value) => (Number.isFinite(value) ? quantity(value) : undefined);
  const groups = [
    [
      "",
      { label: "Point", kind: "count", heading: true, of: (row) => row.point.point },
      ...record.sweep.map((key) => ({ label: key, kind: "written", of: (row) => row.point.values?.[key] })),
      { label: "Load", kind: "word", of: (row) => row.load },
      { label: "Status", kind: "word", of: (row) => row.point.status },
      { label: "Why", kind: "reason", of: (row) => row.point.failure },
    ],
    [
      "Solve",
      { label: "Operator", kind: "word", of: (row) => row.point.operator?.name },
      { label: "Unknowns", kind: "count", of: (row) => row.point.problem?.unknowns },
      { label: "Iterations", kind: "count", of: (row) => row.solve?.iterations },
      { label: "True residual", kind: "scientific", of: (row) => row.solve?.true_relative_residual },
      { label: "Wall time", kind: "s", of: (row) => row.point.wall_seconds },
    ],
    [
      "Solution",
      { label: "Minimum", kind: "written", of: (row) => written(row.quantities?.minimum) },
      { label: "Maximum", kind: "written", of: (row) => written(row.quantities?.maximum) },
      { label: "Integral", kind: "written", of: (row) => written(row.quantities?.integral) },
      ...probeNames.map((name) => ({ label: `At ${name}`, kind: "written", of: (row) => written(row.quantities?.probes?.[name]) })),
      ...groupNames.flatMap((name) => [
        { label: `Flux through ${name}`, kind: "written", of: (row) => written(row.quantities?.groups?.[name]?.flux) },
        { label: `Mean on ${name}`, kind: "written", of: (row) => written(row.quantities?.groups?.[name]?.mean) },
      ]),
    ],
    [
      "Errors",
      { label: "L2", kind: "scientific", of: (row) => row.point.error?.l2 },
      { label: "Rate", kind: "ratio", of: (row) => row.point.rate?.l2 },
      { label: "H1", kind: "scientific", of: (row) => row.point.error?.h1 },
      { label: "Rate", kind: "ratio", of: (row) => row.point.rate?.h1 },
    ],
  ];
  return tableOf(groups, rows, { caption: "One row a point, and load; a click on a heading sorts by it.", sortable: true });
}
