// Parts of all plots: frames on the page, colours and symbols of operators, placement of labels.

const drawings = [];

/// Width and height options of Plot for a plot on the page.
const frameOf = (width, height, { top, right, bottom, left }) => ({
  width,
  height,
  style: { fontSize: "12px", background: "none", color: "inherit" },
  marginTop: top,
  marginRight: right,
  marginBottom: bottom,
  marginLeft: left,
});

/// Figure that is drawn again for each width of the page. `draw(width)` returns the SVG; `summary` is its text for
/// screen readers.
function plotFigure(title, summary, draw, note) {
  const frame = element("div");
  drawings.push({ frame, draw, summary, width: 0 });
  return element(
    "figure",
    {},
    element("figcaption", {}, element("h3", {}, title)),
    frame,
    note ? element("p", { class: "note" }, note) : null,
  );
}

/// Draws the figures that have no plot of the current width.
function drawAll() {
  for (const drawing of drawings) {
    const width = Math.floor(drawing.frame.clientWidth);
    if (width === drawing.width || width < 1) continue;
    drawing.width = width;
    const plots = [drawing.draw(width)].flat();
    plots.forEach((plot, index) => {
      plot.setAttribute("role", "img");
      plot.setAttribute(
        "aria-label",
        plots.length > 1 ? `${drawing.summary} (part ${index + 1} of ${plots.length})` : drawing.summary,
      );
    });
    drawing.frame.replaceChildren(...plots);
  }
}

// --- An operator looks the same in every plot -----------------------------------------------------------------------

const symbols = ["circle", "square", "triangle", "diamond", "star", "wye", "cross"];
const colourCount = 18,
  solidCount = 12;  // lines of the others are dashed too: to some eyes their colours are near
const lookAt = (index) => ({
  colour: `var(--series-${index % colourCount})`,
  symbol: symbols[index % symbols.length],
  dashes: index < solidCount ? null : "5 3",
});
const look = (report, series) => report.looks.get(series);

/// Operators of the catalogue, the most often compared first. The position determines the colour, on every page.
const knownOperators = [
  "csr",
  "sell",
  "csr-grouped",
  "lma-atomic",
  "matrix-free",
  "ellpack",
  "lma-gather",
  "cusparse-csr",
  "eigen",
  "lma-coloured",
  "jad",
  "hyb",
  "ellpack-r",
  "ellr-t",
  "pjds",
  "csr-aligned",
  "cusparse-sell",
  "csr-bitmask",
];

/// Position of an operator's colour; for operators of plug-ins by a hash of the name.
function placeOfOperator(name) {
  const known = knownOperators.indexOf(name);
  if (known >= 0) return known;
  let sum = 0;
  for (const letter of name) sum = (31 * sum + letter.codePointAt(0)) % 9973;
  return knownOperators.length + (sum % colourCount);
}

/// Colour, symbol and dashes of each series. Series of one operator share its colour.
function looksOf(series) {
  const times = new Map();
  return new Map(
    series.map(([name, operator]) => {
      const before = times.get(operator) ?? 0;
      times.set(operator, before + 1);
      const place = placeOfOperator(operator);
      const own = lookAt(place);
      return [name, before === 0 ? own : { ...own, symbol: symbols[(place + before) % symbols.length], dashes: `${2 + 2 * before} 3` }];
    }),
  );
}

// --- Text that fits -------------------------------------------------------------------------------------------------

const ruler = document.createElement("canvas").getContext("2d");

function textWidth(text) {
  ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

/// The text, cut to the width with an ellipsis.
function fitted(text, width) {
  if (textWidth(text) <= width) return text;
  let end = text.length;
  while (end > 1 && textWidth(`${text.slice(0, end)}\u2026`) > width) --end;
  return `${text.slice(0, end)}\u2026`;
}

const widest = (texts, limit) => Math.min(limit, Math.ceil(Math.max(0, ...texts.map(textWidth))));

/// Positions as near as possible to the `wanted` ones (sorted), at least `gap` apart and within [first, last].
function keptApart(wanted, gap, first, last) {
  const positions = [];
  wanted.forEach((position, index) => positions.push(Math.max(position, index ? positions[index - 1] + gap : first)));
  for (let index = positions.length - 1, limit = last; index >= 0; --index, limit = positions[index + 1] - gap)
    positions[index] = Math.min(positions[index], limit);
  return positions;
}

// --- Lines ----------------------------------------------------------------------------------------------------------

/// The x axis of a line plot: log2 for powers of two, log10 for numbers that span decades, else linear; words stand in
/// their order.
function lineAxis(values) {
  const numeric = values.every((value) => String(value).trim() !== "" && Number.isFinite(Number(value)));
  if (!numeric) {
    const words = distinct(values.map(String));
    return {
      place: (value) => words.indexOf(String(value)),
      type: "linear",
      ticks: words.map((_, index) => index),
      tickFormat: (index) => words[index],
    };
  }
  const numbers = distinct(values.map(Number)).sort((a, b) => a - b);
  const powers = numbers.every((value) => value > 0 && Number.isInteger(Math.log2(value)));
  // 1, 2, 3, 4 are degrees; 1, 2, 4 are powers.
  const powersOfTwo = powers && (numbers.length > 2 || numbers.at(-1) > 2);
  const decades = numbers[0] > 0 && numbers.at(-1) >= 100 * numbers[0];
  return {
    place: Number,
    type: powersOfTwo || decades ? "log" : "linear",
    base: powersOfTwo ? 2 : undefined,
    ticks: numbers.length <= 12 ? numbers : undefined,
    tickFormat: (value) => (Number.isInteger(value) ? count(value) : significant(value)),
  };
}

/// Line plot of `points` ({line, x, value, low, high, text}) against x, with a label at the end of each line. `lookOf`
/// gives the look of a line. The value axis begins at 0, or is logarithmic where values span decades; `scale: "log"`
/// makes it logarithmic always, `scale: "within"` bounds it by the least and greatest value.
function lineChart(width, points, { lookOf, xLabel, yLabel, unit, yTick = tick, scale }) {
  const axis = lineAxis(points.map((point) => point.x));
  const at = (point) => axis.place(point.x);
  const lines = [...groupBy(points, (point) => point.line).entries()].map(([name, own]) => {
    const sorted = own.toSorted((a, b) => at(a) - at(b));
    return { name, points: sorted, last: sorted.at(-1), ...lookOf(name) };
  });
  const names = widest(
    lines.map((line) => line.name),
    Math.min(150, 0.34 * width),
  );
  const positive = points.map((point) => point.value).filter((value) => value > 0);
  const [least, most] = [Math.min(...positive), Math.max(...points.map((point) => point.high))];
  const log = scale === "log" || (scale === undefined && positive.length === points.length && most > 30 * least);
  const domain = log ? [least / 1.25, most * 1.25] : scale === "within" ? widened(d3.extent(points, (point) => point.value)) : [0, (most || 1) * 1.05];
  const ticks = log ? logTicks(domain) : d3.ticks(...domain, 5);
  const left = Math.max(52, widest(ticks.map((value) => yTick(value)), 110) + 12);
  const margin = { top: 24, right: names + 30, bottom: 40, left };
  const height = Math.max(Math.min(420, Math.max(280, 0.7 * width)), margin.top + margin.bottom + 18 * lines.length);
  const xs = points.map(at);
  const xScale = { type: axis.type, base: axis.base, domain: [Math.min(...xs), Math.max(...xs)], insetLeft: 8 };
  const y = (log ? d3.scaleLog() : d3.scaleLinear()).domain(domain).range([height - margin.bottom, margin.top]);
  const heightOf = (line) => y(log ? line.last.value || domain[0] : line.last.value);
  const byHeight = lines.toSorted((a, b) => heightOf(a) - heightOf(b));
  const places = keptApart(
    byHeight.map(heightOf),
    14,
    margin.top,
    height - margin.bottom,
  );
  byHeight.forEach((line, index) => (line.place = places[index]));
  return Plot.plot({
    ...frameOf(width, height, margin),
    x: { ...xScale, label: null },
    y: { type: log ? "log" : "linear", domain, label: null },
    marks: [
      Plot.gridY(ticks, { strokeOpacity: 0.12 }),
      Plot.axisY(ticks, { text: (value) => yTick(value), label: yLabel, labelArrow: "none", tickSize: 0 }),
      Plot.axisX({
        ticks: axis.ticks,
        tickFormat: axis.tickFormat,
        label: xLabel,
        labelArrow: "none",
        labelAnchor: "center",
      }),
      ...lines.map((line) =>
        Plot.lineY(line.points, {
          x: at,
          y: "value",
          stroke: line.colour,
          strokeWidth: 1.75,
          strokeDasharray: line.dashes,
        }),
      ),
      Plot.ruleX(
        points.filter((point) => point.low < point.high && point.low > 0),
        {
          x: at,
          y1: "low",
          y2: "high",
          stroke: "currentColor",
          strokeOpacity: 0.55,
        },
      ),
      ...lines.map((line) =>
        Plot.dot(line.points, { x: at, y: "value", symbol: line.symbol, fill: line.colour, r: 4 }),
      ),
      endLabels(lines, at, margin.right, names, heightOf),
      Plot.tip(
        points,
        Plot.pointer({
          x: at,
          y: "value",
          title: (point) => `${point.line}\n${point.text ?? si(point.value, unit)}`,
          fontSize: 12,
        }),
      ),
    ],
  });
}

const widened = ([least, most]) => [least - 0.05 * (most - least), most + 0.05 * (most - least)];

/// Ticks at 1, 2 and 5 times the powers of ten; at the powers alone where the axis spans many.
function logTicks([least, most]) {
  const steps = most / least > 2e3 ? [1] : [1, 2, 5];
  const exponents = d3.range(Math.floor(Math.log10(least)), Math.ceil(Math.log10(most)) + 1);
  return exponents
    .flatMap((exponent) => steps.map((step) => step * 10 ** exponent))
    .filter((value) => value >= least && value <= most);
}

/// Labels of lines at the right edge, each with a leader from the line's last point. A custom mark, since the labels lie
/// outside the scales. `heightOf` gives the height at which a line ends.
function endLabels(lines, at, marginRight, names, heightOf) {
  return (index, scales, values, { width }) => {
    const group = d3.create("svg:g").attr("aria-label", "names").attr("text-anchor", "start");
    const edge = width - marginRight;
    for (const line of lines) {
      const name = group.append("g");
      const from = scales.x(at(line.last)) + 5;
      const height = heightOf(line);
      // A line that ends early has a fainter leader.
      const early = from < edge - 15;
      name
        .append("polyline")
        .attr(
          "points",
          `${from},${height} ${early ? `${edge},${height} ` : ""}${edge + 16},${line.place} ${edge + 24},${line.place}`,
        )
        .attr("fill", "none")
        .style("stroke", line.colour)
        .attr("stroke-width", early ? 0.75 : 1.25)
        .attr("stroke-dasharray", early ? "1 3" : line.dashes);
      name
        .append("text")
        .attr("class", "name")
        .attr("x", edge + 28)
        .attr("y", line.place)
        .attr("dy", "0.32em")
        .text(fitted(line.name, names));
    }
    return group.node();
  };
}
