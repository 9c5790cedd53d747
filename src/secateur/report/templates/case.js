// The case on the desk: what is still needed, values out of range, the link to it, print, and the letter.

// Where a row may end while some fields are not known: all leaves that are left, and the field to ask next.
function reachable(values) {
  const held = toFeatures(values.map((entry) => entry ?? null));
  const leaves = [];
  let next = null;
  const visit = (node) => {
    if (isLeaf(node)) return leaves.push(node);
    const place = fieldOfFeature.get(tree.feature[node]);
    if (values[place] !== undefined) return visit(goesLeft(node, held) ? tree.left[node] : tree.right[node]);
    next ??= place;
    visit(tree.left[node]);
    visit(tree.right[node]);
  };
  visit(0);
  return { leaves, next };
}

const MOST_WORK = 30_000; // links looked at

// The lines that decide some completion, and whether no others are among them: where that would take long, they are all
// that no known value contradicts.
function possibleLines(values) {
  const list = listNow();
  const held = toFeatures(values.map((entry) => entry ?? null));
  const isKnown = (link) => values[fieldOfLink(link)] !== undefined;
  const fails = (link) => isKnown(link) && goesLeft(parent[link], held, list.limit) !== (isLeft[link] === 1);
  const open = (line) => list.lines[line].kept.filter((link) => !isKnown(link));
  const left = list.sections.map((_, section) => linesOf(list, section).filter((line) => !list.lines[line].kept.some(fails)));
  const found = new Set();
  let work = 0;
  const visit = (links, lines) => {
    work += links.length + 1;
    if (work > MOST_WORK || lines.every((line) => found.has(line))) return;
    const [line, ...later] = lines;
    const asked = open(line).filter((link) => !links.includes(link));
    if (!isEmpty([], [...links, ...asked], list.limit)) found.add(line);
    asked.forEach((link, place) => {
      const rest = [...links, ...asked.slice(0, place), siblingOf(link)];
      if (!isEmpty([], rest, list.limit)) visit(rest, later);
    });
  };
  for (const [section, lines] of left.entries()) {
    const heading = list.sections[section].filter((link) => !isKnown(link));
    if (lines.length && !isEmpty([], heading, list.limit)) visit(heading, lines);
  }
  return work > MOST_WORK ? [left.flat(), false] : [[...found].sort((a, b) => a - b), true];
}

// What is still open: the classes and lines of all completions, the leaves of the tree, and the field to ask next, null where
// the class is certain. An exact list asks as its tree does; another one, for what most of the lines ask that are left.
function findOpen(values) {
  const list = listNow();
  const { leaves, next } = reachable(values);
  const [lines, isWhole] = possibleLines(values);
  const classes = [...new Set(list.is_exact && !isWhole ? leaves.map((leaf) => tree.leaf_class[leaf]) : lines.map((line) => list.lines[line].class))];
  if (classes.length === 1) return { classes, lines, leaves, next: null };
  if (list.is_exact) return { classes, lines, leaves, next };
  const times = new Map();
  for (const line of lines) for (const place of new Set(list.lines[line].kept.map(fieldOfLink))) if (values[place] === undefined) times.set(place, (times.get(place) ?? 0) + 1);
  return { classes, lines, leaves, next: [...times.keys()].reduce((best, place) => (times.get(place) > times.get(best) ? place : best)) };
}

function showNext(next) {
  document.querySelectorAll("#row-fields .field").forEach((one) => one.classList.toggle("next", Number(one.dataset.field) === next));
}

// What can be said of a row while some fields are not known: the answer if all completions get one, else what is asked next.
function showPartly({ classes, lines, leaves, next }) {
  const list = listNow();
  const open = data.form.fields.filter((_, place) => entries[place] === undefined).length;
  const bands = new Set(lines.map((line) => pileOf(list.lines[line])));
  const certain = `certain, whatever the ${open === 1 ? "field" : `${open} fields`} left ${open === 1 ? "holds" : "hold"}`;
  const what = next === null ? [make("h3", {}, chip(classes[0], 120)), ...(bands.size === 1 ? actionOf(list.lines[lines[0]]) : []), make("p", {}, certain)] : [make("h3", {}, "Not certain yet"), make("p", {}, "next: ", make("b", {}, data.form.fields[next].name))];
  byId("row-answer").replaceChildren(...what);
  const some = lines.slice(0, 6).map((line) => make("li", {}, make("span", { class: "mark" }, "•"), chip(list.lines[line].class, 60), ` line ${line + 1}: `, decidedWords(list.lines[line])));
  const more = lines.length > 6 ? make("li", {}, make("span", { class: "mark" }, "•"), `and ${plural(lines.length - 6, "more line", "more lines")}`) : null;
  const isOwn = leaves.length === 1 && list.is_exact;
  const grounds = isOwn ? groupLinks(keptLinks(ruleOfLeaf.get(leaves[0])), [], list.words) : [];
  const strange = outsideWords();
  byId("row-said").replaceChildren(...[
    strange ? make("p", { class: "odds" }, strange) : null,
    grounds.length ? make("h4", {}, "Because") : null,
    grounds.length ? make("ul", {}, grounds.map(metItem)) : null,
    make("h4", {}, lines.length === 1 ? "The line that decides" : `${lines.length} lines may decide`),
    make("ul", {}, [...some, more].filter(Boolean)),
  ].filter(Boolean));
  byId("letter-text").value = "";
}

function outsideWords() {
  const out = data.form.fields.filter((field, place) => field.seen.length && entries[place] !== null && entries[place] !== undefined && (asHeld(entries[place]) < asHeld(field.seen[0]) || asHeld(entries[place]) > asHeld(field.seen[3])));
  return out.length ? `Outside the training range: ${out.map((field) => `${field.name} (${number(field.seen[0])} to ${number(field.seen[3])})`).join(", ")}. The rules answer, but no row like this was seen.` : "";
}

// The signs of a condition as words, as in Python.
const SIGN_WORDS = { "<": "below", ">": "above", "≤": "at most", "≥": "at least" };
const withoutSigns = (text) => {
  const told = text.replace(/^(\S+(?: %)?) < (.+) ≤ (\S+(?: %)?)$/u, "$2 > $1 and ≤ $3").replace(/ ([<>≤≥]) (?=[-−\d])/gu, (_, sign) => ` ${SIGN_WORDS[sign]} `);
  return told === text ? text : told.replaceAll(" or is missing", " or missing");
};

// The grounds: the shortened rule of the row's own leaf, at most four conditions in a letter.
function showLetter(found) {
  const rule = ruleOfLeaf.get(found.leaf);
  const links = listNow().is_exact ? keptLinks(rule) : listNow().lines[found.line].kept;
  const grounds = groupLinks(links, [], listNow().words).map((some) => {
    const here = `${data.form.fields[fieldOfLink(some[0])].name} is ${rowValue(some)}`;
    return here === groupText(some) ? `- ${here}` : `- ${here} (the rule: ${withoutSigns(groupText(some))})`;
  });
  const rest = grounds.length > 4 ? `\n- and ${plural(grounds.length - 4, "further condition", "further conditions")}` : "";
  const ways = (listNow().is_exact ? joinWays(nearestChanges(entries)) : []).slice(0, 4).map((way) => `- ${way.changes.map((change) => withoutSigns(change.text)).join(" and ")}: ${data.classes[way.class]}`);
  byId("letter-text").value = `Answer: ${data.classes[found.class]}\n\nReasons:\n${grounds.slice(0, 4).join("\n") || "- none: the answer is always the same"}${rest}\n${ways.length ? `\nThe answer would be another with:\n${ways.join("\n")}\n` : ""}\nMade with ${data.title}, ${data.meta.told.join(", ")}.`;
}

function caseText() {
  const kept = {};
  data.form.fields.forEach((field, place) => { if (entries[place] !== undefined) kept[field.name] = entries[place]; });
  return `#case=${encodeURIComponent(JSON.stringify(kept))}`;
}

function readCase() {
  if (!location.hash.startsWith("#case=")) return;
  let kept = null;
  try { kept = JSON.parse(decodeURIComponent(location.hash.slice(6))); } catch { return; }
  if (kept === null || typeof kept !== "object") return;
  const fits = (field, entry) => entry === null ? field.takes_missing : typeof entry === "number" && (field.labels.length === 0 || (Number.isInteger(entry) && entry >= 0 && entry < field.labels.length + (field.takes_unlisted ? 1 : 0)));
  setEntries(data.form.fields.map((field) => (field.name in kept && fits(field, kept[field.name]) ? kept[field.name] : undefined)));
}

async function copyText(text, button) {
  const before = button.textContent;
  try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "Select and copy"; }
  setTimeout(() => { button.textContent = before; }, 1500);
}

function startCase() {
  byId("case-new").addEventListener("click", () => { byId("row-pick").value = ""; setEntries(data.form.fields.map(() => undefined)); document.querySelector(".field.next input, .field.next select")?.focus(); });
  byId("case-link").addEventListener("click", (event) => { history.replaceState(null, "", caseText()); copyText(location.href, event.currentTarget); });
  byId("case-print").addEventListener("click", () => { document.body.classList.add("case-only"); window.print(); document.body.classList.remove("case-only"); });
  byId("case-letter").addEventListener("click", (event) => { byId("letter").hidden = !byId("letter").hidden; event.currentTarget.setAttribute("aria-expanded", String(!byId("letter").hidden)); });
  byId("letter-copy").addEventListener("click", (event) => copyText(byId("letter-text").value, event.currentTarget));
  byId("print").addEventListener("click", () => window.print());
  byId("copy").addEventListener("change", (event) => { const name = event.target.value; if (name) copyText(data.copies[name], event.target.options[0]); event.target.value = ""; });
  byId("copy").closest("label").hidden = !Object.keys(data.copies).length;
  addEventListener("hashchange", readCase);
  readCase();
}
