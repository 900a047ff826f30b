"use strict";
// Zoom and hover of the timeline. Without it the picture of the whole run and every table are there all the same.
(() => {
  const box = document.getElementById("timeline");
  const data = JSON.parse(document.getElementById("timeline-data").textContent);
  const plot = box.querySelector(".plot"), axis = box.querySelector(".axis"), told = box.querySelector(".told");
  const WIDTH = 1000, ROW = 20, NARROWEST = 0.8, SHORTEST = 1e-5, TICKS = 5;
  const NEAR = 6; // pixels
  let from = 0, to = data.end, drag = null, at = null;

  const place = time => WIDTH * (time - from) / (to - from);
  const clip = x => Math.min(3 * WIDTH, Math.max(-WIDTH, x));

  const step = () => {
    const exact = (to - from) / TICKS, power = 10 ** Math.floor(Math.log10(exact));
    return [1, 2, 5, 10].find(nice => nice * power >= exact * 0.999999) * power;
  };

  const draw = () => {
    for (const path of box.querySelectorAll("path[data-row]")) {
      let line = "";
      for (const [, type, begin, took] of data.rows[path.dataset.row]) {
        if (type !== path.dataset.type || begin > to || begin + took < from) continue;
        const x = clip(place(begin)), end = clip(place(begin + took));
        line += `M${x.toFixed(1)} ${path.dataset.y}h${Math.max(NARROWEST, end - x).toFixed(1)}`;
      }
      path.setAttribute("d", line);
    }
    for (const bar of box.querySelectorAll("[data-begin]")) {
      const x = clip(place(+bar.dataset.begin)), end = clip(place(+bar.dataset.end));
      bar.setAttribute("x", x);
      bar.setAttribute("width", Math.max(bar.dataset.begin === bar.dataset.end ? 0.5 : NARROWEST, end - x));
    }
    const width = step(), digits = Math.max(0, Math.ceil(-Math.log10(width) - 1e-9));
    const ticks = [];
    for (let number = Math.ceil(from / width - 1e-9); number * width <= to && ticks.length < 12; number += 1) {
      const tick = document.createElement("span");
      tick.textContent = (number * width).toFixed(digits);
      const percent = place(number * width) / 10;
      tick.style.left = `${percent}%`;
      tick.style.transform = `translateX(${-percent}%)`; // the first and the last stay inside
      ticks.push(tick);
    }
    axis.replaceChildren(...ticks);
  };

  const show = (begin, end) => {
    const length = Math.min(data.end, Math.max(SHORTEST, end - begin));
    from = Math.min(Math.max(0, (begin + end - length) / 2), data.end - length);
    to = from + length;
    draw();
  };
  const zoom = (factor, centre = (from + to) / 2) =>
    show(centre - (centre - from) * factor, centre + (to - centre) * factor);
  const pan = share => { const move = share * (to - from); show(from + move, to + move); };

  const say = (row, mark) => {
    const [f, type, begin, took, others, text] = mark;
    const more = others ? `, the longest of ${others + 1} near here that were ${type}` : "";
    told.textContent = `${box.querySelectorAll(".names > div")[data.first + row].textContent}: ${f} ${type}` +
      ` at ${begin.toFixed(6)} s, ${(1000 * took).toFixed(3)} ms${more}${text ? " · " + text : ""}`;
  };

  // The next mark that was not ok, in either direction, so that the keyboard reaches what matters.
  const bad = data.rows.flatMap((marks, row) => marks.filter(mark => mark[1] !== "ok").map(mark => [mark[2], row, mark]))
    .sort((one, other) => one[0] - other[0]);
  const seek = way => {
    if (!bad.length) { told.textContent = "Every operation that is shown was ok."; return; }
    at = at === null ? (way > 0 ? 0 : bad.length - 1) : (at + way + bad.length) % bad.length;
    const [begin, row, mark] = bad[at], half = (to - from) / 2;
    if (begin < from || begin > to) show(begin - half, begin + half);
    say(row, mark);
  };

  // The events of the chosen case, as lines across all rows.
  const mark = times => {
    const svg = box.querySelector("svg");
    for (const old of svg.querySelectorAll(".chosen")) old.remove();
    for (const at of times.split(" ").filter(Boolean)) {
      const line = document.createElementNS(svg.namespaceURI, "rect");
      line.setAttribute("class", "chosen");
      line.setAttribute("y", 0);
      line.setAttribute("height", svg.getAttribute("height"));
      line.dataset.begin = line.dataset.end = at;
      svg.append(line);
    }
  };

  const time = event => {
    const frame = plot.getBoundingClientRect();
    return from + (to - from) * (event.clientX - frame.left) / frame.width;
  };
  const hover = event => {
    const frame = plot.getBoundingClientRect(), when = time(event);
    const row = Math.floor((event.clientY - frame.top) / ROW) - data.first;
    const reach = NEAR * (to - from) / frame.width;
    let best = null, nearest = reach;
    for (const mark of data.rows[row] || []) {
      const away = Math.max(mark[2] - when, when - mark[2] - mark[3], 0);
      if (away < nearest || (away === nearest && best !== null && mark[3] < best[3])) { nearest = away; best = mark; }
    }
    if (best) { say(row, best); return; }
    const name = row < 0 ? box.querySelectorAll(".names > div")[row + data.first] : null;
    const near = row < 0 ? [...box.querySelectorAll("rect.bar")].find(bar => +bar.dataset.row === row + data.first &&
      when >= +bar.dataset.begin - reach && when <= +bar.dataset.end + reach) : null;
    told.textContent = near ? `${name.textContent}: ${(+near.dataset.begin).toFixed(3)} to ` +
      `${(+near.dataset.end).toFixed(3)} s` : `${when.toFixed(6)} s`;
  };

  const acts = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), ArrowLeft: () => pan(-0.25),
    ArrowRight: () => pan(0.25), Home: () => show(0, data.end), 0: () => show(0, data.end), n: () => seek(1), p: () => seek(-1),
  };
  plot.addEventListener("keydown", event => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? null : acts[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  for (const button of box.querySelectorAll("button")) button.addEventListener("click", () => acts[button.dataset.act]());
  box.querySelector(".controls").hidden = false;
  plot.addEventListener("pointerdown", event => { drag = { x: event.clientX, when: time(event) }; });
  plot.addEventListener("pointermove", hover);
  plot.addEventListener("pointercancel", () => { drag = null; });
  plot.addEventListener("pointerup", event => {
    const start = drag;
    drag = null;
    if (!start) return;
    const when = time(event);
    if (Math.abs(event.clientX - start.x) > NEAR) show(Math.min(start.when, when), Math.max(start.when, when));
    else hover(event);
  });
  plot.addEventListener("dblclick", () => show(0, data.end));
  plot.addEventListener("wheel", event => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 0.7 : 1 / 0.7, time(event));
  }, { passive: false });
  for (const link of document.querySelectorAll("a[data-from]")) {
    link.addEventListener("click", () => { mark(link.dataset.marks); show(+link.dataset.from, +link.dataset.until); });
  }
})();
