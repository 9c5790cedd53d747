// The drawing as a file: all that is open, with its colours written into it, so that it looks the same anywhere.

const WRITTEN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight"];

function pictureOfTree() {
  const [width, height] = [layout.width + 2 * MARGIN, layout.height + 2 * MARGIN];
  const everything = { top: -Infinity, bottom: Infinity, left: -Infinity, right: Infinity };
  const svg = draw("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` }, draw("rect", { class: "paper", width, height }), draw("g", { transform: `translate(${MARGIN} ${MARGIN + layout.top})` }, treeParts(everything, 1)));
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
  const at = view.at;
  view.at = -1; // the mark of the keyboard's place is no part of the picture
  const text = pictureOfTree();
  view.at = at;
  const link = make("a", { download: "tree.svg", href: URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
