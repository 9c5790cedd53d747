// The drawing as a picture of its own: for a file, with its colours written into it so that it looks the same anywhere,
// and for paper.

const WRITTEN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight"];

// All that is open, in sight or not.
function wholeTree() {
  const [width, height] = [layout.width + 2 * MARGIN, layout.height + 2 * MARGIN];
  const everything = { top: -Infinity, bottom: Infinity, left: -Infinity, right: Infinity };
  const at = view.at;
  view.at = -1; // the mark of the keyboard's place is no part of the picture
  const parts = treeParts(everything, 1);
  view.at = at;
  return draw("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, draw("rect", { class: "paper", width, height }), draw("g", { transform: `translate(${MARGIN} ${MARGIN + layout.top})` }, parts));
}

function pictureOfTree() {
  const svg = wholeTree();
  // Computed styles exist only for what is in the document.
  const holder = make("div", { class: "canvas hidden", "aria-hidden": "true" }, svg);
  document.body.append(holder);
  for (const element of svg.querySelectorAll("*")) {
    const style = getComputedStyle(element);
    for (const name of WRITTEN) {
      const value = style.getPropertyValue(name);
      if (value && value !== "none" || name === "fill" || name === "stroke") element.setAttribute(name, value);
    }
  }
  for (const element of svg.querySelectorAll("[class], [data-node], [data-link]")) for (const name of ["class", "data-node", "data-link"]) element.removeAttribute(name);
  svg.querySelectorAll("[stroke-dasharray='none']").forEach((element) => element.removeAttribute("stroke-dasharray"));
  holder.remove();
  return new XMLSerializer().serializeToString(svg);
}

function saveTree() {
  const link = make("a", { download: "tree.svg", href: URL.createObjectURL(new Blob([pictureOfTree()], { type: "image/svg+xml" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// A picture that is much higher than a sheet would be no picture.
function printTree() {
  byId("tree-print").replaceChildren(...(layout.height < 3 * layout.width && layout.order.length < 400 ? [wholeTree()] : []));
}
