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

// The classes that the list gives to some completion; lines that a known value contradicts are out.
function possibleClasses(values, leaves) {
  const list = listNow();
  if (list.is_exact) return [...new Set(leaves.map((leaf) => tree.leaf_class[leaf]))];
  const held = toFeatures(values.map((entry) => entry ?? null));
  const fails = (link) => values[fieldOfLink(link)] !== undefined && goesLeft(parent[link], held, list.limit) !== (isLeft[link] === 1);
  return [...new Set(list.lines.filter((one) => !one.kept.some(fails)).map((one) => one.class))];
}

// Mark the field that is asked next; null where the answer is certain.
function showNext() {
  const { leaves, next } = reachable(entries);
  const isSure = possibleClasses(entries, leaves).length === 1;
  const place = isSure ? null : next;
  document.querySelectorAll("#row-fields .field").forEach((one) => one.classList.toggle("next", Number(one.dataset.field) === place));
  return place;
}

// What can be said of a row while some fields are not known: the answer if all completions get one, else what is asked next.
function showPartly(next) {
  const { leaves } = reachable(entries);
  const classes = possibleClasses(entries, leaves);
  const rows = leaves.map((leaf) => data.rules[ruleOfLeaf.get(leaf)]);
  const total = rows.reduce((sum, one) => sum + (one.source_support ?? NaN), 0);
  const open = data.form.fields.filter((_, place) => entries[place] === undefined).length;
  const what = next === null ? [make("h3", {}, chip(classes[0], 120)), make("p", {}, `certain, whatever the ${plural(open, "field", "fields")} left ${open === 1 ? "holds" : "hold"}`)] : [make("h3", {}, "Not certain yet"), make("p", {}, "next: ", make("b", {}, data.form.fields[next].name))];
  byId("row-answer").replaceChildren(...what);
  const parts = classes.map((own) => {
    const some = rows.filter((one) => one.class === own);
    const part = some.reduce((sum, one) => sum + (one.source_support ?? NaN), 0);
    return make("li", {}, make("span", { class: "mark" }, "•"), chip(own, 60), Number.isFinite(total) && total ? ` ${plural(some.length, "leaf", "leaves")}, ${share(part / total)} of the training rows there` : ` ${plural(some.length, "leaf", "leaves")}`);
  });
  const strange = outsideWords();
  byId("row-said").replaceChildren(...[strange ? make("p", { class: "odds" }, strange) : null, make("h4", {}, `${plural(leaves.length, "leaf is", "leaves are")} still possible`), make("ul", {}, parts)].filter(Boolean));
  byId("letter-text").value = "";
}

function outsideWords() {
  const out = data.form.fields.filter((field, place) => field.seen.length && entries[place] !== null && entries[place] !== undefined && (asHeld(entries[place]) < asHeld(field.seen[0]) || asHeld(entries[place]) > asHeld(field.seen[3])));
  return out.length ? `Outside the training range: ${out.map((field) => `${field.name} (${number(field.seen[0])} to ${number(field.seen[3])})`).join(", ")}. The rules answer, but no row like this was seen.` : "";
}

// The grounds: the shortened rule of the row's own leaf, at most four conditions in a letter.
function showLetter(found) {
  const rule = ruleOfLeaf.get(found.leaf);
  const links = listNow().is_exact ? keptLinks(rule) : listNow().lines[found.line].kept;
  const grounds = groupLinks(links, [], listNow().words).map((some) => `- ${groupText(some)} (here ${rowValue(some)})`);
  const rest = grounds.length > 4 ? `\n- and ${plural(grounds.length - 4, "further condition", "further conditions")}` : "";
  const ways = joinWays(nearestChanges(entries)).slice(0, 2).map((way) => `- ${way.changes.map((change) => change.text).join(" and ")}: ${data.classes[way.class]}`);
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
