// The nearest changes that flip the tree's answer. A row reaches a leaf when every field keeps to what the leaf's path
// asks of it, so the fields that must change are those with a condition on the path that the row does not meet: the
// fewest of them over all leaves of another class is exact.

const fieldOfLink = (link) => fieldOfFeature.get(tree.feature[parent[link]]);

// What the links on one field leave it: limits of a number, or the places of labels; and whether it may be missing.
function roomOf(field, links, limits = tree.limit) {
  const known = field.known;
  const room = { low: known?.low ?? -Infinity, high: known?.high ?? Infinity, codes: null, missing: field.takes_missing && (known ? known.missing : true), lower: null, upper: null };
  if (field.kind === "group") {
    room.codes = placesOf(field).filter((place) => links.every((link) => (field.features[place] === tree.feature[parent[link]] ? 1 : 0) <= limits[parent[link]] === (isLeft[link] === 1)));
    return room;
  }
  if (field.kind !== "number") room.codes = field.kind === "cells" ? [...Array(field.cuts.length + 1).keys()] : placesOf(field).filter((place) => !known?.codes || known.codes.includes(place));
  for (const link of links) {
    const node = parent[link];
    const isUpper = isLeft[link] === 1;
    room.missing &&= (tree.missing_left[node] === 1) === isUpper;
    const limit = limits[node] ?? Infinity;
    if (room.codes) room.codes = room.codes.filter((code) => leftCodes.get(node).has(code) === isUpper);
    else if (isUpper && limit < room.high) [room.high, room.upper] = [limit, link];
    else if (!isUpper && limit > room.low) [room.low, room.lower] = [limit, link];
  }
  return room;
}

// Whether links leave some field nothing; of a leaf, whose limits are the tree's, and of lines, whose limits may be rounded.
const isEmpty = (ofLeaf, links, limits) => [...new Set([...ofLeaf, ...links].map(fieldOfLink))].some((place) => {
  const own = (some) => some.filter((link) => fieldOfLink(link) === place);
  const [one, two] = [roomOf(data.form.fields[place], own(ofLeaf)), roomOf(data.form.fields[place], own(links), limits)];
  if (one.missing && two.missing) return false;
  return one.codes ? !one.codes.some((code) => two.codes.includes(code)) : !(Math.max(one.low, two.low) < Math.min(one.high, two.high));
});

const placesOf = (field) => [...Array(field.labels.length + (field.takes_unlisted ? 1 : 0)).keys()];

// The numbers beside a number, in the tree's own type.
function beside(value, by) {
  if (value === 0) return by * (isNarrowFloat ? 2 ** -149 : Number.MIN_VALUE);
  const [floats, bits] = isNarrowFloat ? [new Float32Array([value]), Int32Array] : [new Float64Array([value]), BigInt64Array];
  const whole = new bits(floats.buffer);
  whole[0] += (bits === BigInt64Array ? 1n : 1) * (bits === BigInt64Array ? BigInt(Math.sign(value) * by) : Math.sign(value) * by);
  return floats[0];
}

// A number in a room, as near to one of its ends as few digits allow; null where there is none.
function numberIn(field, room, towardsLow) {
  const held = (value) => (isNarrowFloat ? Math.fround(value) : value);
  const fits = (value) => Number.isFinite(held(value)) && held(value) > room.low && held(value) <= room.high && (field.lowest === null || value >= field.lowest) && (field.highest === null || value <= field.highest);
  const [end, other] = towardsLow ? [room.low, room.high] : [room.high, room.low];
  if (!Number.isFinite(end) && Number.isFinite(other)) return numberIn(field, room, !towardsLow);
  if (!Number.isFinite(end)) return [0, 1, -1, field.usual, field.lowest, field.highest].find((value) => value !== null && fits(value)) ?? null;
  const sign = towardsLow ? 1 : -1;
  if (field.n_decimals !== null) {
    const unit = 10 ** -field.n_decimals;
    for (let by = -2; by <= 2; by++) {
      const value = Number(((Math.round(end / unit) + sign * by) * unit).toFixed(field.n_decimals));
      if (fits(value)) return value;
    }
    return null;
  }
  const size = Math.max(Math.abs(end), 1e-300);
  for (let digits = 2; digits <= 17; digits++) {
    const unit = 10 ** (Math.floor(Math.log10(size)) + 1 - digits);
    for (const by of [0, sign]) {
      const value = Number((Math.round(end / unit) * unit + by * unit).toPrecision(digits));
      if (fits(value) && Math.abs(value - end) <= 0.02 * size) return value;
    }
  }
  const last = towardsLow ? beside(held(end), 1) : end;
  return fits(last) ? last : null;
}

// The entry nearest to a row's own that a room allows, or undefined where it allows none.
function entryIn(field, room, entry) {
  if (room.codes) {
    if (field.kind !== "cells") return room.codes.length ? room.codes[0] : room.missing ? null : undefined;
    const limits = [-Infinity, ...field.cuts, Infinity];
    const reach = (code) => (entry === null ? 0 : entry <= limits[code] ? limits[code] - entry : entry > limits[code + 1] ? entry - limits[code + 1] : 0);
    for (const code of room.codes.slice().sort((a, b) => reach(a) - reach(b))) {
      const cell = { low: limits[code], high: limits[code + 1] };
      const value = numberIn({ ...field, kind: "number" }, cell, Number.isFinite(cell.low) && (entry === null || entry <= cell.low));
      if (value !== null && field.cuts.filter((cut) => cut < value).length === code) return value;
    }
    return room.missing ? null : undefined;
  }
  const value = room.low < room.high ? numberIn(field, room, entry !== null && entry <= room.low) : null;
  if (value !== null) return value;
  return room.missing ? null : undefined;
}

// What a change asks for, in words: the conditions that bind, or the labels that do.
function changeText(field, room, entry) {
  if (entry === null) return `${field.name} missing`;
  if (field.kind === "number") {
    const binding = [room.lower, room.upper].filter((link) => link !== null);
    return binding.length ? binding.map((link) => tree.conditions[link].replace(/ or is missing$/u, "")).join(" and ") : `${field.name} not missing`;
  }
  if (field.kind === "cells") return cellsText(field, room.codes);
  return labelsText(field, room.codes);
}

function cellsText(field, codes) {
  const ends = [-Infinity, ...field.cuts, Infinity];
  const runs = [];
  for (const code of codes) {
    if (runs.at(-1)?.at(-1) === code - 1) runs.at(-1)[1] = code;
    else runs.push([code, code]);
  }
  return runs.map(([first, last]) => {
    const [low, high] = [ends[first], ends[last + 1]];
    if (!Number.isFinite(high)) return Number.isFinite(low) ? `${field.name} > ${number(low)}` : `${field.name} not missing`;
    return Number.isFinite(low) ? `${number(low)} < ${field.name} ≤ ${number(high)}` : `${field.name} ≤ ${number(high)}`;
  }).join(" or ");
}

function labelsText(field, codes) {
  const read = (some) => some.map((code) => optionText(field, code)).join(" or ");
  const others = placesOf(field).filter((code) => !codes.includes(code));
  const isFew = others.length && others.length <= 3 && others.length < codes.length;
  if (codes.length <= 4 && !isFew) return `${field.name}: ${read(codes)}`;
  return isFew ? `${field.name}: anything but ${read(others)}` : `${field.name}: one of ${codes.length}, such as ${read(codes.slice(0, 1))}`;
}

// Ways as a person reads them: those that differ in one field alone and touch there are one, as in Python.
function joinWays(ways) {
  const alike = new Map();
  for (const way of ways.toSorted((a, b) => ruleOfLeaf.get(a.leaf) - ruleOfLeaf.get(b.leaf))) {
    const key = [way.class, ...way.changes.map((change) => change.place)].join(" ");
    if (alike.has(key)) alike.get(key).push(way);
    else alike.set(key, [way]);
  }
  return [...alike.values()].flatMap(mergeWays).sort((a, b) => a.far - b.far);
}

function mergeWays(ways) {
  const left = ways.slice();
  const merged = [];
  while (left.length) {
    const way = left.shift();
    const beside = left.findIndex((other) => touches(way, other));
    if (beside < 0) merged.push(way);
    else left[beside] = joinTwo(way, left[beside]);
  }
  return merged;
}

const sameRoom = (one, other) => one.low === other.low && one.high === other.high && one.missing === other.missing && String(one.codes) === String(other.codes);
const hasNumber = (room) => room.low < room.high;

function touches(way, other) {
  const differing = way.changes.flatMap(({ room }, at) => (sameRoom(room, other.changes[at].room) ? [] : [[room, other.changes[at].room]]));
  if (differing.length !== 1) return !differing.length;
  const [[one, two]] = differing;
  return one.codes !== null || !hasNumber(one) || !hasNumber(two) || Math.max(one.low, two.low) <= Math.min(one.high, two.high);
}

// The nearer of two ways tells what to enter; what it may be is what either allows.
function joinTwo(way, other) {
  const near = other.far < way.far ? other : way;
  const changes = near.changes.map((change, at) => {
    const [one, two] = [way.changes[at].room, other.changes[at].room];
    if (sameRoom(one, two)) return change;
    const missing = one.missing || two.missing;
    let room = { ...one, missing, codes: one.codes && [...new Set([...one.codes, ...two.codes])].sort((a, b) => a - b) };
    if (one.codes === null && !(hasNumber(one) && hasNumber(two))) room = { ...(hasNumber(one) ? one : two), missing };
    else if (one.codes === null) {
      const [low, high] = [one.low <= two.low ? one : two, one.high >= two.high ? one : two];
      room = { ...one, missing, low: low.low, lower: low.lower, high: high.high, upper: high.upper };
    }
    return { ...change, room, codes: change.codes && room.codes, text: changeText(data.form.fields[change.place], room, change.entry) };
  });
  return { ...near, changes };
}

// All ways with the fewest fields to change, nearest first: for each, the leaf, its class, and the entries.
function nearestChanges(entries) {
  const values = toFeatures(entries);
  const own = tree.leaf_class[leafOf(entries)];
  const found = [];
  const fails = (link) => goesLeft(parent[link], values) !== (isLeft[link] === 1);
  const leaves = data.rules.map((rule) => {
    const changed = new Set();
    if (rule.class !== own) for (const link of rule.links) if (fails(link)) changed.add(fieldOfLink(link));
    return { rule, changed };
  }).filter(({ rule }) => rule.class !== own);
  leaves.sort((a, b) => a.changed.size - b.changed.size);
  for (const { rule, changed } of leaves) {
    if (found.length && changed.size > found[0].changes.length) break;
    if ([...changed].some((place) => locked.has(place))) continue;
    const changes = [];
    for (const place of [...changed].sort((a, b) => a - b)) {
      const field = data.form.fields[place];
      const room = roomOf(field, rule.links.filter((link) => fieldOfLink(link) === place));
      const entry = entryIn(field, room, entries[place]);
      if (entry === undefined) break;
      const isLabel = field.kind === "category" || field.kind === "group";
      changes.push({ place, entry, codes: isLabel && entry !== null ? room.codes : null, room, text: changeText(field, room, entry), far: distance(place, entries[place], entry) });
    }
    if (changes.length < changed.size) continue;
    const made = entries.slice();
    for (const change of changes) made[change.place] = change.entry;
    if (leafOf(made) === rule.leaf) found.push({ leaf: rule.leaf, class: rule.class, changes, entries: made, far: changes.reduce((sum, one) => sum + one.far, 0) });
  }
  return found.sort((a, b) => a.far - b.far);
}

// How far a change goes: for a number, in shares of the column's usual spread; for a category, as far as such a spread.
function distance(place, from, to) {
  const field = data.form.fields[place];
  if (from === null || to === null || field.kind === "category" || field.kind === "group") return 1;
  return Math.abs(to - from) / spreadOf(field);
}

const spreads = new Map();
function spreadOf(field) {
  if (!spreads.has(field)) {
    const ends = Object.entries(data.splits).filter(([node, split]) => split.edges && tree.feature[node] === field.features[0]).flatMap(([, split]) => [split.edges[0], split.edges.at(-1)]);
    const wide = ends.length ? Math.max(...ends) - Math.min(...ends) : Math.abs(field.usual ?? 1);
    spreads.set(field, wide || 1);
  }
  return spreads.get(field);
}
