// What the page knows, and what follows from it: paths, conditions in words, and where a row goes.

const data = JSON.parse(document.getElementById("secateur-data").textContent);
const isNarrowFloat = data.tree.dtype === "float32";
let tree, nRules, parent, isLeft, ruleOfLeaf, leftCodes, goneOf, fieldOfFeature;

// Lists that approximate a model have a tree each; what that changes is one part of the data.
const whole = { ...data };
function takePart(place) {
  Object.assign(data, whole, data.parts?.[place]);
  tree = data.tree;
  nRules = data.rules.length;
  parent = new Int32Array(tree.left.length).fill(-1);
  isLeft = new Uint8Array(tree.left.length);
  tree.left.forEach((child, node) => {
    if (child < 0) return;
    parent[child] = parent[tree.right[node]] = node;
    isLeft[child] = 1;
  });
  ruleOfLeaf = new Map(data.rules.map((rule, at) => [rule.leaf, at]));
  leftCodes = new Map(Object.entries(tree.codes).map(([node, codes]) => [Number(node), new Set(codes)]));
  goneOf = data.rules.map((rule) => new Set(rule.deleted));
  fieldOfFeature = new Map(data.form.fields.flatMap((field, at) => field.features.map((feature) => [feature, at])));
}
takePart(data.list);

// A number as the tree holds it.
const asHeld = (value) => (isNarrowFloat ? Math.fround(value) : value);
const siblingOf = (link) => (isLeft[link] ? tree.right : tree.left)[parent[link]];
const isLeaf = (node) => tree.left[node] < 0;

function pathTo(node) {
  const path = [];
  for (let at = node; parent[at] >= 0; at = parent[at]) path.unshift(at);
  return path;
}

// Links, those on one column together, in the order in which the path first asks for it; under a heading of others.
function groupLinks(links, under = [], words = undefined) {
  const groups = new Map();
  for (const link of links) {
    const about = tree.about[link];
    if (groups.has(about)) groups.get(about).push(link);
    else groups.set(about, [link]);
  }
  return [...groups.values()].map((group) => Object.assign(group, { under: under.join(","), words }));
}

const keptLinks = (rule) => data.rules[rule].links.filter((link) => !goneOf[rule].has(link));

function groupText(links) {
  const key = links.join(",");
  const { merged = data.merged, conditions = {} } = links.words ?? {}; // of an edited list, whose limits may be rounded
  const one = (link) => conditions[link] ?? tree.conditions[link];
  return merged[`${links.under}|${key}`] ?? (links.length === 1 ? one(links[0]) : merged[key] ?? links.map(one).join(" and "));
}

function reasonText(place) {
  return data.reasons[place].map((phrase) => data.phrases[phrase]).join(" ");
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
    if (field.kind === "number") value = asHeld(value);
    values[field.features[0]] = value;
  });
  return values;
}

function goesLeft(node, values, limit = tree.limit) {
  const value = values[tree.feature[node]];
  if (Number.isNaN(value)) return tree.missing_left[node] === 1;
  const codes = leftCodes.get(node);
  if (codes) return codes.has(value);
  return limit[node] === null || value <= limit[node];
}

function leafOf(entries) {
  const values = toFeatures(entries);
  let leaf = 0;
  while (!isLeaf(leaf)) leaf = goesLeft(leaf, values) ? tree.left[leaf] : tree.right[leaf];
  return leaf;
}

// Lines of a section; "otherwise" comes last. What a line keeps begins with the heading of its section.
const linesOf = (list, section) => [...list.lines.keys()].filter((line) => list.lines[line].section === section);
const headingOf = (list, one) => list.sections[one.section];
const ownGroups = (list, one) => groupLinks(one.kept.slice(headingOf(list, one).length), headingOf(list, one), list.words);

// What a list says of a row: the line that decides, the rules that hold, the class, and the leaf. "Otherwise" keeps the
// heading alone, and sections have no row in common, so the first line that holds decides.
function decide(entries, place = null) {
  const values = toFeatures(entries);
  const list = place === null ? listNow() : data.lists[place];
  const holds = (link) => goesLeft(parent[link], values, list.limit) === (isLeft[link] === 1);
  const met = [...list.lines.keys()].filter((line) => list.lines[line].kept.every(holds));
  const holding = met.filter((line) => list.lines[line].rule !== null);
  return { line: met[0], holding, leaf: leafOf(entries), holds, class: list.lines[met[0]].class };
}
