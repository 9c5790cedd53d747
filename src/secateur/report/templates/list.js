// The list of rules, and the slider under which it changes.

const HEAD = 5; // lines that are shown at once
const MOST_OPEN = 7; // a list up to this long is shown whole
let isWhole = false;

function barElement(rows, hits, most, ofClass) {
  if (!rows) return null;
  const width = Math.max((100 * rows) / most, 0.6);
  return draw("svg", { class: `bar ${colour(ofClass)}`, "aria-hidden": "true" }, draw("rect", { class: "of-other", width: `${width.toFixed(2)}%`, height: 10 }), draw("rect", { class: "of-class", width: `${((width * hits) / rows).toFixed(2)}%`, height: 10 }));
}

// The rows of a line and the share of its class, in the words of `describe_rows` in Python.
function decidedWords(one, withInterval = false) {
  if (one.rows === null) return ["rows unknown"];
  if (!one.rows) return [data.fidelity ? "no held-out row" : "no row"];
  const part = make("b", {}, share(one.hits / one.rows));
  if (data.fidelity) {
    const rows = plural(one.rows, "held-out row", "held-out rows");
    return one.rows < FEW_ROWS ? [`${rows}, too few to tell: the model says the same for ${count(one.hits)}`] : [`${rows}, the model says the same for `, part, ` ${limits(one.limits)}`];
  }
  const rows = data.rows.is_ranked ? rowsText(one.rows) : `the model counts ${count(one.rows)}`;
  const interval = withInterval && one.limits ? make("small", {}, `, 95 % interval ${limits(one.limits).slice(1, -1)}`) : null;
  return [`${rows}, `, part, ` ${shorten(data.classes[one.class], 30)}`, interval, squeeze(one.aside, LONG)].filter(Boolean);
}

function lineRow(line, most) {
  const rule = listNow().rules[line];
  const isOpen = state.opened === line;
  const button = make("button", { type: "button", class: "quiet why-line", "aria-expanded": String(isOpen), "aria-controls": isOpen ? `line-${line}` : null, "aria-label": `Why rule ${line + 1}` }, "Why");
  button.addEventListener("click", () => { openLine(line); });
  const row = make(
    "tr",
    { "data-line": line, class: isOpen ? "lit" : null },
    make("th", { scope: "row" }, String(line + 1)),
    make("td", { class: "asks" }, joined(groupLinks(rule.kept))),
    make("td", { class: "decides" }, barElement(rule.rows, rule.hits, most, rule.class), make("div", {}, make("span", {}, decidedWords(rule)), button)),
  );
  row.addEventListener("pointerenter", () => pointAt(line));
  row.addEventListener("pointerleave", () => pointAt(null));
  button.addEventListener("focus", () => pointAt(line));
  button.addEventListener("blur", () => pointAt(null));
  return row;
}

function whyItem(rule, line, link, isGone) {
  const at = data.rules[rule].links.indexOf(link);
  const { reasons } = listNow().rules[line];
  const why = reasons ? reasonText(reasons[at]) : "the reason is not in this page";
  return make("li", {}, make("span", { class: "mark" }, isGone ? "✂" : "•"), make(isGone ? "del" : "span", {}, squeeze(tree.conditions[link], LONG)), make("small", {}, why));
}

// What is behind a line: its leaves, why each condition of its path went or stayed, and the diagnosis of its leaf's rule.
function lineDetails(line) {
  const one = listNow().rules[line];
  const kept = new Set(one.kept);
  const { links, leaf } = data.rules[one.rule];
  const n = one.leaves.length;
  const stands = n ? `It stands for ${plural(n, "leaf", "leaves")} of the tree` : "It stands for no leaf as a whole";
  const more = one.partly.length ? `, and decides rows of ${one.partly.length} more.` : ".";
  const show = make("button", { type: "button", class: "quiet" }, "Show them in the tree");
  show.addEventListener("click", () => { revealLeaves(one); byId("tree").scrollIntoView(); });
  const deep = make("details", {}, make("summary", {}, `Diagnosis of its conditions, as leaf ${leaf} has them`));
  deep.addEventListener("toggle", () => { if (deep.open && deep.childElementCount === 1) deep.append(diagnosisBody(one.rule)); });
  return make(
    "tr",
    { class: "opened", id: `line-${line}` },
    make(
      "td",
      { colspan: 3 },
      make("p", {}, `${stands}${more} `, "It decides ", decidedWords(one, true), ". ", show),
      make("ul", { class: "whys" }, links.map((link) => whyItem(one.rule, line, link, !kept.has(link)))),
      deep,
    ),
  );
}

function showList() {
  const list = listNow();
  const body = byId("list");
  const most = Math.max(1, list.otherwise.rows ?? 0, ...list.rules.map((rule) => rule.rows ?? 0));
  const shown = isWhole || list.rules.length <= MOST_OPEN ? list.rules.length : HEAD;
  const parts = [];
  let group = null;
  list.rules.slice(0, shown).forEach((rule, line) => {
    if (!group || group.class !== rule.class) {
      group = { class: rule.class, rows: make("tbody", {}, make("tr", { class: "head" }, make("th", { colspan: 3, scope: "colgroup" }, chip(rule.class), list.rules[line + 1]?.class === rule.class ? " if one of these holds" : " if"))) };
      parts.push(group.rows);
    }
    group.rows.append(lineRow(line, most));
    if (state.opened === line) group.rows.append(lineDetails(line));
  });
  const rest = list.rules.slice(shown);
  if (rest.length) parts.push(moreRow(rest));
  const last = list.otherwise;
  parts.push(make("tbody", {}, make("tr", { class: "head last" }, make("th", { colspan: 2, scope: "row" }, list.rules.length ? "otherwise " : "always ", chip(last.class)), make("td", { class: "decides" }, barElement(last.rows, last.hits, most, last.class), make("span", {}, decidedWords(last))))));
  body.querySelectorAll("tbody").forEach((part) => part.remove());
  body.append(...parts);
}

// The lines that decide fewest rows come last; many of them wait behind a button that says how much they decide.
function moreRow(rest) {
  const rows = rest.reduce((sum, rule) => sum + (rule.rows ?? 0), 0);
  const all = listNow().rules.reduce((sum, rule) => sum + (rule.rows ?? 0), listNow().otherwise.rows ?? 0);
  const known = rest.every((rule) => rule.rows !== null) && all;
  const words = known ? `, which decide ${rowsText(rows)} (${share(rows / all)})` : "";
  const button = make("button", { type: "button", id: "whole-list", class: "quiet" }, `Show ${plural(rest.length, "more rule", "more rules")}${words}`);
  button.addEventListener("click", () => { isWhole = true; showList(); });
  return make("tbody", { class: "rest" }, make("tr", {}, make("td", { colspan: 3 }, button)));
}

const budgetText = (list) => (list.is_exact ? "Exact" : list.budget ? `Up to ${number(100 * list.budget)} % may differ` : `As ${data.method.name}`);

function showNumbers() {
  const list = listNow();
  const { measured } = list;
  if (!data.fidelity) {
    byId("fig-right").textContent = measured ? percent(measured.accuracy) : "–";
    byId("fig-same").textContent = list.is_exact ? "always" : measured ? percent(100 - measured.disagreement) : "–";
    byId("fig-same-of").textContent = list.is_exact ? "for every possible row" : data.answer.measured_on ? `of ${data.answer.measured_on}` : "";
  }
  byId("fig-rules").textContent = plural(list.rules.length, "rule", "rules");
  byId("fig-conditions").textContent = count(list.n_conditions);
  byId("said-faithful").textContent = list.faithful;
  byId("said-right").textContent = list.right;
  byId("guarantee").textContent = list.guarantee;
  byId("cautions").hidden = !list.cautions.length;
  byId("cautions").replaceChildren(...list.cautions.map((one) => make("p", {}, one)));
  showDropped();
  if (data.lists.length < 2) return;
  const slider = byId("slider");
  const same = list.is_exact ? "as the tree, always" : measured ? `differs on ${percent(measured.disagreement)}` : "";
  const right = measured ? `accuracy ${points(measured.delta_accuracy)} points` : "";
  const said = [budgetText(list), plural(list.rules.length, "rule", "rules"), same, right].filter(Boolean).join(" · ");
  slider.value = state.place;
  slider.setAttribute("aria-valuetext", said);
  byId("slider-said").textContent = said;
  byId("dial-open").textContent = `${plural(list.rules.length, "rule", "rules")} · ${list.is_exact ? "exact" : measured ? `differs on ${percent(measured.disagreement)}` : "not exact"} · right ${measured ? percent(measured.accuracy) : "–"}`;
  byId("slider-back").disabled = state.place === data.list;
  document.querySelectorAll(".numbers tbody tr").forEach((row, place) => row.classList.toggle("current", data.lists.length - 1 - place === state.place));
}

// Rules of leaves that the list does not write, each with what says it too or what leaving it out cost.
function showDropped() {
  const { dropped } = listNow();
  if (!dropped.length) { byId("dropped").replaceChildren(); return; }
  const items = dropped.map((one) => make("li", {}, `Leaf ${one.leaf}: ${joinedText(keptLinks(ruleOfLeaf.get(one.leaf)))}`, make("small", {}, ` ${reasonText(one.why)}.`)));
  byId("dropped").replaceChildren(make("details", {}, make("summary", {}, `Why ${plural(items.length, "rule of a leaf is", "rules of leaves are")} not in the list`), make("ul", {}, items)));
}

function joinedText(links) {
  const groups = groupLinks(links);
  const text = (group) => squeeze(groupText(group), LONG);
  return groups.map((group) => (groups.length > 1 && saysOr(group) ? `(${text(group)})` : text(group))).join(" and ") || "always";
}

function startList() {
  onList.push(() => { isWhole = false; showList(); showNumbers(); });
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
