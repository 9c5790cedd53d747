// Two cut-offs on the share of the class of interest: what passes, what a person looks at, what is flagged, and the cost.

const cuts = { low: null, high: null, cost: 5 };

function shareOfInterest(one) {
  const { of } = data;
  if (one.share !== null) return one.class === of ? one.share : Number((1 - one.share).toFixed(12)); // 1 - 0.9 is less than 0.1
  const sum = one.counts ? one.counts[0] + one.counts[1] : 0;
  return sum ? one.counts[of] / sum : one.class === of ? 1 : 0;
}

const rowsOf = (one) => one.unseen ?? one.counts;

function bandOf(one) {
  const part = shareOfInterest(one);
  return part <= cuts.low ? 0 : part >= cuts.high ? 2 : 1;
}

const bandWords = () => ["let pass", "look by hand", `flag as ${shorten(data.classes[data.of], 24)}`];

// What the cut-offs make of a line; null where there are none.
const hasCuts = (list) => data.of !== null && !data.fidelity && list.lines.every(rowsOf) && (!list.is_edited || data.edits.with_rows);
const pileOf = (one) => (cuts.low !== null && hasCuts(listNow()) ? bandOf(one) : null);
const actionOf = (one) => (pileOf(one) === null ? [] : [make("span", { class: "action" }, ` → ${bandWords()[pileOf(one)]}`)]);

// The piles of lines that are shown already follow the cut-offs.
function showPiles() {
  for (const row of document.querySelectorAll("#list tr[data-line]")) row.replaceChild(numberCell(Number(row.dataset.line)), row.firstElementChild);
}

function showCuts() {
  const list = listNow();
  byId("cuts").hidden = !hasCuts(list);
  if (!hasCuts(list)) return;
  const name = shorten(data.classes[data.of], 24);
  const sums = [0, 1, 2].map((band) => list.lines.filter((one) => bandOf(one) === band).reduce(([all, own], one) => [all + rowsOf(one)[0] + rowsOf(one)[1], own + rowsOf(one)[data.of]], [0, 0]));
  const total = sums[0][0] + sums[1][0] + sums[2][0];
  const own = sums[0][1] + sums[1][1] + sums[2][1];
  const words = bandWords();
  byId("cuts-bands").replaceChildren(...sums.map(([all, hits], band) => {
    const one = make("div", { class: `band-${band}` }, make("b", {}, `${words[band]} ${count(all)}`), make("span", {}, all ? `${count(hits)} of them ${name} (${share(hits / all)})` : "no row"));
    one.style.flexGrow = String(Math.max(all / Math.max(total, 1), 0.12));
    return one;
  }));
  const wrong = sums[2][0] - sums[2][1];
  byId("cuts-said").textContent = `misses ${count(sums[0][1])} of ${count(own)} ${name} · flags ${count(wrong)} that are not · cost ${count(sums[0][1] * cuts.cost + wrong)}${sums[1][0] ? `, looking at ${count(sums[1][0])} by hand not counted` : ""}`;
  byId("legend-piles").replaceChildren("At the left of a line stands what the cut-offs make of it: ", ...words.flatMap((one, band) => [make("span", { class: `swatch band-${band}` }), ` ${one}${band < 2 ? ", " : "."} `]));
  byId("cuts-low-said").textContent = cuts.low < 0 ? "none" : `up to ${share(cuts.low)}`;
  byId("cuts-high-said").textContent = cuts.high > 1 ? "none" : `from ${share(cuts.high)}`;
}

// Cut-offs to begin with, that separate the rows shown: those that pass have the class half as often as all rows or
// less, those that are flagged twice as often (or mostly have it); below 0 or above 1 where no line does.
function findCuts(lines, base) {
  const seen = (isIn) => {
    const [all, own] = lines.filter((one) => isIn(shareOfInterest(one))).reduce((sum, one) => [sum[0] + rowsOf(one)[0] + rowsOf(one)[1], sum[1] + rowsOf(one)[data.of]], [0, 0]);
    return all ? own / all : null;
  };
  const steps = [...Array(101).keys()].map((step) => step / 100);
  const low = steps.findLast((step) => { const part = seen((own) => own <= step); return part !== null && part <= base / 2; }) ?? -0.01;
  const high = steps.find((step) => step > low && seen((own) => own >= step) >= Math.min(2 * base, 0.5)) ?? 1.01;
  return [low, high];
}

function startCuts() {
  if (data.of === null || data.fidelity) return;
  const isUnseen = data.lists[data.list].lines.every((one) => one.unseen);
  const { lines } = data.lists[data.list];
  if (!lines.every(rowsOf)) return;
  const all = lines.reduce((sum, one) => sum + rowsOf(one)[0] + rowsOf(one)[1], 0);
  const base = lines.reduce((sum, one) => sum + rowsOf(one)[data.of], 0) / Math.max(all, 1);
  [cuts.low, cuts.high] = findCuts(lines, base);
  const slide = (id, words, value, set) => {
    const input = make("input", { type: "range", id, min: -1, max: 101, step: 1, value });
    input.addEventListener("input", () => { set(Number(input.value) / 100); showCuts(); showPiles(); showVerdict(); });
    return make("label", {}, `${words} `, make("span", { id: `${id}-said` }), input);
  };
  const cost = make("input", { type: "number", id: "cuts-cost", min: 0, step: "any", value: cuts.cost });
  cost.addEventListener("input", () => { cuts.cost = Number(cost.value) || 0; showCuts(); });
  const rows = isUnseen ? `${count(all)} rows that the rules had not seen` : `${count(all)} training rows; new rows usually do worse`;
  byId("cuts").append(
    make("div", { class: "cuts-head" }, make("b", {}, rows), make("span", { id: "cuts-said", role: "status" })),
    make("div", { id: "cuts-bands" }),
    make("div", { class: "cuts-tools" },
      slide("cuts-low", "let pass", 100 * cuts.low, (to) => { cuts.low = Math.min(to, cuts.high - 0.01); }),
      slide("cuts-high", "flag", 100 * cuts.high, (to) => { cuts.high = Math.max(to, cuts.low + 0.01); }),
      make("label", {}, "a miss costs ", cost, " × a false flag"), make("span", {}, "Both cut-offs and the cost are yours to set.")),
  );
  onList.unshift(showCuts);
  showCuts();
  showPiles();
  showVerdict();
}
