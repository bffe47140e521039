// The numbers themselves: one row a record, sorted by any column; and shorter tables of the same make.

/// Columns in groups: {label, kind, of(entry)}; kind is "word", "reason", "written" (a number with its unit), a unit to be scaled ("s", "B", "B/s", ""), or
/// "percent", "ratio", "scientific", "count". Numbers that were not measured are undefined and sort last.
function numberColumns(report) {
  const { entries } = report;
  const measured = (of) => (entry) => (entry.status === "timed" && of(entry) > 0 ? of(entry) : undefined);
  const known = (of) => (entry) => (of(entry) > 0 ? of(entry) : undefined);
  const iterations = (of) =>
    measured((entry) => of(measureOf([entry]).words.startsWith("CG") ? measureOf([entry]).of(entry) : {}));
  const operator = (key) => known((entry) => entry.record.operator?.[key]);
  const apply = (key) => measured((entry) => entry.apply[key]);
  const stages = distinct(entries.flatMap((entry) => Object.keys(entry.record.seconds ?? {})));
  return [
    [
      "",
      { label: "Operator", kind: "word", heading: true, of: (entry) => entry.operator },
      { label: "Options", kind: "word", of: (entry) => optionText(entry.options) || undefined },
      { label: "Chosen", kind: "word", of: (entry) => optionText(entry.record.operator?.chosen ?? {}) || undefined },
      { label: "Problem", kind: "word", of: (entry) => report.problemLabel(entry) || undefined },
      { label: "Precision", kind: "word", of: (entry) => entry.precision || undefined },
      { label: "Device", kind: "word", of: (entry) => deviceName(entry) || undefined },
      { label: "Unknowns", kind: "count", of: (entry) => entry.unknowns || undefined },
      {
        label: "Right-hand sides",
        kind: "count",
        of: (entry) => (report.severalSides ? entry.rightHandSides : undefined),
      },
      { label: "Status", kind: "word", of: (entry) => entry.status },
    ],
    [
      "CG iterations per second",
      { label: "Median", kind: "1/s", of: iterations((rate) => rate.value) },
      { label: "Minimum", kind: "1/s", of: iterations((rate) => rate.low) },
      { label: "Maximum", kind: "1/s", of: iterations((rate) => rate.high) },
      { label: "Roof", kind: "1/s", of: iterations((rate) => rate.roof) },
      { label: "Of roof", kind: "percent", of: iterations((rate) => (rate.roof > 0 ? rate.value / rate.roof : 0)) },
      { label: "Unknowns", kind: "1/s", of: measured((entry) => entry.solve.unknowns_per_second) },
      { label: "Over one side", kind: "ratio", of: (entry) => entry.comparison.iteration_gain ?? undefined },
    ],
    [
      "Product",
      { label: "Median", kind: "s", of: apply("median_seconds") },
      { label: "Minimum", kind: "s", of: apply("minimum_seconds") },
      { label: "Maximum", kind: "s", of: apply("maximum_seconds") },
      { label: "Arithmetic", kind: "flop/s", of: measured((entry) => 1e9 * number(entry.apply.gflops)) },
      { label: "Effective bandwidth", kind: "B/s", of: apply("effective_bandwidth") },
      { label: "Minimum bandwidth", kind: "B/s", of: apply("minimum_bandwidth") },
      { label: "Caching bandwidth", kind: "B/s", of: apply("caching_bandwidth") },
      { label: "Of a copy", kind: "percent", of: apply("bandwidth_fraction") },
      { label: "Over one side", kind: "ratio", of: (entry) => entry.comparison.product_gain ?? undefined },
    ],
    [
      "Memory",
      { label: "Stored", kind: "B", of: operator("stored_bytes") },
      {
        label: "A row",
        kind: "B",
        of: known((entry) => (entry.unknowns > 0 ? entry.record.operator?.stored_bytes / entry.unknowns : 0)),
      },
      { label: "Moved", kind: "B", of: operator("moved_bytes") },
      { label: "Nonzeros", kind: "count", of: operator("nonzeros") },
      { label: "Work", kind: "flop", of: operator("flops") },
      { label: "Padding", kind: "ratio", of: operator("padding_ratio") },
      { label: "Saved to ELLPACK", kind: "percent", of: (entry) => entry.record.operator?.data_reduction ?? undefined },
    ],
    [
      "Preparation",
      ...stages.map((stage) => ({
        label: capital(stage),
        kind: "s",
        of: known((entry) => entry.record.seconds?.[stage]),
      })),
      {
        label: "Break-even iterations",
        kind: "count",
        of: (entry) => entry.comparison.break_even_iterations ?? undefined,
      },
    ],
    [
      "Agreement",
      { label: "Difference", kind: "scientific", of: (entry) => entry.comparison.agreement ?? undefined },
      { label: "Bound", kind: "scientific", of: (entry) => entry.comparison.agreement_bound ?? undefined },
      { label: "Repetitions", kind: "count", of: measured((entry) => entry.comparison.repetitions) },
    ],
    [
      "Prediction",
      { label: "Product", kind: "s", of: measured((entry) => entry.comparison.predicted_product_seconds) },
      { label: "Off by", kind: "percent", of: (entry) => (entry.status === "timed" ? differenceRate(entry) : undefined) },
      {
        label: "Regret of auto",
        kind: "percent",
        of: (entry) => entry.comparison.auto?.regret ?? undefined,
      },
      { label: "Auto and the best", kind: "word", of: ({ comparison: { auto } }) => (auto?.ties === undefined ? undefined : auto.regret <= 0 ? "the best" : auto.ties ? "a tie" : "behind") },
      { label: "Why auto takes it", kind: "reason", of: (entry) => entry.comparison.auto?.why ?? undefined },
    ],
    [
      "Baseline",
      { label: "Ratio", kind: "ratio", of: (entry) => entry.comparison.baseline_ratio ?? undefined },
      { label: "Verdict", kind: "word", of: (entry) => entry.comparison.baseline_verdict ?? undefined },
    ],
  ];
}

const optionText = (options) =>
  Object.entries(options)
    .map(([key, value]) => `${key} ${value}`)
    .join(", ");

/// How a column writes its values: SI units share one prefix, which stands in the heading.
function columnFormat(kind, values) {
  if (["word", "reason", "written"].includes(kind)) return { write: String, unit: "" };
  if (kind === "percent") return { write: percent, unit: "" };
  if (kind === "ratio") return { write: (value) => significant(value), unit: "" };
  if (kind === "count") return { write: (value) => count(Math.round(value)), unit: "" };
  if (kind === "scientific") return { write: (value) => scientific(value), unit: "" };
  const power = thousands(Math.max(...values.map(Math.abs)));
  const unit = kind === "1/s" ? (power ? `${prefix(power)}/s` : "/s") : prefix(power) + kind;
  return { write: (value) => significant(value / 1000 ** power), unit };
}

/// A table of `rows` under grouped columns, without those that no row fills. With `sortable`, each heading is a button.
function tableOf(groups, rows, { caption, sortable = false }) {
  const filled = groups
    .map(([group, ...columns]) => [
      group,
      ...columns.filter((column) => rows.some((row) => column.of(row) !== undefined)),
    ])
    .filter((group) => group.length > 1);
  const columns = filled.flatMap(([, ...own]) => own);
  for (const column of columns)
    column.format = columnFormat(
      column.kind,
      rows.map(column.of).filter((value) => value !== undefined),
    );
  const isNumber = (column) => !["word", "reason"].includes(column.kind);
  const cellClass = (column) => (isNumber(column) ? "number" : column.kind);
  const body = element("tbody");
  const fill = (order) =>
    body.replaceChildren(
      ...order.map((row) =>
        element(
          "tr",
          {},
          columns.map((column) => {
            const value = column.of(row);
            const verdict = { faster: "good", slower: "bad", disagrees: "bad", failed: "bad" }[value] ?? "";
            const long = column.kind === "word" && String(value).length > 40;
            return element(
              column.heading ? "th" : "td",
              {
                class: `${long ? "reason" : cellClass(column)} ${verdict}`.trim(),
                scope: column.heading ? "row" : null,
              },
              value === undefined ? dash : column.format.write(value),
            );
          }),
        ),
      ),
    );
  fill(rows);
  const headings = columns.map((column) => {
    const unit = column.format.unit ? element("span", { class: "unit" }, column.format.unit) : null;
    const attributes = { scope: "col", class: isNumber(column) ? "number" : null };
    return element(
      "th",
      attributes,
      sortable ? element("button", { type: "button" }, column.label) : column.label,
      unit,
    );
  });
  if (sortable) makeSortable(headings, columns, rows, fill, isNumber);
  const grouped = filled.some(([group]) => group !== "");
  const head = element(
    "thead",
    {},
    grouped
      ? element(
          "tr",
          {},
          filled.map(([group, ...own]) =>
            element(
              group ? "th" : "td",
              { class: "group", scope: group ? "colgroup" : null, colspan: own.length },
              group,
            ),
          ),
        )
      : null,
    element("tr", {}, headings),
  );
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    element("table", {}, element("caption", {}, caption), head, body),
  );
}

/// A button that saves all rows as they were recorded, in SI units without prefixes (RFC 4180).
function csvButton(groups, rows, name) {
  const columns = groups.flatMap(([group, ...own]) => own.map((column) => ({ ...column, title: group ? `${group}: ${column.label}` : column.label })));
  const filled = columns.filter((column) => rows.some((row) => column.of(row) !== undefined));
  const field = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const line = (values) => `${values.map((value) => field(String(value ?? ""))).join(",")}\r\n`;
  const save = () => {
    const text = [line(filled.map((column) => column.title)), ...rows.map((row) => line(filled.map((column) => column.of(row))))].join("");
    const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return element("p", {}, element("button", { type: "button", class: "csv", click: save }, "Save as CSV"));
}

/// A click sorts numbers from the largest, words from the first; a second click turns the order round.
function makeSortable(headings, columns, rows, fill, isNumber) {
  headings.forEach((heading, index) => {
    const column = columns[index];
    const key = (row) => column.of(row);
    heading.querySelector("button").addEventListener("click", () => {
      const before = heading.getAttribute("aria-sort");
      const descending = before === null ? isNumber(column) : before === "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const known = rows.filter((row) => key(row) !== undefined);
      const compare = isNumber(column)
        ? (a, b) => key(a) - key(b)
        : (a, b) => String(key(a)).localeCompare(String(key(b)), "en", { numeric: true });
      known.sort((a, b) => (descending ? -1 : 1) * compare(a, b));
      fill([...known, ...rows.filter((row) => key(row) === undefined)]);
    });
  });
}
