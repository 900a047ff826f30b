"use strict";
// Strips of the last two minutes: a figure a measure, a line a zone or queue, told apart by dashes, and bands of faults.
(() => {
  const { made, put, rate } = live;
  const WIDTH = 1000, HEIGHT = 100, SVG = "http://www.w3.org/2000/svg";
  const DASHES = ["", "6 3", "2 2", "9 3 2 3", "12 4", "4 2 1 2"];
  const drawn = (name, attributes, text) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.append(Object.assign(document.createElementNS(SVG, "title"), { textContent: text }));
    return element;
  };

  // Points without a value cut a line in two.
  const pieces = (points) => points.reduce((found, [at, value]) => {
    if (value === null) found.push([]); else found[found.length - 1].push([at, value]);
    return found;
  }, [[]]).filter((piece) => piece.length);

  const figures = {};
  const figure = (place, measure) => {
    const box = made("figure"), caption = made("figcaption"), picture = drawn("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${measure}, last two minutes` });
    box.append(caption, picture);
    place.append(box);
    return { caption, picture };
  };
  const legend = (name, at) => {
    const one = made("span"), sample = drawn("svg", { viewBox: "0 0 24 8", "aria-hidden": "true" });
    sample.append(drawn("line", { x1: 0, x2: 24, y1: 4, y2: 4, "stroke-dasharray": DASHES[at % DASHES.length] }));
    one.append(sample, ` ${name}`);
    return one;
  };

  live.strips = (place, bands, told, nowMs) => {
    const x = (at) => WIDTH * Math.min(1, Math.max(0, (at - told.since_ms) / (nowMs - told.since_ms)));
    for (const [measure, lines] of Object.entries(told.strips)) {
      const { caption, picture } = figures[measure] || (figures[measure] = figure(place, measure));
      const values = Object.values(lines).flat().map(([, value]) => value).filter((value) => value !== null);
      const most = Math.max(0, ...values), names = Object.keys(lines);
      caption.replaceChildren(made("strong", measure), made("span", values.length ? `0 to ${rate(most)}` : "no figure yet"), ...names.map(legend));
      picture.replaceChildren(
        ...told.faults.map((one) => drawn("rect", { x: x(one.begin_ms), y: 0, height: HEIGHT,
          width: Math.max(2, x(one.end_ms === null ? nowMs : one.end_ms) - x(one.begin_ms)) }, one.fault)),
        ...names.flatMap((name, at) => pieces(lines[name]).map((piece) => drawn("polyline", { "stroke-dasharray": DASHES[at % DASHES.length],
          points: piece.map(([when, value]) => `${x(when).toFixed(1)},${(HEIGHT - 4 - (HEIGHT - 8) * (most ? value / most : 0)).toFixed(1)}`).join(" ") }, name))),
      );
    }
    put(bands, told.faults.length ? `Bands: ${told.faults.map((one) => one.fault).join(", ")}.` : "No fault in this time.", "muted");
  };
})();
