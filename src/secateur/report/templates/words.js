// How things are written and how elements are made. Text only ever goes in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function draw(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

const byId = (id) => document.getElementById(id);

// Python writes 1e-05 and JavaScript 0.00001; both are read the same.
function number(value) {
  return String(Number(Number(value).toPrecision(6)));
}

function count(value) {
  if (value === null || value === undefined) return "unknown";
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  return Math.abs(value) < 1e-6 ? number(value) : Number(value.toPrecision(6)).toLocaleString("en-US", { maximumFractionDigits: 20 });
}

// As Python rounds: what lies in the middle goes to the even digit, where toFixed takes the larger.
function fixed(value, digits) {
  const size = Math.abs(value);
  const lower = size.toFixed(digits + 1).slice(0, -1);
  const isMiddle = (size * 2 ** (digits + 1)) % 2 === 1;
  const text = isMiddle && "02468".includes(lower.at(-1)) ? lower : size.toFixed(digits);
  return value < 0 ? `-${text}` : text;
}

// Columns are narrow: the sign stays beside its number.
const unbroken = (text) => text.replaceAll(" %", "\u00a0%");

function share(value) {
  if (value === null || value === undefined) return "unknown";
  const text = `${fixed(100 * value, 1)} %`;
  if (value > 0 && value < 1 && (text === "0.0 %" || text === "100.0 %")) return unbroken(value < 0.5 ? "<0.1 %" : ">99.9 %");
  return unbroken(text);
}

const percent = (value) => (value === null ? "–" : share(value / 100));

// The limits of a share.
const limits = ([low, high]) => `(${fixed(100 * low, 1)} to ${fixed(100 * high, 1)})`.replaceAll("-", "−");

function points(value) {
  if (value === null) return "–";
  if (Math.abs(value) < 0.005) return "±0";
  return (value > 0 ? "+" : "−") + fixed(Math.abs(value), 2);
}

function plural(n, one, many) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

function shorten(text, size) {
  const letters = [...text.slice(0, 4 * size + 4)];
  return letters.length <= size ? text : `${letters.slice(0, size - 1).join("")}…`;
}

// A condition in little room: the middle goes, because names differ at their start and numbers stand at the end.
function squeeze(text, size) {
  if (text.length <= size) return text;
  const letters = [...text];
  if (letters.length <= size) return text;
  const tail = Math.floor(size / 2) - 1;
  return `${letters.slice(0, size - tail - 1).join("").trimEnd()}…${letters.slice(-tail).join("").trimStart()}`;
}

const className = (rule) => data.classes[data.rules[rule].class];
const colour = (ofClass) => (ofClass < 0 ? "k-other" : `k${ofClass % N_COLOURS}`);
const chip = (ofClass, size = 60) => make("span", { class: `chip ${colour(ofClass)}`, dir: "auto" }, shorten(data.classes[ofClass], size));

// The training rows of something: a number of rows, or a weight.
function rowsText(rows) {
  if (rows === null) return "rows unknown";
  return data.rows.is_weighted ? `weight ${count(rows)}` : plural(rows, "row", "rows");
}

// How a condition is shown: without its middle if it is long; whole, and with the exact numbers, under the pointer.
function conditionSpan(links) {
  const text = groupText(links);
  const whole = tree.exact && !links.words ? links.map((link) => tree.exact[link]).join(" and ") : text;
  return make("span", { class: "asked", title: whole === text && text.length <= LONG ? null : whole.slice(0, 4000) }, squeeze(text, LONG));
}

// A condition that says "or" gets brackets unless it is alone.
const saysOr = (links) => groupText(links).replace(data.form.fields[fieldOfLink(links[0])]?.name ?? "", "").includes(" or ");

function joined(groups) {
  if (!groups.length) return [make("i", {}, "always")];
  const item = (links) => (groups.length > 1 && saysOr(links) ? [make("span", { class: "bracketed" }, "(", conditionSpan(links), ")")] : [conditionSpan(links)]);
  return groups.flatMap((links, place) => (place ? [" ", make("i", {}, "and"), " ", ...item(links)] : item(links)));
}
