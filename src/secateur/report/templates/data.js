// What the page knows, and what follows from it: paths, kept conditions, the ranking, and where a row goes.

const data = JSON.parse(document.getElementById("secateur-data").textContent);
const tree = data.tree;
const nRules = data.rules.length;
const isNarrowFloat = tree.dtype === "float32";

const parent = new Int32Array(tree.left.length).fill(-1);
const isLeft = new Uint8Array(tree.left.length);
tree.left.forEach((child, node) => {
  if (child < 0) return;
  parent[child] = parent[tree.right[node]] = node;
  isLeft[child] = 1;
});
const ruleOfLeaf = new Map(data.rules.map((rule, place) => [rule.leaf, place]));
const leftCodes = new Map(Object.entries(tree.codes).map(([node, codes]) => [Number(node), new Set(codes)]));

// The slider's position; whoever shows something of it asks to be told when it moves.
const state = { step: data.step };
const listeners = [];
const goneCache = new Map();

function goneAt(step, rule) {
  const key = step * nRules + rule;
  if (!goneCache.has(key)) goneCache.set(key, new Set(data.steps[step].deleted[rule]));
  return goneCache.get(key);
}

function moveTo(step) {
  const before = state.step;
  state.step = step;
  for (const tell of listeners) tell(before);
}

// The kept links of a rule, those on one column together, in the order in which the path first asks for it.
function keptGroups(rule, step = state.step) {
  const gone = goneAt(step, rule);
  const groups = new Map();
  for (const link of data.rules[rule].links) {
    if (gone.has(link)) continue;
    const about = tree.about[link];
    if (groups.has(about)) groups.get(about).push(link);
    else groups.set(about, [link]);
  }
  return [...groups.values()];
}

function groupText(links) {
  return links.length === 1 ? tree.conditions[links[0]] : data.merged[links.join(",")];
}

function reasonText(place) {
  return data.reasons[place].map((phrase) => data.phrases[phrase]).join(" ");
}

// Why a link of a rule went or stayed; null where this value of the knob carries no reasons.
function reasonOf(rule, link, step = state.step) {
  const at = data.rules[rule].links.indexOf(link);
  const own = data.steps[step].reasons[rule];
  if (own) return reasonText(own[at]);
  const told = reasonText(data.rules[rule].reasons[at]);
  if (step === data.step) return told;
  const same = goneAt(step, rule).has(link) === goneAt(data.step, rule).has(link);
  return same ? `at ${data.knob.symbol} = ${number(data.steps[data.step].value)}: ${told}` : null;
}

function reliabilityAt(step, rule) {
  const { support, hits } = data.steps[step];
  return support[rule] ? hits[rule] / support[rule] : null;
}

const rankings = new Map();

// Rules in the order in which they win: reliability, support, fewer conditions, source order.
function ranking(step) {
  if (!rankings.has(step)) {
    const { support } = data.steps[step];
    const key = data.rules.map((rule, place) => [
      reliabilityAt(step, place) ?? -1,
      support[place] ?? -1,
      rule.links.length - goneAt(step, place).size,
    ]);
    const order = data.rules.map((_, place) => place);
    order.sort((a, b) => key[b][0] - key[a][0] || key[b][1] - key[a][1] || key[a][2] - key[b][2] || a - b);
    rankings.set(step, order);
  }
  return rankings.get(step);
}

// What a person entered, as the tree's features; an entry is a number, the place of a label, or null for missing.
function toFeatures(entries) {
  const values = new Float64Array(tree.n_features);
  data.form.fields.forEach((field, place) => {
    const entry = entries[place];
    if (field.kind === "group") {
      field.features.forEach((feature, label) => { values[feature] = entry === label ? 1 : 0; });
      return;
    }
    let value = entry === null ? NaN : entry;
    if (field.kind === "cells" && entry !== null) value = field.cuts.filter((cut) => cut < entry).length;
    if (field.kind === "number" && isNarrowFloat) value = Math.fround(value);
    values[field.features[0]] = value;
  });
  return values;
}

function goesLeft(node, values) {
  const value = values[tree.feature[node]];
  if (Number.isNaN(value)) return tree.missing_left[node] === 1;
  const codes = leftCodes.get(node);
  if (codes) return codes.has(value);
  return tree.limit[node] === null || value <= tree.limit[node];
}

// Which rules fire for a row, in the order in which they win, the rule that decides, and the tree's own leaf.
function decide(entries, step = state.step) {
  const values = toFeatures(entries);
  const left = tree.left.map((child, node) => child >= 0 && goesLeft(node, values));
  const holds = (link) => left[parent[link]] === (isLeft[link] === 1);
  const fires = (rule) => {
    const gone = goneAt(step, rule);
    return data.rules[rule].links.every((link) => gone.has(link) || holds(link));
  };
  let leaf = 0;
  while (tree.left[leaf] >= 0) leaf = left[leaf] ? tree.left[leaf] : tree.right[leaf];
  const own = ruleOfLeaf.get(leaf);
  let firing = ranking(step).filter(fires);
  if (!data.rows.is_ranked) firing = [own, ...firing.filter((rule) => rule !== own)];
  return { rule: firing[0], firing, leaf, own, holds };
}
