// The diagnosis of a rule: what each condition of its leaf's own rule does, in the paper's three layers. The words are
// plain; the paper's terms stand beside them for machines.

const opened = new Set(); // rules whose diagnosis is open

const EFFECTS = { lower: "positive relevance", raise: "negative relevance", keep: "probabilistic IRC" };
const EFFECT_WORDS = {
  lower: "the rule is less reliable without it",
  raise: "the rule is more reliable without it: it sets apart rows of lower reliability",
  keep: "reliability hardly depends on it",
};

function orientation(node, ofClass) {
  const sign = tree.orientation ? tree.orientation[ofClass][node] : "?";
  return { "+": "rise", "-": "fall", 0: "flat", "?": "plain" }[sign];
}

const SIGNS = { rise: "C1", fall: "C0", flat: "=", plain: "" };
const MATCHES = { rise: "matched", fall: "mismatched", flat: "neutral", plain: "" };

function nodeShare(node, ofClass) {
  const counts = tree.counts?.[node];
  const total = counts ? counts.reduce((sum, one) => sum + one, 0) : 0;
  return total ? counts[ofClass] / total : null;
}

// The three layers of the condition at one place of a rule's path.
function layersOf(rule, place) {
  const listed = data.rules[rule];
  const link = listed.links[place];
  const status = MATCHES[orientation(link, listed.class)];
  const inside = tree.homogeneous[parent[link]] >= 0;
  const presumed = status !== "mismatched" ? null : inside ? "negative-relevance-presumed" : "IRC-presumed";
  const support = data.diagnosis.support?.[rule][place] ?? null;
  const base = listed.source_support ? listed.source_hits / listed.source_support : null;
  const after = support ? data.diagnosis.hits[rule][place] / support : null;
  const d = base === null || after === null ? null : after - base;
  const epsilon = data.diagnosis.tolerance;
  const effect = d === null ? null : d < -epsilon ? "lower" : d > epsilon ? "raise" : "keep";
  return { link, status, inside, presumed, support, after, d, effect, epsilon };
}

// A change of a share in percentage points; one that is not zero never reads as zero.
function inPoints(change) {
  if (change === 0) return "±0 points";
  const size = 100 * Math.abs(change);
  return `${change > 0 ? "+" : "−"}${size >= 0.05 ? fixed(size, 1) : number(size.toPrecision(1))} points`;
}

function layerElement(name, words, term) {
  return make("div", {}, make("dt", {}, name), make("dd", { "data-term": term || null }, words));
}

const NO_COUNTS = "unknown: the tree carries no class counts";

function orientationWords(rule, link) {
  const own = data.rules[rule].class;
  const [before, after] = [nodeShare(parent[link], own), nodeShare(link, own)];
  if (!tree.counts) return NO_COUNTS;
  if (before === null || after === null) return "unknown: no training row came this way";
  const kind = orientation(link, own);
  const name = shorten(data.classes[own], 80);
  if (kind === "flat") return `the share of ${name} stays at ${share(before)}`;
  return `the share of ${name} ${kind === "rise" ? "rises" : "falls"} from ${share(before)} to ${share(after)}`;
}

function statusWords(rule, layers) {
  const name = shorten(className(rule), 80);
  if (layers.status === "matched") return `it points to ${name}, as the rule does`;
  if (!layers.status) return NO_COUNTS;
  if (layers.status === "neutral") return "it points neither way";
  return layers.inside
    ? `it points away from ${name}, though the leaves around it all say ${name}: it may set apart a part where ${name} is less certain`
    : `it points away from ${name}: it is probably irrelevant`;
}

function effectElement(rule, layers) {
  if (layers.d === null) {
    const why = data.diagnosis.note || "no training row satisfies the rule, so there is nothing to compare";
    return layerElement("Without it alone", why);
  }
  const listed = data.rules[rule];
  const rows = data.rows.is_weighted ? "weight" : "rows";
  const size = layers.effect === "keep" ? "no more than" : "more than";
  const words = `${rows} ${count(listed.source_support)} → ${count(layers.support)}, ${shorten(className(rule), 80)} ${share(listed.source_hits / listed.source_support)} → ${share(layers.after)} (${inPoints(layers.d)}, ${size} ${number(100 * layers.epsilon)}): ${EFFECT_WORDS[layers.effect]}`;
  return layerElement("Without it alone", words, EFFECTS[layers.effect]);
}

function assimilationWords(rule) {
  const node = data.rules[rule].assimilated_into;
  if (node === null) return null;
  return `Assimilated: it is now the rule of ${node ? `node ${node}, an ancestor of its leaf` : "the root"}, and covers all that comes there.`;
}

function diagnosisBody(rule) {
  const items = data.rules[rule].links.map((link, place) => {
    const layers = layersOf(rule, place);
    return make(
      "li",
      { "data-link": link },
      make("p", { class: "asked" }, make("span", { class: "clip" }, squeeze(tree.conditions[link], LONG))),
      make(
        "dl",
        {},
        layerElement("Where it is met", orientationWords(rule, link), data.classes.length === 2 ? SIGNS[orientation(link, 1)] : ""),
        layerElement("For this rule", statusWords(rule, layers), [layers.status, layers.presumed].filter(Boolean).join(", ")),
        effectElement(rule, layers),
      ),
    );
  });
  const head = make("p", { class: "fine" }, `What each condition of leaf ${data.rules[rule].leaf}’s own rule does, before anything was deleted.`);
  const body = items.length ? make("ol", {}, items) : make("p", {}, "The tree is one leaf: its rule has no condition.");
  return make("div", { class: "diagnosed" }, head, body);
}

function diagnosisRow(rule) {
  return make(
    "tr",
    { class: "diagnosis", id: `diagnosis-${rule + 1}` },
    make("td", { colspan: 5 }, make("div", { role: "region", "aria-label": `Diagnosis of rule ${rule + 1}` }, diagnosisBody(rule))),
  );
}

function diagnosisButton(rule) {
  const isOpen = opened.has(rule);
  const button = make(
    "button",
    { type: "button", class: "quiet diagnose", "aria-expanded": String(isOpen), "aria-controls": isOpen ? `diagnosis-${rule + 1}` : null, "aria-label": `Diagnosis of rule ${rule + 1}` },
    "Diagnosis",
  );
  button.addEventListener("click", () => {
    const row = button.closest("tr");
    if (opened.delete(rule)) {
      row.nextElementSibling.remove();
      button.removeAttribute("aria-controls");
    } else {
      opened.add(rule);
      row.after(diagnosisRow(rule));
      button.setAttribute("aria-controls", `diagnosis-${rule + 1}`);
    }
    button.setAttribute("aria-expanded", String(opened.has(rule)));
  });
  return button;
}
