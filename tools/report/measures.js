// Charts that explain the rates: bandwidth, memory, padding, row lengths, cost of conversions.

/// Bar charts of the entries `shown`, a row for each operator and a column for each problem, one chart for each precision
/// and device. `measure`: {valueOf(entry), format, domain(values), log, empty}.
function gridPanels(report, shown, measure) {
  const panels = [];
  for (const entries of groupBy(shown, (entry) => JSON.stringify([entry.precision, entry.device])).values()) {
    const rate = measureOf(entries);
    const cells = [...groupBy(entries, (entry) => entry.problem).values()]
      .flatMap((same) => bestOfSeries(same, (entry) => rate.of(entry).value))
      .map((entry) => ({
        entry,
        series: entry.series,
        problem: report.problemLabel(entry),
        value: measure.valueOf(entry),
        ...look(report, entry.series),
      }))
      .filter((cell) => cell.value !== undefined);
    if (!cells.some((cell) => cell.value !== null) || (!measure.log && cells.every((cell) => !cell.value))) continue;
    // A column that says "never" throughout is one sentence below.
    const own = groupBy(cells, (cell) => cell.problem);
    const empty = [...own].filter(([, column]) => column.every((cell) => cell.value === null)).map(([problem]) => problem);
    const height = (cell) => cell.value ?? Infinity;
    const rows = [...groupBy(cells, (cell) => cell.series)]
      .sort(([, a], [, b]) => measure.order * (d3.min(a, height) - d3.min(b, height)) || 0)
      .map(([series]) => series);
    const problems = [...own.keys()].filter((problem) => !empty.includes(problem));
    const note = empty.length ? `${capital(measure.empty)} for any operator: ${listed(empty)}.` : undefined;
    const told = rows.map(
      (series) =>
        `${series} ${cells
          .filter((cell) => cell.series === series)
          .map((cell) => cellText(cell, measure))
          .join(", ")}`,
    );
    const title = capital(runTitle(entries[0]));
    const summary = `${measure.words}${problems.length > 1 ? `, for ${listed(problems)}` : ""}: ${told.join("; ")}.`;
    panels.push(plotFigure(title, summary, (width) => gridCharts(width, cells, rows, problems, measure), note));
  }
  return panels;
}

const cellText = (cell, measure) => (cell.value === null ? measure.empty : measure.format(cell.value));

/// Splits columns into several charts where they do not fit side by side.
function gridCharts(width, cells, rows, problems, measure) {
  const names = widest(rows, 0.36 * width);
  const room = Math.max(1, Math.floor((width - names - 20) / 140));
  const charts = Math.ceil(problems.length / room);
  const share = Math.ceil(problems.length / charts);
  const values = cells.map((cell) => cell.value).filter((value) => value !== null);
  return d3.range(charts).map((index) => {
    const shown = problems.slice(index * share, (index + 1) * share);
    return gridChart(
      width,
      cells.filter((cell) => shown.includes(cell.problem)),
      rows,
      shown,
      names,
      measure,
      values,
    );
  });
}

function gridChart(width, cells, rows, problems, names, measure, values) {
  const headed = problems.length > 1 || problems[0] !== "";
  const margin = { top: headed ? 30 : 8, right: 4, bottom: 40, left: names + 12 };
  const column = (width - names - 24) / problems.length;
  // Room for the numbers behind the bars.
  const spare = Math.min(
    0.6,
    (widest(
      cells.map((cell) => cellText(cell, measure)),
      90,
    ) +
      10) /
      column,
  );
  const domain = measure.domain(values);
  const place = measure.log ? d3.scaleLog(domain, [0, 1]) : d3.scaleLinear(domain, [0, 1]);
  const x = measure.log
    ? { type: "log", domain: [domain[0], place.invert(1 / (1 - spare))] }
    : { domain: [domain[0], place.invert(1 / (1 - spare))] };
  const shared = { fx: "problem", y: "series" };
  const filled = cells.filter((cell) => cell.value !== null);
  const inside = (cell) => Math.max(domain[0], cell.value);
  const ticks = place
    .ticks(Math.max(2, Math.min(5, Math.floor((column * (1 - spare)) / 55))))
    .filter((tick) => !measure.log || Number.isInteger(Math.log10(tick)));
  return Plot.plot({
    ...frameOf(width, margin.top + margin.bottom + rows.length * 22, margin),
    x: { ...x, label: null },
    y: { type: "band", domain: rows, padding: 0.25, label: null },
    fx: { domain: problems, padding: 0.06, label: null, axis: null },
    marks: [
      Plot.gridX(ticks, { strokeOpacity: 0.12 }),
      Plot.axisX(ticks, {
        text: measure.tick ?? measure.format,
        tickSize: 0,
        label: measure.words,
        labelArrow: "none",
        labelAnchor: "center",
      }),
      headed ? Plot.axisFx({ anchor: "top", tickFormat: (problem) => fitted(problem, column - 6) }) : null,
      Plot.axisY({ tickSize: 0, tickFormat: (series) => fitted(series, names) }),
      measure.log
        ? [
            Plot.ruleY(filled, { ...shared, x1: () => domain[0], x2: inside, stroke: "colour", strokeWidth: 2 }),
            Plot.dot(filled, { ...shared, x: inside, fill: "colour", r: 5 }),
          ]
        : [Plot.barX(filled, { ...shared, x: "value", fill: "colour" }), Plot.ruleX([0])],
      measure.reference ? Plot.ruleX([measure.reference], { stroke: "currentColor", strokeDasharray: "3 3" }) : null,
      Plot.text(filled, {
        ...shared,
        x: (cell) => Math.max(measure.log ? domain[0] : 0, cell.value),
        text: (cell) => measure.format(cell.value),
        textAnchor: "start",
        dx: measure.log ? 9 : 5,
        fill: "currentColor",
        stroke: "var(--plot-background)",
        strokeWidth: 4,
      }),
      Plot.text(
        cells.filter((cell) => cell.value === null),
        { ...shared, text: () => measure.empty, frameAnchor: "left", dx: 5, fillOpacity: 0.75 },
      ),
    ],
  });
}

const positive = (value) => (value > 0 ? value : undefined);
const fromZero = (values) => [Math.min(0, ...values), Math.max(...values) || 1];

function bandwidthSection(report) {
  return {
    id: "bandwidth",
    heading: "Fraction of the memory bandwidth",
    explanation:
      "The bytes that a product must move at the least, over the time that it takes, against the speed of a plain copy on the same machine: near 100\u00a0% memory is the limit and only fewer bytes can help; more than that means that caches hold part of the data.",
    panels: gridPanels(report, report.timed, {
      words: "Share of the copy bandwidth",
      order: -1,
      format: percent,
      reference: 1,
      valueOf: (entry) => positive(entry.apply.bandwidth_fraction),
      domain: (values) => [0, Math.max(1, ...values)],
    }),
  };
}

function memorySection(report) {
  return {
    id: "memory",
    heading: "Memory for each unknown",
    explanation:
      "The bytes that an operator keeps, over the number of unknowns: what limits the size of a problem, and for most operators what a product has to read.",
    panels: gridPanels(report, report.once(report.timed), {
      words: "Stored bytes for each unknown",
      order: 1,
      format: (value) => si(value, "B"),
      tick: (value) => tick(value, "B"),
      domain: fromZero,
      valueOf: (entry) =>
        entry.unknowns > 0 ? positive(number(entry.record.operator?.stored_bytes) / entry.unknowns) : undefined,
    }),
  };
}

function reductionSection(report) {
  return {
    id: "reduction",
    heading: "Data reduction against ELLPACK",
    explanation:
      "The part of ELLPACK's memory that a format for assembled matrices does without, since it pads its rows less (Kreutzer et al. 2012); below zero it needs more.",
    panels: gridPanels(report, report.once(report.timed), {
      words: "Memory saved",
      order: -1,
      format: percent,
      domain: (values) => [Math.min(0, ...values), Math.max(0.01, ...values)],
      valueOf: (entry) =>
        Number.isFinite(entry.record.operator?.data_reduction) ? entry.record.operator.data_reduction : undefined,
    }),
  };
}

function breakEvenSection(report) {
  return {
    id: "break-even",
    heading: "Iterations until a conversion has paid for itself",
    explanation:
      "How many CG iterations it takes until the time for converting the matrix from csr is won back by faster products; never means that the operator is not faster than csr, or is not made from it.",
    panels: gridPanels(report, report.once(report.timed), {
      words: "CG iterations",
      order: 1,
      log: true,
      empty: "never",
      format: (value) => count(Math.ceil(value)),
      tick: (value) => tick(value),
      domain: (values) => {
        const least = 10 ** Math.floor(Math.log10(Math.max(1, Math.min(...values))));
        return [least, Math.max(10 * least, ...values)];
      },
      valueOf: ({ operator, comparison }) =>
        operator === "csr" || comparison.break_even_iterations === undefined
          ? undefined
          : comparison.break_even_iterations,
    }),
  };
}

/// Histogram of row lengths. The count is logarithmic, since a few long rows determine the padding.
function rowLengthSection(report) {
  const seen = new Map();
  for (const entry of report.once(report.entries))
    if (entry.record.matrix?.row_lengths?.histogram?.length && !seen.has(entry.problem)) seen.set(entry.problem, entry);
  const panels = [...seen.values()].map((entry) => {
    const { bandwidth, bandwidth_before: before, nonzeros, row_lengths: lengths } = entry.record.matrix;
    const bins = lengths.histogram.filter(([, rows]) => rows > 0).map(([length, rows]) => ({ length, rows }));
    const words = [
      `rows of ${count(lengths.minimum)} to ${plural(lengths.maximum, "nonzero", "nonzeros")}, ${significant(lengths.mean)} \u00b1 ${significant(lengths.deviation)} on average`,
      nonzeros > 0 ? `${plural(nonzeros, "nonzero", "nonzeros")} in all` : null,
      bandwidth !== undefined
        ? `bandwidth ${count(bandwidth)}${before !== undefined ? ` (${count(before)} before it was reordered)` : ""}`
        : null,
    ].filter((part) => part);
    const title =
      headline(report, report.problemLabel(entry)) ||
      entry.record.problem?.matrix ||
      entry.record.title ||
      "The matrix";
    return plotFigure(
      String(title),
      `Histogram of the row lengths: ${words.join("; ")}.`,
      (width) => rowLengthBars(width, bins),
      `${capital(words.join("; "))}.`,
    );
  });
  return {
    id: "row-lengths",
    heading: "Lengths of the rows",
    explanation:
      "How many rows of the matrix have how many nonzeros, with the count on a logarithmic axis (after Kreutzer et al. 2012, figure 3): formats that pad rows to a common length pay for every row shorter than its neighbours.",
    panels,
  };
}

function rowLengthBars(width, bins) {
  const [least, most] = d3.extent(bins, (bin) => bin.length);
  const margin = { top: 24, right: 8, bottom: 38, left: 46 };
  const step = (width - margin.left - margin.right) / (most - least + 1);
  const floor = 0.7; // below one row, so that a single row is seen
  return Plot.plot({
    ...frameOf(width, 250, margin),
    x: { domain: [least - 0.5, most + 0.5], label: null },
    y: { type: "log", domain: [floor, Math.max(10, d3.max(bins, (bin) => bin.rows) * 1.2)], label: null },
    marks: [
      Plot.gridY({ ticks: 5, strokeOpacity: 0.12 }),
      Plot.axisY({
        ticks: 5,
        text: (value) => (Number.isInteger(Math.log10(value)) ? tick(value) : ""),
        tickSize: 0,
        label: "Rows",
        labelArrow: "none",
      }),
      Plot.axisX({
        ticks: Math.min(most - least + 1, width / 60),
        tickFormat: (value) => (Number.isInteger(value) ? count(value) : ""),
        label: "Nonzeros in the row",
        labelArrow: "none",
        labelAnchor: "center",
      }),
      // A bar stays visible however many lengths there are.
      Plot.rect(bins, {
        x1: (bin) => bin.length - Math.max(0.45, 0.75 / step),
        x2: (bin) => bin.length + Math.max(0.45, 0.75 / step),
        y1: () => floor,
        y2: "rows",
        fill: "var(--series-0)",
      }),
      Plot.tip(
        bins,
        Plot.pointerX({
          x: "length",
          y: "rows",
          title: (bin) => `${plural(bin.rows, "row", "rows")} of ${plural(bin.length, "nonzero", "nonzeros")}`,
          fontSize: 12,
        }),
      ),
    ],
  });
}
