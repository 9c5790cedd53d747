// Try a row: the form, which rules fire for what is in it, which one decides, and why.

const OTHER = { category: "(any other)", group: "(none of these)" };
let entries = [];

function optionText(field, place) {
  return place < field.labels.length ? shorten(field.labels[place], 80) : OTHER[field.kind];
}

function entryText(field, entry) {
  if (entry === null) return "missing";
  return field.kind === "category" || field.kind === "group" ? optionText(field, entry) : String(entry);
}

function fieldElement(field, place) {
  const id = `field-${place}`;
  const isNumber = field.kind === "number" || field.kind === "cells";
  const choices = field.labels.map((_, label) => label).concat(field.takes_unlisted ? [field.labels.length] : []);
  const input = isNumber
    ? make("input", { type: "number", id, step: "any", inputmode: "decimal", "aria-describedby": `${id}-wrong` })
    : make("select", { id, "aria-describedby": `${id}-wrong` }, choices.map((choice) => make("option", { value: choice }, optionText(field, choice))));
  const absent = field.takes_missing ? make("input", { type: "checkbox", id: `${id}-absent` }) : null;
  const row = make(
    "div",
    { class: "field", "data-field": place },
    make("label", { for: id, dir: "auto", title: field.name.length > 60 ? field.name.slice(0, 2000) : null }, field.name),
    input,
    absent ? make("label", { class: "absent" }, absent, " missing") : null,
    make("span", { class: "wrong", id: `${id}-wrong` }),
  );
  const read = () => {
    input.disabled = Boolean(absent?.checked);
    entries[place] = absent?.checked ? null : isNumber ? (input.value.trim() === "" ? NaN : Number(input.value)) : Number(input.value);
    showVerdict();
  };
  input.addEventListener("input", read);
  absent?.addEventListener("change", read);
  return row;
}

// Why an entry is refused, or "".
function complaint(field, entry) {
  if (entry === null || field.kind === "category" || field.kind === "group") return "";
  if (Number.isNaN(entry)) return field.takes_missing ? "Enter a number, or tick missing." : "Enter a number.";
  const held = isNarrowFloat && field.kind === "number" ? Math.fround(entry) : entry;
  if (!Number.isFinite(held)) return `This is too large for ${tree.dtype}.`;
  if ((field.lowest !== null && entry < field.lowest) || (field.highest !== null && entry > field.highest)) {
    if (field.highest === null) return `Enter a number that is at least ${field.lowest}.`;
    if (field.lowest === null) return `Enter a number that is at most ${field.highest}.`;
    return `Enter a number between ${field.lowest} and ${field.highest}.`;
  }
  return "";
}

// What is known of a column and does not hold for an entry, or "".
function brokenFact(field, entry) {
  const known = field.known;
  if (entry === null) return known && !known.missing ? `${field.name} is never missing` : "";
  if (field.kind === "category") return known?.codes && !known.codes.includes(entry) ? `${field.name} is never ${optionText(field, entry)}` : "";
  if (field.kind !== "number") return "";
  if (field.n_decimals !== null && Number(entry.toFixed(field.n_decimals)) !== entry) {
    return field.n_decimals === 0 ? `${field.name} is a whole number` : `${field.name} has at most ${plural(field.n_decimals, "decimal", "decimals")}`;
  }
  const beyond = known && ((known.low !== null && entry <= known.low) || (known.high !== null && entry > known.high));
  return beyond ? `${field.name} is never ${entry}` : "";
}

function setEntries(values) {
  entries = values.slice();
  data.form.fields.forEach((field, place) => {
    const input = byId(`field-${place}`);
    const absent = byId(`field-${place}-absent`);
    if (absent) absent.checked = values[place] === null;
    input.disabled = values[place] === null && Boolean(absent);
    if (values[place] !== null) input.value = String(values[place]);
  });
  showVerdict();
}

function exampleOf(rule) {
  const { example } = data.rules[rule];
  return data.form.fields.map((field, place) => (String(place) in (example ?? {}) ? example[place] : field.usual));
}

function rowValue(about) {
  const place = data.form.fields.findIndex((field) =>
    field.kind === "group" ? about >= tree.n_features && field.features.some((feature) => fieldGroup(feature) === about) : field.features[0] === about);
  return place < 0 ? "" : entryText(data.form.fields[place], entries[place]);
}

// The subject that links on a group's feature have.
function fieldGroup(feature) {
  const node = tree.feature.indexOf(feature);
  return node < 0 ? -1 : tree.about[tree.left[node]];
}

function ruleLine(rule) {
  const groups = keptGroups(rule);
  return groups.length ? shorten(groups.map(groupText).join(" and "), 240) : "always";
}

function showVerdict() {
  const wrong = data.form.fields.map((field, place) => complaint(field, entries[place]));
  data.form.fields.forEach((_, place) => {
    byId(`field-${place}-wrong`).textContent = wrong[place];
    byId(`field-${place}`).setAttribute("aria-invalid", String(Boolean(wrong[place])));
  });
  const said = byId("row-said");
  if (wrong.some(Boolean)) {
    said.replaceChildren(make("p", {}, "Some values cannot be used; see the notes beside them."));
    return;
  }
  const found = decide(entries);
  const { rule } = found;
  const gone = goneAt(state.step, rule);
  const asked = new Set(keptGroups(rule).map((links) => tree.about[links[0]]));
  data.form.fields.forEach((field, place) => {
    const isAsked = field.features.some((feature) => asked.has(feature) || asked.has(fieldGroup(feature)));
    byId(`field-${place}`).closest(".field").classList.toggle("unasked", !isAsked);
  });
  const kept = keptGroups(rule).map((links) =>
    make("li", {}, make("span", { class: "mark" }, "✓"), squeeze(groupText(links), LONG), make("small", {}, ` (this row: ${rowValue(tree.about[links[0]])})`)));
  const skipped = data.rules[rule].links.filter((link) => gone.has(link)).map((link) => {
    const met = found.holds(link) ? "met all the same" : "not met, and need not be";
    const why = reasonOf(rule, link);
    return make("li", { class: "skipped" }, make("span", { class: "mark" }, "–"), make("del", {}, squeeze(tree.conditions[link], LONG)), ` ${met}`, why ? make("small", {}, ` ${why}`) : null);
  });
  const others = found.firing.slice(1);
  const differ = others.filter((other) => data.rules[other].class !== data.rules[rule].class);
  const trees = data.classes[tree.leaf_class[found.leaf]];
  const broken = data.form.fields.map((field, place) => brokenFact(field, entries[place])).filter(Boolean);
  said.replaceChildren(
    make("h3", { dir: "auto" }, shorten(className(rule), 120)),
    make("p", {}, `Rule ${rule + 1} decides${data.steps[state.step].support[rule] === null ? "" : `: ${share(reliabilityAt(state.step, rule))} of its ${plural(data.steps[state.step].support[rule], "training row", "training rows")} are in this class`}.`),
    make("h4", {}, "It asks"),
    make("ul", {}, kept.length ? kept : make("li", {}, make("span", { class: "mark" }, "✓"), "nothing: it always fires")),
    ...(skipped.length ? [make("h4", {}, "It no longer asks"), make("ul", {}, skipped)] : []),
    make("h4", {}, others.length ? `${plural(others.length, "other rule fires", "other rules fire")}` : "No other rule fires"),
    make("ul", {}, others.slice(0, 12).map((other) => make("li", {}, make("span", { class: "mark" }, data.rules[other].class === data.rules[rule].class ? "=" : "≠"), `Rule ${other + 1}, ${shorten(className(other), 60)}`, make("small", {}, ` ${ruleLine(other)}`)))),
    ...(others.length > 12 ? [make("p", { class: "fine" }, `and ${others.length - 12} more`)] : []),
    ...(differ.length ? [make("p", { class: "odds" }, "These rules disagree. The one that ranks first decides: by training reliability, then rows, then fewer conditions, then place in the list.")] : []),
    ...(broken.length ? [make("p", { class: "odds" }, `The guarantee does not cover this row, which contradicts what is known: ${shorten(broken.join("; "), 240)}.`)] : []),
    make("p", { class: "fine" }, `The tree itself predicts ${shorten(trees, 120)} (leaf ${found.leaf}, rule ${found.own + 1}).`),
  );
}

function startRow() {
  byId("row-fields").append(...data.form.fields.map(fieldElement));
  const withExample = data.rules.map((_, rule) => rule).filter((rule) => data.rules[rule].example !== null);
  byId("row-pick").append(make("option", { value: "" }, "choose a rule"), ...withExample.map((rule) => make("option", { value: rule }, `rule ${rule + 1}: ${shorten(className(rule), 40)}`)));
  byId("row-pick").addEventListener("change", (event) => { if (event.target.value !== "") setEntries(exampleOf(Number(event.target.value))); });
  byId("row-usual").addEventListener("click", () => { byId("row-pick").value = ""; setEntries(data.form.fields.map((field) => field.usual)); });
  byId("row-form").addEventListener("submit", (event) => event.preventDefault());
  listeners.push(showVerdict);
  setEntries(data.form.fields.map((field) => field.usual));
}
