// Charts of rates: bars for each problem, lines over the degree and over operator options.

/// Panel of the operators of one problem, precision and device, fastest first.
function ratePanel(report, entries) {
  const measure = measureOf(entries);
  const rows = bestOfSeries(entries, (entry) => measure.of(entry).value)
    .map((entry) => ({ entry, ...measure.of(entry), ...look(report, entry.series) }))
    .sort((a, b) => b.value - a.value);
  const alike = rows.filter((row) => tiesWith(row, rows[0]));
  rows.forEach((row, index) => Object.assign(row, { index, ties: alike.length > 1 && alike.includes(row) }));
  const told = (row) => `${row.entry.label} ${si(row.value)}${row.ties ? " (tie)" : ""}`;
  const summary = `${capital(measure.words)}: ${rows.map(told).join("; ")}.`;
  return plotFigure(panelTitle(report, entries[0]), summary, (width) => rateBars(width, rows, measure));
}

/// True if a rate ties with the best, by the rule of the program's recommendation (seconds).
function tiesWith(rate, best) {
  const spread = ({ low, high }) => (low > 0 && high > 0 ? (1 / low - 1 / high) / 2 : 0);
  return rate.value > 0 && 1 / rate.value - 1 / best.value <= Math.max(0.03 / best.value, spread(rate) + spread(best));
}

const ofRoof = (row) => (row.roof > 0 ? percent(row.value / row.roof) : "");

function rateText(row, measure) {
  const lines = [row.entry.label, `${si(row.value, measure.unit)} (${si(row.low)} to ${si(row.high)})`];
  if (row.roof > 0) lines.push(`roof ${si(row.roof, measure.unit)}, ${ofRoof(row)} reached`);
  if (row.entry.solve.unknowns_per_second > 0)
    lines.push(`${si(row.entry.solve.unknowns_per_second, "unknowns/s")} in CG`);
  if (row.entry.apply.median_seconds > 0) lines.push(`a product takes ${si(row.entry.apply.median_seconds, "s")}`);
  return lines.join("\n");
}

function rateBars(width, rows, measure) {
  const narrow = width < 480; // names above the bars
  const names = narrow
    ? 0
    : widest(
        rows.map((row) => row.entry.label),
        0.4 * width,
      );
  const roofs = rows.some((row) => row.roof > 0);
  const [valueColumn, roofColumn] = [rows.some((row) => row.ties) ? 70 : 58, roofs ? 58 : 0];
  const margin = { top: 26, right: valueColumn + roofColumn + 8, bottom: 36, left: narrow ? 4 : names + 12 };
  const height = margin.top + margin.bottom + rows.length * (narrow ? 38 : 25);
  const longest = Math.max(...rows.map((row) => row.high)) || 1;
  // A roof far away would make every bar short: it is shown as an arrow at the edge.
  const end = Math.max(longest, Math.min(2.5 * longest, Math.max(...rows.map((row) => row.roof)))) * 1.02;
  const column = (text, dx, extra) => ({
    y: "index",
    text,
    frameAnchor: "right",
    textAnchor: "end",
    dx,
    fontVariant: "tabular-nums",
    ...extra,
  });
  const heading = (text, dx) =>
    Plot.text([text], { frameAnchor: "top-right", textAnchor: "end", dx, dy: -18, fillOpacity: 0.75 });
  const bar = narrow ? { insetTop: 17, insetBottom: 3 } : { insetTop: 4, insetBottom: 4 };
  const below = narrow ? { dy: 7 } : {};
  const whiskers = rows.filter((row) => row.low < row.high);
  return Plot.plot({
    ...frameOf(width, height, margin),
    x: { domain: [0, end], label: null },
    y: { type: "band", domain: rows.map((row) => row.index), padding: 0, axis: null },
    marks: [
      Plot.gridX({ ticks: Math.max(2, width / 130), strokeOpacity: 0.12 }),
      Plot.axisX({
        ticks: Math.max(2, width / 130),
        tickFormat: (value) => tick(value),
        label: capital(measure.words),
        labelArrow: "none",
        labelAnchor: "center",
        tickSize: 0,
      }),
      Plot.barX(rows, { x: "value", y: "index", fill: "colour", ...bar }),
      Plot.ruleX([0]),
      Plot.ruleY(whiskers, { x1: "low", x2: "high", y: "index", stroke: "currentColor", ...below }),
      ...["low", "high"].map((side) =>
        Plot.tickX(whiskers, { x: side, y: "index", insetTop: bar.insetTop + 4, insetBottom: bar.insetBottom + 4 }),
      ),
      Plot.tickX(
        rows.filter((row) => row.roof > 0 && row.roof <= end),
        {
          x: "roof",
          y: "index",
          strokeWidth: 3,
          className: "roof",
          insetTop: bar.insetTop - 2,
          insetBottom: bar.insetBottom - 2,
        },
      ),
      Plot.dot(
        rows.filter((row) => row.roof > end),
        {
          x: () => end,
          y: "index",
          symbol: "triangle",
          rotate: 90,
          r: 4,
          fill: "currentColor",
          className: "roof",
          ...below,
        },
      ),
      Plot.text(
        rows,
        narrow
          ? {
              x: 0,
              y: "index",
              text: (row) => fitted(row.entry.label, width - margin.right),
              textAnchor: "start",
              dy: -11,
            }
          : {
              y: "index",
              text: (row) => fitted(row.entry.label, names),
              frameAnchor: "left",
              textAnchor: "end",
              dx: -8,
            },
      ),
      Plot.text(
        rows,
        column((row) => (row.ties ? "\u2248\u00a0" : "") + si(row.value), valueColumn, below),
      ),
      heading(measure.unit, valueColumn),
      ...(roofs
        ? [
            Plot.text(rows, column(ofRoof, valueColumn + roofColumn, below)),
            heading("of roof", valueColumn + roofColumn),
          ]
        : []),
      Plot.tip(rows, Plot.pointerY({ x: "value", y: "index", title: (row) => rateText(row, measure), fontSize: 12 })),
    ],
  });
}

/// Legend of the marks on bars.
function rateKey() {
  const sample = (...marks) => {
    const svg = d3
      .create("svg:svg")
      .attr("width", 26)
      .attr("height", 16)
      .attr("aria-hidden", "true")
      .attr("stroke", "currentColor")
      .attr("fill", "none");
    for (const [d, strokeWidth] of marks) svg.append("path").attr("d", d).attr("stroke-width", strokeWidth);
    return svg.node();
  };
  return element(
    "ul",
    { class: "key" },
    element("li", {}, sample(["M3 8H23M3 4V12M23 4V12", 1]), "least to most of the repetitions"),
    element("li", {}, sample(["M13 1V15", 3]), "roof; an arrow at the edge where it lies further out"),
    element("li", {}, element("span", { class: "sign" }, "\u2248"), "a tie with the fastest: within 3\u00a0% or the spread of both"),
  );
}

function ratesSection(report) {
  const panels = [
    ...groupBy(report.timed, (entry) => JSON.stringify([entry.problem, entry.precision, entry.device])).values(),
  ].filter((panel) => panel.some((entry) => measureOf(panel).of(entry).value > 0));
  const measures = distinct(panels.map((panel) => measureOf(panel).words));
  const step =
    { true: "one step of conjugate gradients", false: "one matrix-vector product" }[
      measures.some((words) => words.startsWith("CG"))
    ] + (measures.length > 1 ? ", or through one product where no steps were timed," : "");
  const best = report.optionKeys.length
    ? ` Of each operator the best value of ${listed(report.optionKeys)} is shown.`
    : "";
  return {
    id: "rates",
    heading: capital(measures.join(" and ")),
    explanation: `How often each operator gets through ${step} in a second (longer is better), as the median of the repetitions; the roof is the most that memory allows, if only the bytes that must move were moved, at the speed of a plain copy.${best}`,
    extra: rateKey(),
    panels: panels.map((panel) => ratePanel(report, panel)),
  };
}

/// Line plots of the rate, or of another `measure`, against `xOf`, one for each group of `facet` in which `xOf` takes at
/// least two values. `lineOf` gives the line of a point; by default its operator.
function sweepPanels(report, entries, sweep) {
  const { xOf, xLabel, axisLabel = xLabel, facet, title } = sweep;
  const { lineOf = (entry) => entry.series, lookOf = (line) => look(report, line) } = sweep;
  const panels = [];
  for (const group of groupBy(entries, facet).values()) {
    if (distinct(group.map(xOf)).length < 2) continue;
    const { measure = measureOf(group) } = sweep;
    const points = [...groupBy(group, (entry) => JSON.stringify([xOf(entry), lineOf(entry)])).values()].map((same) => {
      const entry = bestOf(same, (entry) => measure.of(entry).value);
      const row = { entry, ...measure.of(entry) };
      return { ...row, line: lineOf(entry), x: xOf(entry), text: `${xLabel} ${xOf(entry)}\n${rateText(row, measure)}` };
    });
    const lines = groupBy(points, (point) => point.line);
    const told = [...lines].map(
      ([line, own]) => `${line} ${own.map((point) => `${si(point.value)} at ${point.x}`).join(", ")}`,
    );
    const labels = { xLabel: axisLabel, yLabel: capital(measure.words), unit: measure.unit };
    panels.push(
      plotFigure(title(group[0]), `${labels.yLabel} against ${xLabel}: ${told.join("; ")}.`, (width) =>
        lineChart(width, points, { lookOf, ...labels }),
      ),
    );
  }
  return panels;
}

function degreeSection(report) {
  const entries = report.timed.filter((entry) => entry.degree !== undefined);
  const label = (entry) => panelTitle(report, entry, ["degree"]);
  return {
    id: "degree",
    heading: "Performance against the polynomial degree",
    explanation:
      "A higher degree couples more unknowns within each cell: rows of the matrix grow longer, and an operator that reads less for each unknown pulls ahead (after Reguly and Giles 2012, figures 17 and 18). Axes that span much are logarithmic.",
    panels: sweepPanels(report, entries, {
      xOf: (entry) => entry.degree,
      xLabel: "degree",
      axisLabel: "Polynomial degree",
      facet: label,
      title: label,
    }),
  };
}

/// Rates against the number of right-hand sides: CG, then products.
function rightHandSidesSection(report) {
  const facet = (entry) => panelTitle(report, entry, ["right_hand_sides"]);
  const title = (measure) => (entry) => `${capital(measure.words)} \u00b7 ${facet(entry)}`;
  const timed = report.timed.filter((entry) => entry.solve.iterations_per_second > 0);
  return {
    id: "right-hand-sides",
    heading: "Performance against the number of right-hand sides",
    explanation:
      "What is read of an operator serves all right-hand sides that are multiplied at once, so that each of them costs less; what is shown is added up over them, iterations of conjugate gradients and then products alone. Entries of the vectors are not shared, and set the limit.",
    panels: [
      [timed, iterationMeasure],
      [report.timed, productMeasure],
    ].flatMap(([entries, measure]) =>
      sweepPanels(report, entries, {
        xOf: (entry) => entry.rightHandSides,
        xLabel: "right-hand sides",
        axisLabel: "Right-hand sides at once",
        facet,
        title: title(measure),
        measure,
      }),
    ),
  };
}

/// How entries that differ in an option share panels: a panel a problem with its operators as lines or, where there is
/// one operator, a panel a precision and device with the problems as lines.
function facetsOfOption(report, entries) {
  const panelOf = (problem) => (entry) => JSON.stringify([problem(entry), entry.precision, entry.device]);
  const lineOf = (entry) => headline(report, report.problemLabel(entry));
  const problems = distinct(entries.map(lineOf));
  if (distinct(entries.map((entry) => entry.series)).length > 1 || problems.length < 2)
    return { facet: panelOf((entry) => entry.problem), title: (entry) => panelTitle(report, entry) };
  const fixed = Object.entries(entries[0].options).filter(
    ([key, value]) => !report.optionKeys.includes(key) && entries.every((entry) => entry.options[key] === value),
  );
  const name = [entries[0].operator, ...fixed.map(([key, value]) => `${key} ${value}`)].join(", ");
  return {
    facet: panelOf((entry) => entry.series),
    title: (entry) => `${name} \u00b7 ${runTitle(entry)}`,
    lineOf,
    lookOf: (line) => lookAt(problems.indexOf(line)),
  };
}

/// One section a swept key: an operator's option, such as the threads that share a row, or a key of the case.
function sweepSections(report) {
  const sections = report.optionKeys.map((key, index) => {
    const entries = report.timed.filter((entry) => key in entry.options);
    return {
      id: `sweep-${index}`,
      heading: `Performance against ${key}`,
      explanation: `The same product with different values of the option ${key}, for the operators that have it: the top of each line is the value to choose for that problem (after Reguly and Giles 2012, figures 4 to 6).`,
      panels: sweepPanels(report, entries, {
        xOf: (entry) => entry.options[key],
        xLabel: key,
        ...facetsOfOption(report, entries),
      }),
    };
  });
  for (const key of report.problemKeys) {
    const label = (entry) => panelTitle(report, entry, [`sweep ${key}`]);
    sections.push({
      id: `sweep-problem-${report.problemKeys.indexOf(key)}`,
      heading: `Performance against ${key}`,
      explanation: `The same operators on problems that differ in ${key}.`,
      panels: sweepPanels(
        report,
        report.timed.filter((entry) => key in entry.sweep),
        { xOf: (entry) => entry.sweep[key], xLabel: key, facet: label, title: label },
      ),
    });
  }
  return sections;
}
