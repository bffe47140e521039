// Formatting of numbers and text. Strings of records enter the page as text nodes only.

/// Creates an element with attributes and children; strings among the children become text nodes, never markup.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false)
      made.setAttribute(name, value === true ? "" : value);
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

const space = "\u00a0";
const dash = "\u2013";
const prefixes = ["f", "p", "n", "\u00b5", "m", "", "k", "M", "G", "T", "P", "E"];

/// Power of 1000 that leaves 1 to 999 before the point, limited to the known prefixes.
function thousands(value) {
  if (!value || !Number.isFinite(value)) return 0;
  const rounded = Number(Math.abs(value).toPrecision(3));
  const power = Math.floor(Math.log10(rounded) / 3 + 1e-12);
  return Math.max(-5, Math.min(6, power));
}

const prefix = (power) => prefixes[power + 5];

const minus = (text) => text.replace("-", "\u2212");

/// 1.3e-16 as 1.3 times a power of ten.
function scientific(value, digits = 2) {
  if (value === 0) return "0";
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const raised = [...String(Number(exponent))].map((sign) =>
    sign === "-" ? "\u207b" : "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[sign],
  );
  return `${minus(mantissa)}${space}\u00d7${space}10${raised.join("")}`;
}

/// Three significant digits: 0.120, 12.3, 1234.
function significant(value, digits = 3) {
  if (value === 0) return "0";
  if (Math.abs(value) < 1e-3) return scientific(value, digits);
  const rounded = Number(Math.abs(value).toPrecision(digits));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(rounded) + 1e-12));
  return minus(value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }));
}

/// 12300 in "B/s" is "12.3 kB/s"; without a unit "12.3 k", and in a word "12.3 k iterations/s".
function si(value, unit = "") {
  const power = thousands(value);
  const word = /^[a-z]{3}/.test(unit) && !unit.startsWith("flop");
  return [significant(value / 1000 ** power), ...(word ? [prefix(power), unit] : [prefix(power) + unit])]
    .filter((part) => part)
    .join(space);
}

/// The same for the round values on an axis: "5 k", not "5.00 k".
function tick(value, unit = "") {
  const power = thousands(value);
  return [minus(String(Number((value / 1000 ** power).toPrecision(6)))), prefix(power) + unit]
    .filter((part) => part)
    .join(space);
}

const count = (value) => value.toLocaleString("en");
const percent = (value) => `${minus((100 * value).toFixed(value !== 0 && Math.abs(value) < 0.0995 ? 1 : 0))}${space}%`;
const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/// Formats "2026-11-21T05:00:00Z" as a date; other strings are returned unchanged.
function dateAndTime(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return String(text ?? "");
  const part = (options) => date.toLocaleString("en-GB", { timeZone: "UTC", ...options });
  return `${part({ day: "numeric", month: "long", year: "numeric" })}, ${part({ hour: "2-digit", minute: "2-digit" })} UTC`;
}
