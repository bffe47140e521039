// The records of schema 1, made ready: which belong to one problem, which to one line of a plot, and what each achieved.

const number = (value) => (Number.isFinite(value) ? value : 0);
const distinct = (values) => [...new Set(values)];
const groupBy = (items, key) => {
  const groups = new Map();
  for (const item of items) {
    const name = key(item);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(item);
  }
  return groups;
};

/// Sweeps over these are told from the problem, the precision and the device themselves.
const axisKeys = ["degree", "precision", "device"];

/// The records without characters that would turn the direction of the text around them, or do not print.
function parseRecords(json) {
  const printable = (text) =>
    text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
  return JSON.parse(json, (key, value) => {
    if (typeof value === "string") return printable(value);
    if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, own]) => [printable(name), own]));
  });
}

/// One record as the plots and tables use it.
function entryOf(record) {
  const operator = record.operator ?? {};
  const comparison = record.comparison ?? {};
  return {
    record,
    operator: String(operator.name ?? "?"),
    options: operator.options ?? {},
    precision: String(operator.precision ?? ""),
    device: String(operator.device ?? ""),
    degree: record.problem?.degree,
    unknowns: number(record.problem?.unknowns),
    sweep: record.sweep ?? {},
    rightHandSides: number(comparison.right_hand_sides) || 1,
    status: String(comparison.status ?? "timed"),
    comparison,
    apply: record.apply ?? {},
    solve: record.solve ?? {},
  };
}

/// All that the page knows: `entries`, the `timed` ones among them, the `series` (operators, in the order of the records)
/// and the swept keys, those of operators (`optionKeys`) and the others (`problemKeys`).
function readReport(records) {
  const entries = records.map(entryOf);
  const sweptKeys = distinct(entries.flatMap((entry) => Object.keys(entry.sweep))).filter(
    (key) => !axisKeys.includes(key),
  );
  const isOption = (key) => entries.some((entry) => key in entry.options);
  const report = {
    records,
    entries,
    optionKeys: sweptKeys.filter(isOption),
    problemKeys: sweptKeys.filter((key) => !isOption(key)),
  };
  report.severalSides = entries.some((entry) => entry.rightHandSides > 1);
  nameProblems(report);
  nameSeries(report);
  report.timed = entries.filter((entry) => entry.status === "timed");
  // What does not depend on the number of right-hand sides is shown once, for the least.
  const least = d3.min(entries, (entry) => entry.rightHandSides);
  report.once = (some) => some.filter((entry) => entry.rightHandSides === least);
  report.series = distinct(entries.map((entry) => entry.series));
  const operators = new Map(entries.map((entry) => [entry.series, entry.operator]));
  report.looks = looksOf(report.series.map((series) => [series, operators.get(series)]));
  return report;
}

const problemWords = {
  degree: (value) => `degree ${value}`,
  cells: (value) => plural(value, "cell", "cells"),
  cell: (value) => ({ hexahedron: "hexahedra", tetrahedron: "tetrahedra" })[value] ?? `${value}s`,
  dimension: (value) => `${value}D`,
  geometric_order: (value) => `cells of order ${value}`,
  quadrature: (value) => `${plural(value, "quadrature point", "quadrature points")} a direction`,
  unknowns: (value) => plural(value, "unknown", "unknowns"),
  right_hand_sides: (value) => plural(value, "right-hand side", "right-hand sides"),
};

/// Gives each entry its `problem`, an identity, and `problemLabel`, the few facts that tell it from the other problems.
function nameProblems(report) {
  const facts = (entry) => ({
    case: entry.record.case,
    ...entry.record.problem,
    ...(report.severalSides ? { right_hand_sides: entry.rightHandSides } : {}),
    ...Object.fromEntries(report.problemKeys.map((key) => [`sweep ${key}`, entry.sweep[key]])),
  });
  for (const entry of report.entries) {
    entry.facts = facts(entry);
    entry.problem = JSON.stringify([entry.facts.matrix ?? entry.facts.case, entry.facts]);
  }
  const problems = distinct(report.entries.map((entry) => entry.problem)).length;
  const chosen = [];
  const label = (entry, keys) => keys.map((key) => entry.facts[key]).join("\u0000");
  const candidates = [
    "matrix",
    "case",
    "degree",
    ...report.problemKeys.map((key) => `sweep ${key}`),
    "dimension",
    "cell",
    "cells",
    "geometric_order",
    "quadrature",
    "ordering",
    "unknowns",
    "right_hand_sides",
  ];
  const told = (keys) => distinct(report.entries.map((entry) => label(entry, keys))).length;
  for (const key of candidates) if (told(chosen) < problems && told([...chosen, key]) > told(chosen)) chosen.push(key);
  report.namesFiles = chosen.includes("matrix") || chosen.includes("case");
  report.problemLabel = (entry, without = []) =>
    chosen
      .filter((key) => !without.includes(key) && entry.facts[key] !== undefined)
      .map((key) =>
        key.startsWith("sweep ")
          ? `${key.slice(6)} ${entry.facts[key]}`
          : (problemWords[key] ?? String)(entry.facts[key]),
      )
      .join(", ");
}

/// Gives each entry its `series`: the operator's name, with the options that tell it from others of that name, but not
/// with swept ones; and its `label`, which has them.
function nameSeries(report) {
  const told = new Map();
  const place = (entry) => JSON.stringify([entry.operator, entry.problem, entry.precision, entry.device, entry.sweep]);
  for (const group of groupBy(report.entries, place).values()) {
    const keys = distinct(group.flatMap((entry) => Object.keys(entry.options))).filter(
      (key) => !report.optionKeys.includes(key),
    );
    const differing = keys.filter(
      (key) => distinct(group.map((entry) => JSON.stringify(entry.options[key]))).length > 1,
    );
    const name = group[0].operator;
    told.set(name, distinct([...(told.get(name) ?? []), ...differing]));
  }
  const words = (entry, keys) =>
    keys.filter((key) => key in entry.options).map((key) => `${key} ${entry.options[key]}`);
  for (const entry of report.entries) {
    entry.series = [entry.operator, ...words(entry, told.get(entry.operator))].join(", ");
    entry.label = [entry.operator, ...words(entry, [...told.get(entry.operator), ...report.optionKeys])].join(", ");
  }
}

const deviceName = (entry) => ({ cpu: "CPU", cuda: "GPU" })[entry.device] ?? entry.device;

/// The precision and the device.
const runTitle = (entry) =>
  [entry.precision ? `${entry.precision} precision` : "", deviceName(entry)].filter((part) => part).join(" \u00b7 ");

/// What stands over a panel: the problem, the precision and the device, less the problem's facts in `without`.
function panelTitle(report, entry, without = []) {
  const parts = [report.problemLabel(entry, without), runTitle(entry)];
  return headline(report, parts.filter((part) => part).join(" \u00b7 "));
}

/// The first letter a capital, unless the text begins with the name of a file.
const headline = (report, text) => (report.namesFiles ? text : capital(text));

/// Of several right-hand sides the iterations, or the products, of each are added up.
const iterationMeasure = {
  unit: "iterations/s",
  words: "CG iterations per second",
  of: ({ solve, comparison }) => {
    const value = number(solve.iterations_per_second);
    return {
      value,
      low: number(comparison.iterations_per_second_minimum) || value,
      high: number(comparison.iterations_per_second_maximum) || value,
      roof: number(comparison.roof_iterations_per_second),
    };
  },
};
const productMeasure = {
  unit: "products/s",
  words: "products per second",
  of: ({ apply, rightHandSides }) => {
    const rate = (seconds) => (seconds > 0 ? rightHandSides / seconds : 0);
    const value = rate(apply.median_seconds);
    return {
      value,
      low: rate(apply.maximum_seconds) || value,
      high: rate(apply.minimum_seconds) || value,
      roof: apply.bandwidth_fraction > 0 ? value / apply.bandwidth_fraction : 0,
    };
  },
};

/// CG iterations a second where CG was timed for any of the entries; products a second elsewhere.
const measureOf = (entries) =>
  entries.some((entry) => entry.solve.iterations_per_second > 0) ? iterationMeasure : productMeasure;

/// The entry with the highest value.
const bestOf = (entries, valueOf) => entries.reduce((best, entry) => (valueOf(entry) > valueOf(best) ? entry : best));

/// Of each series the entry with the highest value: the best of a sweep over an operator's options.
const bestOfSeries = (entries, valueOf) =>
  [...groupBy(entries, (entry) => entry.series).values()].map((group) => bestOf(group, valueOf));
