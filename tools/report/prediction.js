// The program's recommendation of an operator, and its predictions against the measurements.

/// Recommendation in one or two sentences for each problem, precision and device.
function recommendations(report) {
  const told = report.entries.filter((entry) => entry.comparison.recommendation);
  if (told.length === 0) return null;
  const text = (entry) => entry.comparison.recommendation;
  if (told.length === 1) return element("p", { class: "recommendation" }, text(told[0]));
  return element(
    "ul",
    { class: "recommendation" },
    told.map((entry) => element("li", {}, element("b", {}, `${panelTitle(report, entry)}. `), text(entry))),
  );
}

const secondsOf = (entry) => ({
  predicted: number(entry.comparison.predicted_product_seconds),
  measured: number(entry.apply.median_seconds),
});

/// Difference rate |predicted - measured| / measured; undefined without a prediction.
function differenceRate(entry) {
  const { predicted, measured } = secondsOf(entry);
  return predicted > 0 && measured > 0 ? Math.abs(predicted - measured) / measured : undefined;
}

function predictionSection(report) {
  const known = report.timed.filter((entry) => differenceRate(entry) !== undefined);
  const panels = [...groupBy(known, (entry) => JSON.stringify([entry.precision, entry.device])).values()].map((own) => {
    const points = own.map((entry) => ({ entry, line: entry.series, rate: differenceRate(entry), ...secondsOf(entry) }));
    const summary = `Predicted and measured seconds of a product: ${points
      .map((point) => `${point.line} ${si(point.predicted, "s")} and ${si(point.measured, "s")}`)
      .join("; ")}.`;
    const rates = points.map((point) => point.rate);
    return plotFigure(
      capital(runTitle(own[0])),
      summary,
      (width) => predictionChart(report, width, points),
      `Difference rate: mean ${percent(d3.mean(rates))}, median ${percent(d3.median(rates))}, worst ${percent(d3.max(rates))}.`,
    );
  });
  return {
    id: "prediction",
    heading: "Predicted against measured",
    explanation:
      "The seconds of a product by the bandwidth model, which sees an operator's bytes and operations before it is made, against those that were measured: on the line both are the same, between the dashed lines they differ by 15\u00a0% at most, which is what operator auto allows for.",
    panels,
  };
}

function predictionChart(report, width, points) {
  const lines = [...groupBy(points, (point) => point.line).entries()].map(([name, own]) => ({
    name,
    points: own,
    last: { ...own.reduce((far, point) => (point.measured > far.measured ? point : far)) },
    ...look(report, name),
  }));
  const names = widest(
    lines.map((line) => line.name),
    Math.min(150, 0.34 * width),
  );
  const margin = { top: 24, right: names + 30, bottom: 40, left: 60 };
  const height = Math.max(Math.min(420, Math.max(280, 0.7 * width)), margin.top + margin.bottom + 18 * lines.length);
  const seconds = points.flatMap((point) => [point.measured, point.predicted]);
  const domain = [Math.min(...seconds) / 1.25, Math.max(...seconds) * 1.25];
  const inner = width - margin.left - margin.right;
  const ticks = logTicks(domain);
  const few = ticks.filter((_, index) => index % Math.ceil(ticks.length / Math.max(1, inner / 60)) === 0);
  const y = d3.scaleLog().domain(domain).range([height - margin.bottom, margin.top]);
  for (const line of lines) line.last.value = line.last.predicted;
  const byHeight = lines.toSorted((a, b) => y(a.last.value) - y(b.last.value));
  const places = keptApart(
    byHeight.map((line) => y(line.last.value)),
    14,
    margin.top,
    height - margin.bottom,
  );
  byHeight.forEach((line, index) => (line.place = places[index]));
  const along = (factor, style) =>
    Plot.line(
      domain.map((end) => [end, end * factor]),
      { stroke: "currentColor", strokeOpacity: 0.5, clip: true, ...style },
    );
  return Plot.plot({
    ...frameOf(width, height, margin),
    x: { type: "log", domain, label: null },
    y: { type: "log", domain, label: null },
    marks: [
      Plot.gridY(ticks, { strokeOpacity: 0.12 }),
      Plot.axisY(ticks, { text: (value) => tick(value, "s"), label: "Predicted", labelArrow: "none", tickSize: 0 }),
      Plot.axisX(few, {
        text: (value) => tick(value, "s"),
        label: "Measured",
        labelArrow: "none",
        labelAnchor: "center",
      }),
      along(1, {}),
      along(1.15, { strokeDasharray: "3 3" }),
      along(0.85, { strokeDasharray: "3 3" }),
      ...lines.map((line) =>
        Plot.dot(line.points, { x: "measured", y: "predicted", symbol: line.symbol, fill: line.colour, r: 4 }),
      ),
      endLabels(lines, (point) => point.measured, margin.right, names, (line) => y(line.last.value || y.domain()[0])),
      Plot.tip(
        points,
        Plot.pointer({
          x: "measured",
          y: "predicted",
          title: (point) =>
            [
              point.line,
              report.problemLabel(point.entry),
              `predicted ${si(point.predicted, "s")}, measured ${si(point.measured, "s")}: off by ${percent(point.rate)}`,
            ]
              .filter((part) => part)
              .join("\n"),
          fontSize: 12,
        }),
      ),
    ],
  });
}
