// Edits of the list, as Python makes them. Which answers change is geometry; how many rows, from the cells in the file,
// or from the rows behind the page.

const journal = [];
const MOST_REGIONS = 500;
const SHOWN_REGIONS = 50;

// A list as sections of lines; "otherwise" comes last and asks for the heading alone.
const toDraft = (list) => list.sections.map((heading, section) => ({ heading, lines: linesOf(list, section).map((line) => ({ ...list.lines[line] })) }));
const isBelow = (part, node) => node === 0 || part.heading.includes(node);
const rowsOfSection = ({ heading }) => data.rules.filter(({ links }) => isBelow({ heading: links }, heading.at(-1) ?? 0)).reduce((sum, rule) => sum + (rule.source_support ?? 0), 0);
const ownLinks = (part, line) => line.kept.slice(part.heading.length);

function findLine(draft, number) {
  let left = number;
  for (const part of draft) {
    if (left <= part.lines.length) return [part, part.lines[left - 1]];
    left -= part.lines.length;
  }
  throw new Error(`There is no line ${number}.`);
}

// Join all sections below a node; the "otherwise" of the one with most training rows stays, not a struck one.
function joinSections(draft, node, struck) {
  const parts = draft.filter((part) => isBelow(part, node));
  const most = parts.filter((part) => part !== struck).reduce((best, part) => (best && rowsOfSection(best) >= rowsOfSection(part) ? best : part), null);
  const heading = pathTo(node);
  const joined = { heading, lines: [...parts.flatMap((part) => part.lines.slice(0, -1)), { ...most.lines.at(-1), kept: heading, text: null }] };
  draft.splice(draft.indexOf(parts[0]), 1, joined); // the others need not follow it
  for (const part of parts.slice(1)) draft.splice(draft.indexOf(part), 1);
}

function leaveOut(draft, features, name) {
  const asks = (link) => features.includes(tree.feature[parent[link]]);
  let isAsked = false;
  for (let at = draft.flatMap((part) => part.heading).find(asks); at !== undefined; at = draft.flatMap((part) => part.heading).find(asks)) {
    isAsked = true;
    joinSections(draft, parent[at], null);
  }
  for (const part of draft) {
    for (const line of part.lines.slice(0, -1)) {
      const own = ownLinks(part, line);
      isAsked ||= own.some(asks);
      if (own.some(asks) && own.every(asks)) part.lines.splice(part.lines.indexOf(line), 1);
      else if (own.some(asks)) Object.assign(line, { kept: line.kept.filter((link, place) => place < part.heading.length || !asks(link)), text: null });
    }
  }
  if (!isAsked) throw new Error(`No line and no heading asks about ${name}.`);
}

function strikeColumn(part, line, number, features, name) {
  const asks = (link) => features.includes(tree.feature[parent[link]]);
  const own = ownLinks(part, line);
  if (line.rule === null || !own.some(asks)) throw new Error(`Line ${number} does not ask about ${name} beside its heading.`);
  if (own.every(asks)) throw new Error(`Line ${number} asks about nothing but ${name}: strike the line.`);
  line.kept = line.kept.filter((link, place) => place < part.heading.length || !asks(link));
  line.text = null;
}

function applyEdit(draft, edit) {
  const features = edit.column === undefined ? [] : data.form.fields.find((field) => field.name === edit.column)?.features ?? [];
  if (edit.edit === "without") return leaveOut(draft, features, edit.column);
  if (edit.edit === "rounded") return undefined;
  const [part, line] = findLine(draft, edit.line);
  if (edit.edit === "answer") {
    const to = data.labels.indexOf(edit.to);
    if (line.class === to) throw new Error(`Line ${edit.line} predicts ${data.classes[to]} already.`);
    Object.assign(line, { class: to, text: null });
  } else if (edit.column !== undefined) strikeColumn(part, line, edit.line, features, edit.column);
  else if (line.rule !== null) part.lines.splice(part.lines.indexOf(line), 1);
  else if (!part.heading.length) throw new Error("The only “otherwise” cannot be struck, because every row needs an answer: give it another one.");
  else joinSections(draft, parent[part.heading.at(-1)], part);
  return undefined;
}

// The list that edits make of the one that the page begins with; what is counted comes later.
function makeEdited(edits) {
  const base = data.lists[data.list];
  const draft = toDraft(base);
  for (const edit of edits) applyEdit(draft, edit);
  // What "otherwise" is called depends on whether a rule stands before it; rounded limits read differently everywhere.
  const isRounded = edits.some((edit) => edit.edit === "rounded");
  if (edits.filter((edit) => edit.edit === "rounded").length > 1 || (isRounded && !data.edits.rounding)) throw new Error("No limit has a shorter decimal between its neighbouring training values.");
  for (const { lines } of draft) for (const line of lines) if (isRounded || (edits.length && line.rule === null && lines.length === 1)) line.text = null;
  const blank = { share: null, leaves: [], partly: [], reasons: null, rows: null, hits: null, limits: null, counts: null, unseen: null, words: "" };
  const list = { ...base, budget: 0, is_exact: false, is_edited: true, tolerance: null, facts: [], measured: null, interest: null, cautions: [], right: "", top: { lines: [], words: "" }, sections: draft.map((part) => part.heading), lines: draft.flatMap((part, section) => part.lines.map((line) => ({ ...line, ...blank, section }))) };
  list.n_rules = list.lines.filter((one) => one.rule !== null).length;
  const sizes = list.lines.map((one) => ownGroups(list, one).length);
  list.n_conditions = sizes.concat(draft.map((part) => groupLinks(part.heading).length)).reduce((sum, one) => sum + one, 0);
  if (isRounded) takeLimits(list, data.edits.rounding);
  return list;
}

function takeLimits(list, { limit, conditions, merged }) {
  list.words = { conditions, merged };
  list.limit = tree.limit.map((one, node) => limit[node] ?? one);
}

// The rows of each cell as values of the tree's features: any number in the cell does.
let cellRows = null;
function cellsOf() {
  const { cells } = data.edits;
  cellRows ??= cells.sides.map((sides) => {
    const values = new Float64Array(tree.n_features);
    cells.asked.forEach(({ feature, values: known, is_number: isNumber }, place) => {
      const side = sides[place];
      values[feature] = side < known.length ? known[side] : isNumber && side === known.length ? Infinity : NaN;
    });
    return values;
  });
  return cellRows;
}

function leafAt(values) {
  let leaf = 0;
  while (!isLeaf(leaf)) leaf = goesLeft(leaf, values) ? tree.left[leaf] : tree.right[leaf];
  return leaf;
}

const lineAt = (list, values) => list.lines.findIndex((one) => one.kept.every((link) => goesLeft(parent[link], values, list.limit) === (isLeft[link] === 1)));

// What a list costs, and the rows of its lines, by the cells.
function countCells(list) {
  const { cells } = data.edits;
  const price = {};
  const decided = cellsOf().map((values) => [lineAt(list, values), tree.leaf_class[leafAt(values)], leafAt(values)]);
  ["training", "unseen"].forEach((kind, at) => {
    const counts = cells[kind];
    if (!counts) return;
    const [caught, lost] = [data.classes.map(() => 0), data.classes.map(() => 0)];
    let [rows, differs] = [cells.left_out[at], 0];
    for (const one of list.lines) one[kind === "unseen" ? "unseen" : "counts"] = data.classes.map(() => 0);
    counts.forEach((own, cell) => {
      const [line, said] = decided[cell];
      const one = list.lines[line];
      own.forEach((n, c) => {
        rows += n;
        one[kind === "unseen" ? "unseen" : "counts"][c] += n;
        if (one.class === said) return;
        differs += n;
        if (c === one.class) caught[c] += n;
        if (c === said) lost[c] += n;
      });
    });
    price[kind] = { rows, differs, caught, lost, left_out: cells.left_out[at] };
  });
  if (data.lists[data.list].tolerance !== null && !cells.left_out[0]) for (const [kind, own] of Object.entries(price)) countOff(list, decided, cells[kind], own);
  for (const one of list.lines) {
    const own = one.unseen ?? one.counts;
    one.rows = own.reduce((sum, n) => sum + n, 0);
    one.hits = own[one.class];
    one.words = `${count(one.hits)} of ${count(one.rows)} ${one.unseen ? "unseen" : "training"} rows are ${data.classes[one.class]}`;
  }
  return price;
}

// Rows that are off: another class, or a probability of the tree's class beyond the tolerance of their leaf's.
function countOff(list, decided, counts, price) {
  const sum = (own) => own.reduce((all, n) => all + n, 0);
  const shareOf = (own, c, rest) => (sum(own ?? []) ? own[c] / sum(own) : rest);
  Object.assign(price, { off: 0, largest: 0 });
  counts.forEach((own, cell) => {
    const [line, said, leaf] = decided[cell];
    const rule = data.rules.find((one) => one.leaf === leaf);
    const share = rule.source_support ? rule.source_hits / rule.source_support : shareOf(tree.counts?.[leaf], said, 0);
    const moved = sum(own) ? Math.abs(shareOf(list.lines[line].counts, said, list.lines[line].class === said ? 1 : 0) - share) : 0;
    price.largest = Math.max(price.largest, moved);
    if (list.lines[line].class !== said || moved > data.lists[data.list].tolerance + 1e-9) price.off += sum(own);
  });
}

// Regions in which a list gives another class than the tree, leaf by leaf; they do not overlap. Rows of a leaf may lie in any
// section once limits are rounded.
function changedRegions(list) {
  const found = [];
  const visit = (leaf, links, lines, own) => {
    if (found.length > MOST_REGIONS || lines.every((one) => one.class === own)) return;
    const [first, ...later] = lines;
    const asked = first.kept.filter((link) => !links.includes(link) && (list.limit || !leaf.includes(link)));
    if (first.class !== own && !isEmpty(leaf, [...links, ...asked], list.limit)) found.push({ leaf, links: [...links, ...asked], tree: own, list: first.class });
    asked.forEach((link, place) => {
      const rest = [...links, ...asked.slice(0, place), siblingOf(link)];
      if (!isEmpty(leaf, rest, list.limit)) visit(leaf, rest, later, own);
    });
  };
  for (const rule of data.rules) visit(rule.links, [], list.lines.filter((one) => !isEmpty(rule.links, one.kept, list.limit)), rule.class);
  return found;
}

const placeText = ({ leaf, links }, list) => (list.limit ? [regionText(leaf), regionText(links, list.words)].filter(Boolean).join(" and ") : regionText([...leaf, ...links]));

function regionText(links, words = undefined) {
  const asks = (link) => words?.conditions[link] ?? tree.conditions[link];
  return groupLinks(links, [], words).map((some) => {
    const field = data.form.fields[fieldOfLink(some[0])];
    const room = roomOf(field, some);
    const isNumber = room.codes === null && (room.lower !== null || room.upper !== null);
    return isNumber ? [room.lower, room.upper].filter((link) => link !== null).map(asks).join(" and ") : room.codes ? labelsText(field, room.codes) : groupText(some);
  }).join(" and ");
}

// Which line to strike next, so that few are left: "otherwise" of the smallest section if there are too many, else the
// rule whose loss changes fewest training rows.
function cheapestLine(edits, most) {
  const list = makeEdited(edits);
  countCells(list);
  const sum = (one) => one.counts.reduce((all, n) => all + n, 0);
  const places = [...list.lines.keys()];
  const rests = places.filter((line) => list.lines[line].rule === null && list.sections[list.lines[line].section].length);
  if (list.sections.length > most) return rests.reduce((best, line) => (sum(list.lines[line]) < sum(list.lines[best]) ? line : best)) + 1;
  const cost = (line) => countCells(makeEdited([...edits, { edit: "strike", line: line + 1 }])).training.differs;
  const costs = places.filter((line) => list.lines[line].rule !== null).map((line) => [cost(line), line]);
  return costs.reduce((best, one) => (one[0] < best[0] ? one : best))[1] + 1;
}

// An edit of a line says what the line was, so that a journal is not replayed on another list; a line that an earlier
// edit changed has no exact words here.
function withWas(edits, edit) {
  const was = edit.line === undefined ? null : makeEdited(edits).lines[edit.line - 1]?.text;
  return was ? { ...edit, was } : edit;
}

function limitLines(edits, most, reason) {
  const made = edits.slice();
  while (makeEdited(made).lines.length > most) made.push(withWas(made, { edit: "strike", line: cheapestLine(made, most), reason: reason || `at most ${most} lines` }));
  if (made.length === edits.length) throw new Error(`The list has no more than ${most} lines: nothing is struck.`);
  return made;
}

// What the edits make of the list and what they cost, found in the file.
function priceHere(edits) {
  const list = makeEdited(edits);
  const price = data.edits.cells ? countCells(list) : {};
  const regions = changedRegions(list);
  const times = edits.length === 1 ? "once" : `${edits.length} times`;
  list.faithful = list.guarantee = `Edited ${times}: it promises nothing but what is counted under “Edit the list”.`;
  return { list, price, journal: edits, n_regions: regions.length, regions_note: regions.length > MOST_REGIONS ? `and more: over ${MOST_REGIONS} regions` : "", regions: regions.slice(0, SHOWN_REGIONS).map((one) => ({ text: placeText(one, list), tree: data.classes[one.tree], list: data.classes[one.list] })) };
}

async function askRows(question, asked) {
  const [, token] = location.pathname.split("/");
  const answer = await fetch(`/${token}/${data.desk.training}/${question}`, { method: "POST", body: JSON.stringify(asked) });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

async function priceEdits(edits, most = null, reason = "") {
  if (most !== null && !(Number.isInteger(most) && most >= 1)) throw new Error("Enter how many lines may be left, from 1 on.");
  if (!data.edits.with_rows) return priceHere(most === null ? edits : limitLines(edits, most, reason));
  const found = await askRows("edit", { journal: edits.map(({ limits: _, ...edit }) => edit), lines: most, reason });
  found.list.is_edited = true;
  takeLimits(found.list, found.list);
  return found;
}

function priceWords(kind, price) {
  if (!price) return null;
  const most = price.left_out ? ` to ${count(price.differs + price.left_out)}` : "";
  const told = (words, counts) => counts.flatMap((n, c) => (n ? [`${words} ${count(n)} ${data.classes[c]}`] : []));
  const parts = [...told("catches", price.caught), ...told("loses", price.lost)];
  const points = (share, n = Number((100 * share).toPrecision(3))) => `${n} point${n === 1 ? "" : "s"}`;
  const kept = data.lists[data.list].tolerance;
  const off = kept === null ? "" : Number.isFinite(price.off) ? ` ${count(price.off)} get another class, or a probability more than ${points(kept)} from their leaf’s; the largest move is ${points(price.largest)}.` : " How many probabilities move is not known here.";
  return make("li", {}, make("b", {}, `${count(price.differs)}${most} of ${count(price.rows)} ${kind} rows`), ` get another class than from the tree${parts.length ? `: it ${parts.join(", ")}` : ""}.${off}`);
}

function showEdits(found) {
  state.edited = found?.list ?? null;
  byId("edit-undo").disabled = byId("edit-save").disabled = byId("edit-copy").disabled = !journal.length;
  const words = (edit) => [edit.edit, edit.line ? `line ${edit.line}` : "", edit.column ?? "", edit.to === undefined ? "" : `to ${data.classes[data.labels.indexOf(edit.to)]}`].filter(Boolean).join(" ");
  byId("edit-journal").replaceChildren(...journal.map((edit) => make("li", {}, words(edit), edit.reason ? make("small", {}, ` ${edit.reason}`) : null)));
  const known = Object.keys(found?.price ?? {}).length;
  const parts = found ? [make("ul", {}, ["training", "unseen"].map((kind) => priceWords(kind, found.price[kind]))), known || data.edits.with_rows ? null : make("p", { class: "fine" }, "How many rows that are, this file does not know.")] : [];
  byId("edit-price").replaceChildren(...parts.filter(Boolean));
  const regions = found?.regions ?? [];
  const rest = found?.regions_note || (found && found.n_regions > regions.length ? `and ${found.n_regions - regions.length} more` : "");
  const more = rest ? make("li", {}, rest) : null;
  byId("edit-where").hidden = !regions.length && !more;
  byId("edit-regions").replaceChildren(...[...regions.map((one) => make("li", {}, one.text, ": ", make("b", {}, one.list), ` instead of ${one.tree}`)), more].filter(Boolean));
  if (data.groups) showGroups(found?.groups ?? (found ? null : data.groups));
  moveTo(data.list);
  fillEdit();
}

// The choices of the form follow the list as it is now.
function fillEdit() {
  const kind = byId("edit-kind").value;
  const { lines } = state.edited ?? data.lists[data.list];
  const asks = (ids) => { for (const id of ["line", "column", "to", "lines"]) byId(`edit-${id}`).closest("label").hidden = !ids.includes(id); };
  asks({ strike: ["line"], column: ["line", "column"], without: ["column"], answer: ["line", "to"], rounded: [], limit: ["lines"] }[kind]);
  const keep = (select, options) => { const before = select.value; select.replaceChildren(...options); if (options.some((one) => one.value === before)) select.value = before; };
  keep(byId("edit-line"), lines.map((one, line) => make("option", { value: line + 1 }, shorten(`${line + 1} ${data.classes[one.class]}: ${one.rule === null ? "otherwise" : ownGroups(state.edited ?? data.lists[data.list], one).map(groupText).join(" and ")}`, 70))));
  const own = lines[Number(byId("edit-line").value) - 1];
  const asked = kind === "column" ? own.kept.slice(headingOf(state.edited ?? data.lists[data.list], own).length) : lines.flatMap((one) => one.kept);
  keep(byId("edit-column"), [...new Set(asked.map(fieldOfLink))].map((place) => make("option", {}, data.form.fields[place].name)));
  byId("edit-lines").max = lines.length - 1;
}

function editLine(line) {
  byId("edits").open = true;
  byId("edit-kind").value = "strike";
  fillEdit();
  byId("edit-line").value = line + 1;
  byId("edit-kind").focus();
}

async function makeEdit(event) {
  event.preventDefault();
  const value = (id) => byId(`edit-${id}`).value;
  const kind = value("kind");
  const reason = value("reason").trim();
  const edit = { edit: kind === "column" ? "strike" : kind };
  if (["strike", "column", "answer"].includes(kind)) edit.line = Number(value("line"));
  if (["column", "without"].includes(kind)) edit.column = value("column");
  if (kind === "answer") edit.to = data.labels[Number(value("to"))];
  if (reason) edit.reason = reason;
  await settleEdits(() => (kind === "limit" ? priceEdits(journal, Number(value("lines")), reason) : priceEdits([...journal, data.edits.with_rows ? edit : withWas(journal, edit)])));
  byId("edit-reason").value = "";
}

async function settleEdits(price) {
  byId("edit-wrong").textContent = data.edits.with_rows ? "Counting …" : "";
  try {
    const found = await price();
    journal.splice(0, journal.length, ...found.journal);
    showEdits(journal.length ? found : null);
    byId("edit-wrong").textContent = "";
  } catch (error) {
    byId("edit-wrong").textContent = error instanceof TypeError ? "Nobody answers: is `secateur open` still running?" : error.message;
  }
}

const journalText = () => `${JSON.stringify({ page: data.title, made_of: data.meta.told, journal }, null, 1)}\n`;

function saveFile(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function startEdits() {
  const panel = byId("edits");
  panel.hidden = Boolean(data.edits.note);
  if (panel.hidden) return;
  const kinds = { strike: "strike a line", column: "strike a condition", without: "leave out a column", answer: "give another answer", rounded: "round limits", limit: "keep so many lines" };
  const canCount = data.edits.with_rows || data.edits.cells;
  if (!canCount) delete kinds.limit;
  if (!data.edits.with_rows && !data.edits.rounding) delete kinds.rounded;
  byId("edit-kind").append(...Object.entries(kinds).map(([value, words]) => make("option", { value }, words)));
  byId("edit-to").append(...data.classes.map((name, value) => make("option", { value }, shorten(name, 60))));
  byId("edit-note").textContent = data.edits.cells_note;
  for (const id of ["kind", "line"]) byId(`edit-${id}`).addEventListener("change", fillEdit);
  byId("edit-form").addEventListener("submit", makeEdit);
  byId("edit-undo").addEventListener("click", () => settleEdits(() => (journal.length > 1 ? priceEdits(journal.slice(0, -1)) : { journal: [] })));
  byId("edit-save").addEventListener("click", () => saveFile("edits.json", journalText(), "application/json"));
  byId("edit-copy").addEventListener("click", (event) => copyText(journalText(), event.currentTarget));
  fillEdit();
}
