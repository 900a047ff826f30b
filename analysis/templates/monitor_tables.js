"use strict";
// What the live page is made of: tables whose rows keep their elements while figures change, and how figures are written.
const live = (() => {
  const OLD_MS = 2000;

  const made = (name, text, kind) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  const put = (element, text, kind) => {
    if (element.textContent !== text) element.textContent = text;
    if (element.className !== kind) element.className = kind;
  };

  const count = (value) => value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en");
  const rate = (value) => value === null || value === undefined ? "–"
    : value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1);
  const ms = (value) => value === null || value === undefined ? "–"
    : Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
  const clock = (time, otherwise = "never") => {
    if (time === null || time === undefined) return otherwise;
    const when = new Date(time);
    const part = (value) => String(value).padStart(2, "0");
    return `${part(when.getHours())}:${part(when.getMinutes())}:${part(when.getSeconds())}.${Math.floor(when.getMilliseconds() / 100)}`;
  };
  const span = (seconds) => seconds === null || seconds === undefined ? "–"
    : Math.abs(seconds) < 100 ? `${seconds.toFixed(1)} s`
      : Math.abs(seconds) < 6000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;

  // A cell is a text, [text, class], or {label, act} for a button. "usual": the class of its column.
  const fill = (cell, told, usual) => {
    if (told !== null && typeof told === "object" && !Array.isArray(told)) {
      let button = cell.querySelector("button");
      if (!button) { button = made("button"); button.type = "button"; cell.replaceChildren(button); }
      put(button, told.label, "");
      button.setAttribute("aria-label", told.name || told.label);
      button.onclick = told.act;
      return;
    }
    const [text, kind] = Array.isArray(told) ? told : [told, ""];
    put(cell, text, [usual, kind].filter(Boolean).join(" "));
  };

  // heads: [text, "n" for figures]; show(rows): {key, cells, read (ms or null; undefined: the table has no times)}.
  const table = (place, heads, empty) => {
    const box = made("div", undefined, "scroll"), body = made("tbody"), nothing = made("p", empty || "None.", "muted");
    const whole = made("table"), top = made("thead"), line = made("tr");
    for (const [text, kind] of heads) line.append(made("th", text, kind || ""));
    top.append(line);
    whole.append(top, body);
    box.tabIndex = 0; // the arrow keys scroll it
    box.append(whole);
    place.append(box, nothing);
    const known = new Map();
    const show = (rows) => {
      box.hidden = !rows.length;
      nothing.hidden = rows.length > 0;
      const wanted = new Set(rows.map((row) => row.key));
      for (const [key, row] of known) if (!wanted.has(key)) { row.remove(); known.delete(key); }
      rows.forEach((row, at) => {
        let line = known.get(row.key);
        if (!line) {
          line = made("tr");
          row.cells.forEach((_, column) => line.append(made(column ? "td" : "th")));
          if (row.read !== undefined) line.append(made("td"));
          known.set(row.key, line);
        }
        if (body.children[at] !== line) body.insertBefore(line, body.children[at] || null);
        row.cells.forEach((told, column) => fill(line.children[column], told, heads[column][1]));
        line.dataset.key = row.key;
        if (row.read !== undefined) {
          line.dataset.read = row.read === null ? "" : row.read;
          put(line.lastElementChild, clock(row.read), "read");
        }
      });
    };
    return { show, box, remove: () => { box.remove(); nothing.remove(); } };
  };

  // Marks every row whose figures are old at the time "now" of whoever served them.
  const age = (now) => {
    for (const line of document.querySelectorAll("tr[data-read]")) {
      const kind = line.dataset.read === "" || now - line.dataset.read > OLD_MS ? "old" : "";
      if (line.className !== kind) line.className = kind;
    }
  };

  return { made, put, count, rate, ms, clock, span, table, age };
})();
