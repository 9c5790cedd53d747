// The list of rules, and the slider under which it changes.

const HEAD = 5; // rules of a section that are shown at once
const MOST_OPEN = 7; // a section with up to so many is shown whole
const openSections = new Set(); // longer sections that the reader opened

function barElement(rows, hits, most, ofClass) {
  if (!rows) return null;
  const width = Math.max((100 * rows) / most, 0.6);
  return draw("svg", { class: `bar ${colour(ofClass)}`, "aria-hidden": "true" }, draw("rect", { class: "of-other", width: `${width.toFixed(2)}%`, height: 10 }), draw("rect", { class: "of-class", width: `${((width * hits) / rows).toFixed(2)}%`, height: 10 }));
}

// The rows beside a line, as Python words them; with what to expect of as many new rows.
function decidedWords(one, withInterval = false) {
  const isOther = data.of !== null && data.classes.length === 2 && one.class !== data.of; // the words count the class of interest
  const ends = isOther ? one.limits?.map((end) => 1 - end).reverse() : one.limits;
  const expected = withInterval && ends && !data.fidelity ? make("small", {}, unbroken(`; of as many new rows, expect ${limits(ends).slice(1, -1)} % to be `), shorten(data.classes[isOther ? data.of : one.class], 30), unbroken(" (95 %)")) : null;
  const words = unbroken(squeeze(one.words, LONG));
  const first = /^\d[\d,.]* of \d[\d,.]*(?= )/u.exec(words)?.[0] ?? "";
  return [first ? make("b", { class: "count" }, first) : null, words.slice(first.length), expected].filter(Boolean);
}

// What a line asks beside its heading; "otherwise" asks nothing, and is "always" where its section has no rule.
function askedWords(line) {
  const { lines } = listNow();
  if (lines[line].rule === null && lines[line - 1]?.section === lines[line].section) return [make("i", {}, "otherwise")];
  const own = ownGroups(listNow(), lines[line]);
  return own.length ? [make("i", {}, "if"), " ", joined(own)] : joined([]);
}

// The lines that the first screen names, and what they ask.
const topMark = () => `highest probability of ${shorten(data.classes[listNow().interest.class], 24)}`;

function showTop() {
  const { top: { lines, words }, lines: all, sections } = listNow();
  const [, which, rest] = /^(Lines? .*?\d)( (?:and \d+ more )?(?:states?|gives?) .*)$/u.exec(words) ?? [null, "", words];
  const go = make("a", { href: `#at-${lines[0] + 1}` }, which);
  go.addEventListener("click", (event) => { event.preventDefault(); goToLine(lines[0]); });
  const heading = lines.length === 1 && all[lines[0]].kept.length ? groupLinks(all[lines[0]].kept, [], listNow().words) : [];
  const asks = heading.length ? [" It asks: ", ...joined(heading), all[lines[0]].rule === null && sections.length > 1 ? ", and that no other line of its section holds." : "."] : [];
  byId("said-top").replaceChildren(...(lines.length ? [go, rest, ...asks] : []));
}

function goToLine(line) {
  openSections.add(listNow().lines[line].section);
  showList();
  const row = document.querySelector(`#list tr[data-line="${line}"]`);
  row.scrollIntoView({ block: "center" });
  row.querySelector(".why-line").focus({ preventScroll: true });
}

// The number of a line, in the colour of what the cut-offs make of it.
function numberCell(line) {
  const pile = pileOf(listNow().lines[line]);
  if (pile === null) return make("th", { scope: "row" }, String(line + 1));
  const words = bandWords()[pile];
  return make("th", { scope: "row", class: `pile band-${pile}`, title: words }, String(line + 1), make("span", { class: "hidden" }, `, ${words}`));
}

function lineRow(line, most) {
  const one = listNow().lines[line];
  const isOpen = state.opened === line;
  const button = make("button", { type: "button", class: "quiet why-line", "aria-expanded": String(isOpen), "aria-controls": isOpen ? `line-${line}` : null, "aria-label": `Why line ${line + 1}` }, "Why");
  button.addEventListener("click", () => { openLine(line); });
  const row = make(
    "tr",
    { "data-line": line, id: `at-${line + 1}`, class: isOpen ? "lit" : null },
    numberCell(line),
    make("td", { class: "asks" }, chip(one.class), " ", listNow().top.lines.includes(line) ? [make("span", { class: "top-mark" }, topMark()), " "] : null, askedWords(line)),
    make("td", { class: "decides" }, barElement(one.rows, one.hits, most, one.class), make("div", {}, make("span", {}, decidedWords(one)), button)),
  );
  row.addEventListener("pointerenter", () => pointAt(line));
  row.addEventListener("pointerleave", () => pointAt(null));
  button.addEventListener("focus", () => pointAt(line));
  button.addEventListener("blur", () => pointAt(null));
  return row;
}

function whyItem(rule, line, link, isGone) {
  const at = data.rules[rule].links.indexOf(link);
  const { reasons } = listNow().lines[line];
  const why = reasons ? reasonText(reasons[at]) : "the reason is not in this page";
  return make("li", {}, make("span", { class: "mark" }, isGone ? "✂" : "•"), make(isGone ? "del" : "span", {}, squeeze(tree.conditions[link], LONG)), make("small", {}, why));
}

// What is behind a line: its leaves, why each condition of its path went or stayed, and the diagnosis of its leaf's rule.
function lineDetails(line) {
  const one = listNow().lines[line];
  const n = one.leaves.length;
  const stands = n ? `It stands for ${plural(n, "leaf", "leaves")} of the tree` : "It stands for no leaf as a whole";
  const more = one.partly.length ? `, and decides rows of ${one.partly.length} more.` : ".";
  const show = make("button", { type: "button", class: "quiet" }, "Show them in the tree");
  const edit = data.edits.note ? null : make("button", { type: "button", class: "quiet" }, "Edit it");
  edit?.addEventListener("click", () => editLine(line));
  show.addEventListener("click", () => { byId("analyst").open = true; lookAtTree(); revealLeaves(one); byId("tree").scrollIntoView(); });
  return make(
    "tr",
    { class: "opened", id: `line-${line}` },
    make(
      "td",
      { colspan: 3 },
      make("p", {}, one.leaves.length || one.partly.length || !listNow().is_edited ? `${stands}${more} ` : "", "It decides ", decidedWords(one, true), ". ", show, " ", edit),
      one.rule === null ? make("p", {}, `It answers for the rows${listNow().sections.length > 1 ? " of its section" : ""} that no rule covers.`) : lineReasons(line),
    ),
  );
}

function lineReasons(line) {
  const { rule, kept } = listNow().lines[line];
  const { links, leaf } = data.rules[rule];
  const deep = make("details", {}, make("summary", {}, `Diagnosis of its conditions, as leaf ${leaf} has them`));
  deep.addEventListener("toggle", () => { if (deep.open && deep.childElementCount === 1) deep.append(diagnosisBody(rule)); });
  return [make("ul", { class: "whys" }, links.map((link) => whyItem(rule, line, link, !kept.includes(link)))), deep];
}

function showList() {
  const list = listNow();
  const most = Math.max(1, ...list.lines.map((one) => one.rows ?? 0));
  const size = 2 * list.lines.length + list.n_conditions;
  DENSE.forEach((least, at) => byId("list").classList.toggle(["dense", "denser", "densest"][at], size > least));
  byId("list").querySelectorAll("tbody").forEach((part) => part.remove());
  const parts = list.sections.map((heading, section) => sectionPart(heading, section, most)).filter(Boolean);
  byId("list").append(...(parts.length ? parts : [make("tbody", {}, make("tr", {}, make("td", { colspan: 3 }, "No line has all these words.")))]));
}

function sectionPart(heading, section, most) {
  const every = linesOf(listNow(), section);
  if (sought.words || sought.class !== null) {
    const found = every.filter(isSought);
    return found.length ? make("tbody", {}, sectionHead(heading), found.map((line) => lineRows(line, most))) : null;
  }
  const lines = every.slice(0, -1);
  const last = every.at(-1);
  const shown = openSections.has(section) || lines.length <= MOST_OPEN ? lines.length : HEAD;
  const rows = (line) => lineRows(line, most);
  return make("tbody", {}, sectionHead(heading), lines.slice(0, shown).map(rows), shown < lines.length ? moreRow(section, lines.slice(shown)) : null, rows(last));
}

const lineRows = (line, most) => [lineRow(line, most), state.opened === line ? lineDetails(line) : null];
const sectionHead = (heading) => (heading.length ? make("tr", { class: "head" }, make("th", { colspan: 3, scope: "rowgroup" }, "Among ", joined(groupLinks(heading, [], listNow().words)))) : null);

// A long list, or one of many classes, has an index by class and a search.
const sought = { words: "", class: null };

function isSought(line) {
  const one = listNow().lines[line];
  if (sought.class !== null && one.class !== sought.class) return false;
  const text = [String(line + 1), data.classes[one.class], ...ownGroups(listNow(), one).map(groupText)].join(" ").toLowerCase();
  return sought.words.toLowerCase().split(/\s+/u).every((word) => text.includes(word));
}

function showIndex() {
  const { lines } = listNow();
  byId("list-tools").hidden = data.classes.length < 4 && lines.length < 25;
  const button = (words, to, n) => {
    const one = make("button", { type: "button", class: "quiet", "aria-pressed": String(sought.class === to) }, shorten(words, 40), make("small", {}, ` ${n}`));
    one.addEventListener("click", () => { sought.class = to; showList(); showIndex(); });
    return one;
  };
  const sizes = data.classes.map((_, own) => lines.filter((one) => one.class === own).length);
  byId("list-index").replaceChildren(...[button("all", null, lines.length), ...data.classes.flatMap((name, own) => (sizes[own] ? [button(name, own, sizes[own])] : []))]);
}

function showWholeList() {
  for (const section of listNow().sections.keys()) openSections.add(section);
  showList();
}

// Many rules of a section wait behind a button that says how much they decide.
function moreRow(section, rest) {
  const { lines } = listNow();
  const total = (some) => some.reduce((sum, one) => sum + (one.rows ?? 0), 0);
  const [rows, all] = [total(rest.map((line) => lines[line])), total(lines)];
  const known = lines.every((one) => one.rows !== null) && all;
  const words = known ? `, which decide ${rowsText(rows)} (${share(rows / all)})` : "";
  const button = make("button", { type: "button", class: "quiet" }, make("span", {}, "Show "), `${plural(rest.length, "more rule", "more rules")}${words}`);
  button.addEventListener("click", () => { openSections.add(section); showList(); });
  return make("tr", { class: "rest" }, make("td", { colspan: 3 }, button));
}

const budgetText = (list) => (list.is_edited ? "Edited" : list.is_exact ? "Exact" : list.budget ? `Up to ${number(100 * list.budget)} % may differ` : `As ${data.method.name}`);

const agreementText = ({ n_rows: rows, interval: [low, high] }) => unbroken(`of ${count(rows)} rows held out; 95 % interval ${fixed(low, 1)} to ${fixed(high, 1)} %`);
const agreesText = ({ fidelity: { share: own, interval: [low, high] } }) => `same answer as the model for ${percent(own)} (${fixed(low, 1)} to ${fixed(high, 1)})`;

// What the page says beside the list, of a list with another tree.
function showPart() {
  byId("predicted").textContent = data.answer.predicted;
  byId("meta").replaceChildren(...[...data.meta.told, data.meta.proved && `✓ ${data.meta.proved}`].filter(Boolean).flatMap((told) => [make("span", {}, told), " "]));
  const { used, unused, n } = data.columns;
  byId("columns").replaceChildren(make("summary", {}, `Columns: the tree asks ${used.length} of ${n}; the list may ask fewer`), make("p", {}, `${used.join(", ")}.${unused.length ? ` Never asked: ${unused.join(", ")}.` : ""}`));
  for (const one of document.querySelectorAll("[data-size]")) one.textContent = count(data.size[one.dataset.size]);
}

function showNumbers() {
  const list = listNow();
  const { measured } = list;
  if (data.fidelity) {
    byId("fig-same").textContent = percent(data.fidelity.share);
    byId("fig-same-of").textContent = agreementText(data.fidelity);
    if (data.fidelity.accuracy !== null) byId("fig-right").textContent = percent(data.fidelity.accuracy);
  } else {
    byId("fig-right").textContent = measured ? percent(measured.accuracy) : "–";
    if (list.interest) {
      byId("fig-found").textContent = list.interest.recall === null ? "–" : percent(list.interest.recall);
      byId("fig-named").textContent = list.interest.precision === null ? "–" : percent(list.interest.precision);
    }
    byId("fig-same").textContent = list.is_exact ? "always" : measured ? percent(100 - measured.disagreement) : "–";
    byId("fig-same-of").textContent = list.is_exact ? "for every possible row" : data.answer.measured_on ? `of ${data.answer.measured_on}` : "";
  }
  byId("fig-rules").textContent = plural(list.lines.length, "line", "lines");
  byId("fig-otherwise").textContent = `${plural(list.n_rules, "rule", "rules")} and ${list.lines.length - list.n_rules} × “otherwise”, `;
  byId("fig-sections").textContent = list.sections.length > 1 ? `in ${list.sections.length} sections, ` : "";
  byId("fig-conditions").textContent = count(list.n_conditions);
  byId("said-faithful").textContent = list.faithful;
  byId("said-right").textContent = list.right;
  byId("said-first").textContent = list.right.split("\n")[0];
  showTop();
  byId("unknown").textContent = list.unknown;
  byId("guarantee").textContent = list.guarantee;
  byId("cautions").hidden = !list.cautions.length;
  byId("cautions").replaceChildren(...list.cautions.map((one) => make("p", {}, one)));
  if (data.lists.length < 2) return;
  const slider = byId("slider");
  const same = list.fidelity ? agreesText(list) : list.is_exact ? "as the tree, always" : measured ? `differs on ${percent(measured.disagreement)}` : "";
  const right = measured && !list.fidelity ? `accuracy ${points(measured.delta_accuracy)} points` : "";
  const said = [list.fidelity ? "" : budgetText(list), plural(list.lines.length, "line", "lines"), same, right].filter(Boolean).join(" · ");
  slider.value = state.place;
  slider.setAttribute("aria-valuetext", said);
  byId("slider-said").textContent = said;
  byId("dial-open").textContent = `${plural(list.lines.length, "line", "lines")} · ${list.is_exact ? "exact" : measured ? `differs on ${percent(measured.disagreement)}` : "not exact"} · right ${measured ? percent(measured.accuracy) : "–"}`;
  byId("slider-back").disabled = state.place === data.list;
  document.querySelectorAll("#positions .numbers tbody tr").forEach((row, place) => row.classList.toggle("current", (data.fidelity ? place : data.lists.length - 1 - place) === state.place));
}

function startList() {
  onPart.push(showPart);
  onList.push(() => { openSections.clear(); showList(); showIndex(); showNumbers(); });
  byId("list-search").addEventListener("input", (event) => { sought.words = event.target.value.trim(); showList(); });
  showIndex();
  onLine.push(() => {
    for (const row of document.querySelectorAll("#list tr[data-line]")) {
      const line = Number(row.dataset.line);
      row.classList.toggle("lit", line === lineLit());
      const button = row.querySelector(".why-line");
      const isOpen = line === state.opened;
      button.setAttribute("aria-expanded", String(isOpen));
      if (isOpen) button.setAttribute("aria-controls", `line-${line}`);
      else button.removeAttribute("aria-controls");
      const details = row.nextElementSibling?.classList.contains("opened") ? row.nextElementSibling : null;
      if (isOpen && !details) row.after(lineDetails(line));
      if (!isOpen && details) details.remove();
    }
  });
  showList();
  showNumbers();
  if (data.lists.length < 2) return;
  byId("positions").open = false; // open for readers without a slider
  byId("slider").addEventListener("input", (event) => moveTo(Number(event.target.value)));
  byId("slider-back").addEventListener("click", () => moveTo(data.list));
  byId("dial-open").addEventListener("click", () => {
    const isOpen = byId("dial").classList.toggle("open");
    byId("dial-open").setAttribute("aria-expanded", String(isOpen));
  });
}
