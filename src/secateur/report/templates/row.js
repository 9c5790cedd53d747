// Try a row: the form, what the list says of what is in it, why, and what would change the answer.

const OTHER = { category: "(any other)", group: "(none of these)" };
let entries = []; // undefined where nothing is known
const locked = new Set(); // fields that cannot change

function optionText(field, place) {
  return place < field.labels.length ? shorten(field.labels[place], 80) : OTHER[field.kind];
}

// A date is held as days since 1970-01-01, a time of the day as seconds since midnight; both are entered as such.
const MOMENT_INPUT = { clock: "time", date: "datetime-local", day: "date" };
const SECONDS = { day: 86400, minute: 60, second: 1, microsecond: 0.001 };
const momentInput = ({ kind, step }) => MOMENT_INPUT[kind === "date" && step === "day" ? "day" : kind];

function momentText({ kind, step }, entry) {
  const seconds = kind === "clock" ? entry : entry * 86400;
  // A number of the tree's own type lies beside the moment that it stands for.
  const steps = step === "day" ? Math.floor(seconds / SECONDS.day + 1e-6) : Math.round(seconds / SECONDS[step]);
  const at = new Date(steps * SECONDS[step] * 1000);
  if (Number.isNaN(at.getTime())) return "";
  const [date, clock] = at.toISOString().split("T");
  const time = clock.slice(0, step === "minute" || step === "day" ? 5 : step === "second" ? 8 : 12);
  return kind === "clock" ? time : step === "day" ? date : `${date}T${time}`;
}

// As tables are read: rounded down to the step of the training table. No field takes less than a millisecond.
function momentOf({ kind, step }, text) {
  if (text.trim() === "") return NaN;
  const whole = (milliseconds) => Math.floor(milliseconds / (SECONDS[step] * 1000)) * SECONDS[step] * 1000;
  if (kind !== "clock") return whole(Date.parse(text.includes("T") ? `${text}Z` : text)) / 86400000;
  const [hours, minutes, seconds] = text.split(":").map(Number);
  return whole(Math.round((hours * 3600 + minutes * 60 + (seconds || 0)) * 1000)) / 1000;
}

function entryText(field, entry) {
  if (entry === null) return "missing";
  if (field.moment) return momentText(field.moment, entry).replace("T", " ");
  return field.kind === "category" || field.kind === "group" ? optionText(field, entry) : String(entry);
}

const rough = (value) => count(Number(value.toPrecision(3)));

function fieldElement(field, place) {
  const id = `field-${place}`;
  const isNumber = field.kind === "number" || field.kind === "cells";
  const choices = field.labels.map((_, label) => label).concat(field.takes_unlisted ? [field.labels.length] : []);
  const input = field.moment
    ? make("input", { type: momentInput(field.moment), id, step: field.moment.step === "day" ? null : "any", "aria-describedby": `${id}-wrong` })
    : isNumber
    ? make("input", { type: "number", id, step: "any", inputmode: "decimal", "aria-describedby": `${id}-wrong` })
    : make("select", { id, "aria-describedby": `${id}-wrong` }, make("option", { value: "" }, "not known"), choices.map((choice) => make("option", { value: choice }, optionText(field, choice))));
  const lock = make("input", { type: "checkbox", id: `${id}-lock`, "aria-label": `${field.name} cannot change` });
  lock.addEventListener("change", () => { if (lock.checked) locked.add(place); else locked.delete(place); showVerdict(); });
  const absent = field.takes_missing ? make("input", { type: "checkbox", id: `${id}-absent` }) : null;
  const row = make(
    "div",
    { class: "field", "data-field": place },
    make("label", { for: id, dir: "auto", "data-name": field.name, title: field.name.length > 60 ? field.name.slice(0, 2000) : null }, field.unit ? `${field.name} (${field.unit})` : field.name),
    input,
    make("label", { class: "lock", title: "Cannot change" }, lock, " lock"),
    absent ? make("label", { class: "absent" }, absent, " missing") : null,
    make("span", { class: "wrong", id: `${id}-wrong` }),
    field.seen.length ? make("small", { class: "seen" }, field.seen[1] === field.seen[2] ? `usual ${rough(field.seen[1])}` : `usual ${rough(field.seen[1])} to ${rough(field.seen[2])}`) : null,
  );
  const read = () => {
    input.disabled = Boolean(absent?.checked);
    const isEmpty = input.value.trim() === "" && !input.validity?.badInput;
    entries[place] = absent?.checked ? null : isEmpty ? undefined : field.moment ? momentOf(field.moment, input.value) : isNumber && input.value.trim() === "" ? NaN : Number(input.value);
    showVerdict();
  };
  input.addEventListener("input", read);
  absent?.addEventListener("change", read);
  return row;
}

// Why an entry is rejected, or "".
function complaint(field, entry) {
  if (entry === null || entry === undefined || field.kind === "category" || field.kind === "group") return "";
  const wanted = field.moment ? (field.moment.kind === "clock" ? "a time" : "a date") : "a number";
  if (Number.isNaN(entry)) return field.takes_missing ? `Enter ${wanted}, or tick missing.` : `Enter ${wanted}.`;
  const held = field.kind === "number" ? asHeld(entry) : entry;
  if (!Number.isFinite(held)) return `This is too large for ${tree.dtype}.`;
  if ((field.lowest !== null && entry < field.lowest) || (field.highest !== null && entry > field.highest)) {
    if (field.highest === null) return `Enter a number that is at least ${field.lowest}.`;
    if (field.lowest === null) return `Enter a number that is at most ${field.highest}.`;
    return `Enter a number between ${field.lowest} and ${field.highest}.`;
  }
  return "";
}

// What an entry violates of the stated facts about a column: in words, and the facts themselves.
function brokenFacts(field, entry) {
  const isNumber = field.kind === "number";
  if (entry !== null && !isNumber && field.kind !== "category") return [];
  const held = isNumber && entry !== null ? asHeld(entry) : entry; // facts are about the numbers that the tree holds
  const breaks = ({ missing, low, high, codes }) => {
    if (held === null) return !missing;
    return isNumber ? (low !== null && held <= low) || (high !== null && held > high) : Boolean(codes) && !codes.includes(held);
  };
  const facts = (field.known?.claims ?? []).filter(breaks).map((claim) => claim.text);
  const broken = facts.length ? [{ words: `${field.name} is never ${entryText(field, entry)}`, facts }] : [];
  if (isNumber && held !== null && field.n_decimals !== null && asHeld(Number(held.toFixed(field.n_decimals))) !== held) {
    const words = field.n_decimals === 0 ? `${field.name} is a whole number` : `${field.name} has at most ${plural(field.n_decimals, "decimal", "decimals")}`;
    broken.push({ words, facts: [field.decimals_fact] });
  }
  return broken;
}

// What a row violates, and whether a list's guarantee applies to it nevertheless, as an explanation says it in Python.
function brokenWords(broken, list) {
  const isAssumed = broken.some(({ facts }) => facts.some((fact) => list.facts.includes(fact)));
  const said = isAssumed ? "The guarantee does not apply to this row, which violates stated facts" : "This row violates stated facts that the guarantee does not depend on";
  return `${said}: ${shorten(broken.map(({ words }) => words).join("; "), 240)}.`;
}

function setEntries(values, isExample = false) {
  byId("try").classList.toggle("example", isExample);
  entries = values.slice();
  data.form.fields.forEach((field, place) => {
    const input = byId(`field-${place}`);
    const absent = byId(`field-${place}-absent`);
    if (absent) absent.checked = values[place] === null;
    input.disabled = values[place] === null && Boolean(absent);
    if (values[place] === undefined) input.value = "";
    else if (values[place] !== null) input.value = field.moment ? momentText(field.moment, values[place]) : String(values[place]);
  });
  showVerdict();
}

function exampleOf(rule) {
  const { example } = data.rules[rule];
  return data.form.fields.map((field, place) => (String(place) in (example ?? {}) ? example[place] : field.usual));
}

// What the row holds in the column that links are about.
function rowValue(links) {
  const place = fieldOfLink(links[0]);
  return entryText(data.form.fields[place], entries[place]);
}

function metItem(links) {
  return make("li", {}, make("span", { class: "mark" }, "✓"), conditionSpan(links), make("small", {}, ` here ${rowValue(links)}`));
}

// Why no rule of the section holds: of each what the row does not have, the rules that lack least first.
function missedItems(found, section) {
  const list = listNow();
  const rules = linesOf(list, section).slice(0, -1);
  const missed = rules.map((line) => ({ line, links: ownGroups(list, list.lines[line]).filter((links) => !links.every(found.holds)) }));
  missed.sort((a, b) => a.links.length - b.links.length || a.line - b.line);
  const item = ({ line, links }) => make("li", {}, make("span", { class: "mark" }, "–"), `Line ${line + 1} asks `, joined(links), make("small", {}, ` here ${links.map(rowValue).join(", ")}`));
  const rest = missed.slice(3);
  const more = rest.length ? make("details", {}, make("summary", {}, `and ${plural(rest.length, "rule", "rules")} more`), make("ul", {}, rest.slice(0, 200).map(item))) : null;
  return [make("ul", {}, missed.slice(0, 3).map(item)), more];
}

function changeItem(way) {
  const button = make("button", { type: "button", class: "quiet" }, "Try it");
  button.addEventListener("click", () => { byId("row-pick").value = ""; setEntries(way.entries); });
  const parts = way.changes.flatMap((change, place) => [place ? make("i", {}, " and ") : null, make("span", { class: "asked" }, squeeze(change.text, LONG)), make("small", {}, ` (now ${entryText(data.form.fields[change.place], entries[change.place])})`)]);
  return make("li", {}, make("span", { class: "mark" }, "→"), ...parts.filter(Boolean), ": ", chip(way.class, 30), " ", button);
}

const SHOWN_CHANGES = 4;

function changesPart() {
  const ways = nearestChanges(entries);
  if (!ways.length) return [make("p", { class: "fine" }, tree.leaf_class.some((one, node) => isLeaf(node) && one !== tree.leaf_class[leafOf(entries)]) ? "No possible row gets another answer from the tree." : "The tree has only this answer.")];
  const different = joinWays(ways);
  const n = ways[0].changes.length;
  const rest = different.length - SHOWN_CHANGES;
  return [
    make("h4", {}, `${n === 1 ? "One change is enough" : `It takes ${n} changes`} for another answer${listNow().is_exact ? "" : " from the tree"}`),
    make("ul", { class: "ways" }, different.slice(0, SHOWN_CHANGES).map(changeItem)),
    rest > 0 ? make("p", { class: "fine" }, `and ${plural(rest, "other way", "other ways")} with as few changes`) : null,
    data.form.is_tied ? make("p", { class: "fine" }, "Some columns depend on one another (see Details); a change may need others to be possible.") : null,
  ];
}

function leafWords(found) {
  const { source_support: rows, source_hits: hits } = data.rules[ruleOfLeaf.get(found.leaf)];
  const own = tree.leaf_class[found.leaf];
  const sure = rows ? `: ${share(hits / rows)} of ${rowsText(rows)}` : "";
  if (own !== found.class) return make("p", { class: "odds" }, "The tree itself says ", chip(own), ` here (leaf ${found.leaf}${sure}): the short list differs from it on this row.`);
  const words = `In the tree this row ends in leaf ${found.leaf}${sure ? `${sure} are ${shorten(data.classes[own], 60)}` : ""}.`;
  const { limits: range, hits: ofLine, rows: all } = listNow().lines[found.line];
  const differs = rows && range && (hits / rows < range[0] || hits / rows > range[1]);
  return make("p", { class: differs ? "aside" : "fine" }, words, differs ? ` That is ${hits / rows < range[0] ? "less" : "more"} sure than the ${share(ofLine / all)} above.` : "");
}

function showVerdict() {
  const wrong = data.form.fields.map((field, place) => complaint(field, entries[place]));
  data.form.fields.forEach((_, place) => {
    byId(`field-${place}-wrong`).textContent = wrong[place];
    byId(`field-${place}`).setAttribute("aria-invalid", String(Boolean(wrong[place])));
  });
  if (wrong.some(Boolean)) {
    byId("row-answer").replaceChildren(make("p", {}, "Some values cannot be used; see the notes beside them."));
    byId("row-said").replaceChildren();
    return;
  }
  const open = entries.includes(undefined) ? findOpen(entries) : { next: null };
  showNext(open.next);
  if (entries.includes(undefined)) return showPartly(open);
  const list = listNow();
  const found = decide(entries);
  const one = list.lines[found.line];
  const isRule = one.rule !== null;
  const hasRules = linesOf(list, one.section).length > 1;
  const heading = headingOf(list, one);
  byId("row-answer").replaceChildren(make("h3", {}, chip(found.class, 120)), ...actionOf(one), make("p", {}, `line ${found.line + 1}${isRule ? "" : hasRules ? ", otherwise" : ", always"}: `, decidedWords(one, true)));
  const asked = new Set(isRule ? one.kept.map(fieldOfLink) : []);
  data.form.fields.forEach((_, place) => byId(`field-${place}`).closest(".field").classList.toggle("unasked", isRule && !asked.has(place)));
  const others = found.holding.slice(1);
  const broken = data.form.fields.flatMap((field, place) => brokenFacts(field, entries[place]));
  const parts = heading.length ? [make("h4", {}, "Its section"), make("ul", { class: "section" }, groupLinks(heading, [], list.words).map(metItem))] : [];
  if (isRule) {
    const own = ownGroups(list, one);
    const always = `it holds for ${heading.length ? "the whole section" : "every row"}`;
    parts.push(make("h4", {}, "Because"), make("ul", {}, own.length ? own.map(metItem) : make("li", {}, make("span", { class: "mark" }, "✓"), always)));
  } else if (hasRules) parts.push(make("h4", {}, `Because no rule${heading.length ? " of its section" : ""} holds`), ...missedItems(found, one.section));
  if (others.length) parts.push(make("p", { class: "fine" }, `${others.length === 1 ? "Line" : "Lines"} ${others.map((line) => line + 1).join(", ")} ${others.length === 1 ? "holds" : "hold"} too${others.some((line) => list.lines[line].class !== one.class) ? "; these rules disagree, and the first decides" : ""}.`));
  if (broken.length) parts.push(make("p", { class: "odds" }, brokenWords(broken, list)));
  const strange = outsideWords();
  if (strange) parts.unshift(make("p", { class: "odds" }, strange));
  byId("row-said").replaceChildren(...[...parts, leafWords(found), ...changesPart()].filter(Boolean));
  showLetter(found);
}

function makeForm() {
  byId("row-fields").replaceChildren(...data.form.fields.map(fieldElement));
  const withExample = data.rules.map((_, rule) => rule).filter((rule) => data.rules[rule].example !== null).slice(0, 500);
  byId("row-pick").replaceChildren(make("option", { value: "" }, "choose a leaf"), ...withExample.map((rule) => make("option", { value: rule }, `leaf ${data.rules[rule].leaf}: ${shorten(className(rule), 40)}`)));
}

// Another list may ask for other columns; what was entered for each stays.
const entered = new Map();
function keepEntries() {
  const isExample = byId("try").classList.contains("example");
  document.querySelectorAll("#row-fields .field > label:first-child").forEach((label, place) => { entered.set(label.dataset.name, [entries[place], locked.has(place)]); });
  locked.clear();
  makeForm();
  data.form.fields.forEach((field, place) => { if (entered.get(field.name)?.[1]) { locked.add(place); byId(`field-${place}-lock`).checked = true; } });
  setEntries(data.form.fields.map((field) => (entered.has(field.name) ? entered.get(field.name)[0] : isExample ? field.usual : undefined)), isExample);
}

function startRow() {
  makeForm();
  onPart.push(keepEntries);
  byId("row-pick").addEventListener("change", (event) => { if (event.target.value !== "") setEntries(exampleOf(Number(event.target.value)), true); });
  byId("row-usual").addEventListener("click", () => { byId("row-pick").value = ""; setEntries(data.form.fields.map((field) => field.usual), true); });
  byId("row-form").addEventListener("submit", (event) => event.preventDefault());
  onList.push(showVerdict);
  byId("row-form").addEventListener("input", (event) => { if (event.target.id !== "row-pick") byId("try").classList.remove("example"); });
  setEntries(data.form.fields.map((field) => field.usual), true);
}
