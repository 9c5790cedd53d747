// The table of rules: sort, filter, search, and rows drawn from the slider's position.

const PAGE = 100;
const table = { sort: "number", descending: false, shown: PAGE, order: [] };

const SORT_KEYS = {
  number: (rule) => rule,
  length: (rule) => data.rules[rule].links.length - goneAt(state.step, rule).size,
  class: (rule) => data.rules[rule].class,
  support: (rule) => data.steps[state.step].support[rule] ?? -1,
  reliability: (rule) => reliabilityAt(state.step, rule) ?? -1,
};

function conditionElement(rule, place, text, links, isGone) {
  const id = `why-${rule + 1}-${place}`;
  const reasons = links.map((link) => reasonOf(rule, link)).filter(Boolean);
  const told = reasons.length ? ` ${reasons.join("; ")}.` : ` at this value of ${data.knob.symbol}; the reason in full is told for the value that the rules were made with.`;
  const whole = text.length > LONG ? `${text}. ` : null;
  const why = make("span", { class: "why", id }, whole, make("b", {}, isGone ? "Deleted:" : "Kept:"), told);
  const shown = make(isGone ? "del" : "span", { class: isGone ? null : "clip" }, squeeze(text, LONG));
  return make("span", { class: isGone ? "cond gone" : "cond", tabindex: 0, "aria-describedby": id }, shown, why);
}

function pairElement(before, after, most) {
  const bar = (kind, value, y) =>
    value === null ? null : draw("rect", { class: kind, y, width: `${((100 * value) / most).toFixed(1)}%`, height: 5 });
  return draw("svg", { class: "pair", "aria-hidden": "true" }, bar("before", before, 0), bar("after", after, 7));
}

function ruleRow(rule, before) {
  const gone = goneAt(state.step, rule);
  const was = before === undefined ? gone : goneAt(before, rule);
  const listed = data.rules[rule];
  const kept = [];
  keptGroups(rule).forEach((links, place) => {
    if (place) kept.push(" ", make("i", {}, "and"), " ");
    const element = conditionElement(rule, place, groupText(links), links, false);
    if (links.some((link) => was.has(link))) element.classList.add("fresh");
    kept.push(element);
  });
  if (!kept.length) kept.push(make("i", {}, "always"));
  const dropped = [];
  listed.links.filter((link) => gone.has(link)).forEach((link, place) => {
    const element = conditionElement(rule, `d${place}`, tree.conditions[link], [link], true);
    if (!was.has(link)) element.classList.add("fresh");
    dropped.push(element, " ");
  });
  const assimilated = assimilationWords(rule);
  const step = data.steps[state.step];
  const sourceShare = listed.source_support ? listed.source_hits / listed.source_support : null;
  const most = data.rows.most_support || 1;
  const numbers = (one, other, beside = null) => make("span", { class: "nums" }, `${one} → `, make("b", {}, other), beside);
  const reliability = reliabilityAt(state.step, rule);
  const [range, movedRange] = [step.limits[rule], step.d_limits[rule]];
  const near = range === null ? null : make("small", {}, ` ${limits(range)}`);
  const moved = movedRange === null || !gone.size ? null : make("small", { class: "moved" }, `moved ${points(100 * (reliability - sourceShare))} points ${limits(movedRange)}`);
  return make(
    "tr",
    { "data-rule": rule },
    make("th", { scope: "row" }, String(rule + 1)),
    make("td", { class: "conds" }, make("div", { class: "kept" }, kept), dropped.length ? make("div", { class: "dropped" }, dropped) : null, assimilated ? make("p", { class: "fine" }, assimilated) : null, diagnosisButton(rule)),
    make("td", { class: "class" }, make("span", { dir: "auto" }, className(rule))),
    make("td", { class: "bars", "data-label": data.rows.is_weighted ? "Weight" : "Rows" }, numbers(count(listed.source_support), count(step.support[rule])), pairElement(listed.source_support, step.support[rule], most)),
    make("td", { class: "bars", "data-label": "Reliability" }, numbers(share(sourceShare), share(reliability), near), pairElement(sourceShare, reliability, 1), moved),
  );
}

// Everything that a rule says, in small letters: the text that is searched, made once.
const searchTexts = new Map();
function searchText(rule) {
  if (!searchTexts.has(rule)) {
    const { links } = data.rules[rule];
    const merged = keptGroups(rule).map(groupText);
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
    if (changed !== "" && (goneAt(state.step, rule).size > 0) !== (changed === "1")) return false;
    if (!wanted) return true;
    return /^\d+$/.test(wanted) ? rule + 1 === Number(wanted) || searchText(rule).includes(wanted) : searchText(rule).includes(wanted);
  });
  const sign = table.descending ? -1 : 1;
  return found.sort((a, b) => sign * (key(a) - key(b)) || a - b);
}

function showRules(before) {
  table.order = chosenRules();
  const shown = table.order.slice(0, table.shown);
  byId("rule-rows").replaceChildren(...shown.flatMap((rule) => [ruleRow(rule, before), ...(opened.has(rule) ? [diagnosisRow(rule)] : [])]));
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

function startRules() {
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
  listeners.push((before) => { searchTexts.clear(); showRules(before); });
  showRules();
}
