"use strict";
(() => {
  const runs = JSON.parse(document.getElementById("runs-data").textContent);
  const rows = [...document.querySelectorAll("#runs tbody tr")];
  const folder = decodeURIComponent(location.pathname).split("/").slice(-2, -1)[0] || "runs";
  const chosen = document.getElementById("chosen");
  const [words, command, table] = ["p", "pre", "table"].map((name) => chosen.querySelector(name));
  const boxes = [];
  const picked = [];

  const shown = (value) => value === undefined ? "–"
    : Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
  const quoted = (word) => /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\"'\"'") + "'";
  const cell = (row, name, text, kind) => {
    const made = document.createElement(name);
    made.textContent = text;
    made.className = kind;
    row.append(made);
  };

  const compare = () => {
    const two = picked.map((at) => runs[at]);
    const whole = two.length === 2;
    words.textContent = whole ? "" : two.length ? "Choose one more." : "Choose two runs to compare them here.";
    command.hidden = table.hidden = !whole;
    if (!whole) return;
    command.textContent = "zonelab compare " + two.map((run) => quoted(folder + "/" + run.place)).join(" ");
    const heads = table.querySelectorAll("thead th");
    two.forEach((run, at) => { heads[at + 1].textContent = run.place; });
    const body = table.querySelector("tbody");
    body.replaceChildren();
    for (const part of ["counts", "figures"]) {
      const told = two.map((run) => new Map(run[part]));
      for (const name of new Set(told.flatMap((values) => [...values.keys()]))) {
        const missing = part === "counts" ? 0 : undefined;
        const values = told.map((one) => one.get(name) ?? missing);
        const row = document.createElement("tr");
        cell(row, "th", name.replaceAll("_", " "), "");
        values.forEach((value) => cell(row, "td", shown(value), "n"));
        cell(row, "td", values.includes(undefined) ? "–" : shown(values[1] - values[0]), "n");
        body.append(row);
      }
    }
  };

  rows.forEach((row, at) => {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.setAttribute("aria-label", "compare " + runs[at].place);
    box.addEventListener("change", () => {
      if (box.checked) picked.push(at); else picked.splice(picked.indexOf(at), 1);
      if (picked.length > 2) boxes[picked.shift()].checked = false;
      compare();
    });
    boxes.push(box);
    label.append(box, " ");
    row.firstElementChild.prepend(label);
  });

  const filter = document.getElementById("filter");
  const [field, found] = [filter.querySelector("input"), filter.querySelector("span")];
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
      left += !row.hidden;
    }
    found.textContent = wanted.length ? left.toLocaleString("en") + " runs" : "";
  });
  filter.hidden = chosen.hidden = false;
})();
