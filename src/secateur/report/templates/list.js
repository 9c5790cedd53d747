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
  const expected = withInterval && one.limits && !data.fidelity ? make("small", {}, `; of as many new rows, expect ${limits(one.limits).slice(1, -1)} to be ${shorten(data.classes[one.class], 30)} (95 %)`) : null;
  const words = squeeze(one.words, LONG);
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

function lineRow(line, most) {
  const one = listNow().lines[line];
  const isOpen = state.opened === line;
  const button = make("button", { type: "button", class: "quiet why-line", "aria-expanded": String(isOpen), "aria-controls": isOpen ? `line-${line}` : null, "aria-label": `Why line ${line + 1}` }, "Why");
  button.addEventListener("click", () => { openLine(line); });
  const row = make(
    "tr",
    { "data-line": line, class: isOpen ? "lit" : null },
    make("th", { scope: "row" }, String(line + 1)),
    make("td", { class: "asks" }, chip(one.class), " ", askedWords(line)),
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
  show.addEventListener("click", () => { byId("analyst").open = true; lookAtTree(); revealLeaves(one); byId("tree").scrollIntoView(); });
  return make(
    "tr",
    { class: "opened", id: `line-${line}` },
    make(
      "td",
      { colspan: 3 },
      make("p", {}, `${stands}${more} `, "It decides ", decidedWords(one, true), ". ", show),
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
  byId("list").querySelectorAll("tbody").forEach((part) => part.remove());
  byId("list").append(...list.sections.map((heading, section) => sectionPart(heading, section, most)));
}

function sectionPart(heading, section, most) {
  const lines = linesOf(listNow(), section);
  const last = lines.pop();
  const shown = openSections.has(section) || lines.length <= MOST_OPEN ? lines.length : HEAD;
  const rows = (line) => [lineRow(line, most), state.opened === line ? lineDetails(line) : null];
  const head = heading.length ? make("tr", { class: "head" }, make("th", { colspan: 3, scope: "rowgroup" }, "Among ", joined(groupLinks(heading)))) : null;
  return make("tbody", {}, head, lines.slice(0, shown).map(rows), shown < lines.length ? moreRow(section, lines.slice(shown)) : null, rows(last));
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
  const button = make("button", { type: "button", class: "quiet" }, `Show ${plural(rest.length, "more rule", "more rules")}${words}`);
  button.addEventListener("click", () => { openSections.add(section); showList(); });
  return make("tr", { class: "rest" }, make("td", { colspan: 3 }, button));
}

const budgetText = (list) => (list.is_exact ? "Exact" : list.budget ? `Up to ${number(100 * list.budget)} % may differ` : `As ${data.method.name}`);

function showNumbers() {
  const list = listNow();
  const { measured } = list;
  if (!data.fidelity) {
    byId("fig-right").textContent = measured ? percent(measured.accuracy) : "–";
    if (list.interest) {
      byId("fig-found").textContent = list.interest.recall === null ? "–" : percent(list.interest.recall);
      byId("fig-named").textContent = list.interest.precision === null ? "–" : percent(list.interest.precision);
    }
    byId("fig-same").textContent = list.is_exact ? "always" : measured ? percent(100 - measured.disagreement) : "–";
    byId("fig-same-of").textContent = list.is_exact ? "for every possible row" : data.answer.measured_on ? `of ${data.answer.measured_on}` : "";
  }
  byId("fig-rules").textContent = plural(list.n_rules, "rule", "rules");
  byId("fig-sections").textContent = list.sections.length > 1 ? `in ${list.sections.length} sections, ` : "";
  byId("fig-conditions").textContent = count(list.n_conditions);
  byId("said-faithful").textContent = list.faithful;
  byId("said-right").textContent = list.right;
  byId("guarantee").textContent = list.guarantee;
  byId("cautions").hidden = !list.cautions.length;
  byId("cautions").replaceChildren(...list.cautions.map((one) => make("p", {}, one)));
  if (data.lists.length < 2) return;
  const slider = byId("slider");
  const same = list.is_exact ? "as the tree, always" : measured ? `differs on ${percent(measured.disagreement)}` : "";
  const right = measured ? `accuracy ${points(measured.delta_accuracy)} points` : "";
  const said = [budgetText(list), plural(list.n_rules, "rule", "rules"), same, right].filter(Boolean).join(" · ");
  slider.value = state.place;
  slider.setAttribute("aria-valuetext", said);
  byId("slider-said").textContent = said;
  byId("dial-open").textContent = `${plural(list.n_rules, "rule", "rules")} · ${list.is_exact ? "exact" : measured ? `differs on ${percent(measured.disagreement)}` : "not exact"} · right ${measured ? percent(measured.accuracy) : "–"}`;
  byId("slider-back").disabled = state.place === data.list;
  document.querySelectorAll(".numbers tbody tr").forEach((row, place) => row.classList.toggle("current", data.lists.length - 1 - place === state.place));
}

function startList() {
  onList.push(() => { openSections.clear(); showList(); showNumbers(); });
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
  byId("slider").addEventListener("input", (event) => moveTo(Number(event.target.value)));
  byId("slider-back").addEventListener("click", () => moveTo(data.list));
  byId("dial-open").addEventListener("click", () => {
    const isOpen = byId("dial").classList.toggle("open");
    byId("dial-open").setAttribute("aria-expanded", String(isOpen));
  });
}
