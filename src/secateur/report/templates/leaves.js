// One rule for each leaf: a table to sort, filter and search.

const PAGE = 100;
const table = { sort: "number", descending: false, shown: PAGE, order: [] };

const reliability = (rule) => (data.rules[rule].support ? data.rules[rule].hits / data.rules[rule].support : null);

const SORT_KEYS = {
  number: (rule) => rule,
  length: (rule) => data.rules[rule].links.length - goneOf[rule].size,
  class: (rule) => data.rules[rule].class,
  support: (rule) => data.rules[rule].support ?? -1,
  reliability: (rule) => reliability(rule) ?? -1,
};

function conditionElement(rule, place, text, links, isGone) {
  const id = `why-${rule + 1}-${place}`;
  const { reasons, links: all } = data.rules[rule];
  const told = reasons ? ` ${links.map((link) => reasonText(reasons[all.indexOf(link)])).join("; ")}.` : " The reasons of so many rules are not in this page.";
  const whole = text.length > LONG ? `${text}. ` : null;
  const why = make("span", { class: "why", role: "tooltip", id }, whole, make("b", {}, isGone ? "Deleted:" : "Kept:"), told);
  const shown = make(isGone ? "del" : "span", { class: isGone ? null : "clip" }, squeeze(text, LONG));
  return make("span", { class: isGone ? "cond gone" : "cond", tabindex: 0, "aria-describedby": id }, shown, why);
}

function ruleRow(rule) {
  const listed = data.rules[rule];
  const kept = groupLinks(keptLinks(rule)).flatMap((links, place) => [...(place ? [" ", make("i", {}, "and"), " "] : []), conditionElement(rule, place, groupText(links), links, false)]);
  if (!kept.length) kept.push(make("i", {}, "always"));
  const dropped = listed.deleted.flatMap((link, place) => [conditionElement(rule, `d${place}`, tree.conditions[link], [link], true), " "]);
  const assimilated = assimilationWords(rule);
  const before = listed.source_support ? listed.source_hits / listed.source_support : null;
  const moved = listed.d_limits === null || !listed.deleted.length ? null : make("small", { class: "moved" }, ` moved ${points(100 * (reliability(rule) - before))} points ${limits(listed.d_limits)}`);
  return make(
    "tr",
    { "data-rule": rule },
    make("th", { scope: "row" }, String(rule + 1)),
    make("td", { class: "conds" }, make("div", { class: "kept" }, kept), dropped.length ? make("div", { class: "dropped" }, dropped) : null, assimilated ? make("p", { class: "fine" }, assimilated) : null, diagnosisButton(rule)),
    make("td", { class: "class" }, chip(listed.class)),
    make("td", { class: "change", "data-label": data.rows.is_weighted ? "Weight" : "Rows" }, `${count(listed.source_support)} → `, make("b", {}, count(listed.support))),
    make("td", { class: "change", "data-label": "In the class" }, `${share(before)} → `, make("b", {}, share(reliability(rule))), squeeze(listed.aside, LONG), moved),
  );
}

// Everything that a rule says, in small letters: the text that is searched, made once.
const searchTexts = new Map();
function searchText(rule) {
  if (!searchTexts.has(rule)) {
    const { links } = data.rules[rule];
    const merged = groupLinks(keptLinks(rule)).map(groupText);
    const said = [`rule ${rule + 1}`, className(rule), ...links.map((link) => tree.conditions[link]), ...merged];
    searchTexts.set(rule, said.join("\n").toLowerCase());
  }
  return searchTexts.get(rule);
}

function chosenRules() {
  const wanted = byId("search").value.trim().toLowerCase();
  const inClass = byId("by-class").value;
  const changed = byId("by-change").value;
  const key = SORT_KEYS[table.sort];
  const found = data.rules.map((_, rule) => rule).filter((rule) => {
    if (inClass !== "" && data.rules[rule].class !== Number(inClass)) return false;
    if (changed !== "" && (goneOf[rule].size > 0) !== (changed === "1")) return false;
    if (!wanted) return true;
    return /^\d+$/.test(wanted) ? rule + 1 === Number(wanted) || searchText(rule).includes(wanted) : searchText(rule).includes(wanted);
  });
  const sign = table.descending ? -1 : 1;
  return found.sort((a, b) => sign * (key(a) - key(b)) || a - b);
}

function showRules() {
  table.order = chosenRules();
  const shown = table.order.slice(0, table.shown);
  const none = make("tr", { class: "none" }, make("td", { colspan: 5 }, "No rule of a leaf says this. Try the name of a column, a value, or another class."));
  byId("rule-rows").replaceChildren(...(shown.length ? shown.flatMap((rule) => [ruleRow(rule), ...(opened.has(rule) ? [diagnosisRow(rule)] : [])]) : [none]));
  byId("rules-shown").textContent =
    table.order.length === nRules ? plural(nRules, "rule", "rules") : `${count(table.order.length)} of ${plural(nRules, "rule", "rules")}`;
  const rest = table.order.length - shown.length;
  const more = byId("more-rules");
  more.hidden = rest <= 0;
  more.textContent = `Show ${Math.min(PAGE, rest)} more of ${count(rest)}`;
}

function sortBy(key) {
  table.descending = table.sort === key ? !table.descending : key === "support" || key === "reliability";
  table.sort = key;
  for (const head of document.querySelectorAll("#rule-table th[data-sort]")) {
    if (head.dataset.sort === key) head.setAttribute("aria-sort", table.descending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  showRules();
}

function startLeaves() {
  for (const head of document.querySelectorAll("#rule-table th[data-sort]")) {
    const button = make("button", { type: "button" }, head.textContent);
    button.addEventListener("click", () => sortBy(head.dataset.sort));
    head.replaceChildren(button);
  }
  let waiting = 0;
  const again = () => { table.shown = PAGE; showRules(); };
  byId("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(again, 120); });
  byId("by-class").addEventListener("change", again);
  byId("by-change").addEventListener("change", again);
  byId("rule-tools").addEventListener("submit", (event) => event.preventDefault());
  byId("more-rules").addEventListener("click", () => { table.shown += PAGE; showRules(); });
  addEventListener("keydown", (event) => { if (event.key === "Escape") document.activeElement?.closest?.(".cond")?.blur(); });
  // Nobody looks at what is folded away: the table is made when it is opened.
  byId("leaves").addEventListener("toggle", showRules, { once: true });
  onPart.push(() => { searchTexts.clear(); opened.clear(); again(); });
}
