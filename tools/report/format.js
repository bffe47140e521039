// Numbers and words as readers see them. Everything that comes from the records is put into the page as text.

/// An element with attributes and children; strings among the children become text nodes, never markup.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

const space = "\u00a0";
const dash = "\u2013";
const prefixes = ["f", "p", "n", "\u00b5", "m", "", "k", "M", "G", "T", "P", "E"];

/// The power of 1000 that leaves 1 to 999 before the point, as far as there are prefixes.
function thousands(value) {
  if (!value || !Number.isFinite(value)) return 0;
  const rounded = Number(Math.abs(value).toPrecision(3));
  const power = Math.floor(Math.log10(rounded) / 3 + 1e-12);
  return Math.max(-5, Math.min(6, power));
}

const prefix = (power) => prefixes[power + 5];

/// Three significant digits: 0.123, 12.3, 1234.
function significant(value, digits = 3) {
  if (value === 0) return "0";
  if (Math.abs(value) < 1e-3) return value.toExponential(digits - 1).replace("-", "\u2212");
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)) + 1e-12));
  return value.toLocaleString("en", { minimumFractionDigits: 0, maximumFractionDigits: decimals }).replace("-", "\u2212");
}

/// 12300 in "B/s" is "12.3 kB/s"; without a unit "12.3 k".
function si(value, unit = "") {
  const power = thousands(value);
  return `${significant(value / 1000 ** power)}${power || unit ? space : ""}${prefix(power)}${unit}`.trimEnd();
}

const count = (value) => value.toLocaleString("en");
const percent = (value) => `${significant(100 * value, Math.abs(value) < 0.0995 ? 2 : 3)}${space}%`;
const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/// "2026-11-21T05:00:00Z" as a reader writes it; what is no date stays as it is.
function dateAndTime(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return String(text ?? "");
  const part = (options) => date.toLocaleString("en-GB", { timeZone: "UTC", ...options });
  return `${part({ day: "numeric", month: "long", year: "numeric" })}, ${part({ hour: "2-digit", minute: "2-digit" })} UTC`;
}
