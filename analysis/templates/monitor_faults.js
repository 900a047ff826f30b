"use strict";
// The form that breaks something: what the chosen fault does, and the fields that it has.
(() => {
  const { made, put } = live;
  const EXAMPLES = { lag: "constant:50ms" };
  const RESTARTS = { "restart server": "zone", "restart coordinator": "coordinator" };
  const MODE = { name: "mode", about: "With its own files, without data, or with a copy of a live zone's data.", value: "keep", choices: ["keep", "wipe", "warm"] };
  const restart = (kind, part, about) => ({ kind, part, about, fields: part === "server" ? [MODE] : [] });

  live.faultForm = (able, post) => {
    const byId = (id) => document.getElementById(id);
    const kinds = [...able.kinds, restart("restart server", "server", "Start a server again that died or was killed, or kill and start one that runs."),
      restart("restart coordinator", "coordinator", "Start a coordinator again that died or was killed, or kill and start one that runs.")];
    const select = byId("kind"), fields = byId("fields");
    for (const part of new Set(kinds.map((one) => one.part))) {
      const group = made("optgroup");
      group.label = part;
      group.append(...kinds.filter((one) => one.part === part).map((one) => Object.assign(made("option", one.kind.replaceAll("_", " ")), { value: one.kind, title: one.about })));
      select.append(group);
    }
    const chosen = () => kinds.find((one) => one.kind === select.value);
    const control = (field) => {
      if (field.choices.length) {
        const one = made("select");
        one.append(...field.choices.map((choice) => Object.assign(made("option", choice), { value: choice })));
        return one;
      }
      return made("input", undefined, typeof field.value === "number" ? "short" : "long");
    };
    const show = () => {
      const one = chosen();
      put(byId("does"), one.about, "muted");
      byId("lasting").hidden = one.kind in RESTARTS;
      fields.replaceChildren(...one.fields.flatMap((field) => {
        const label = made("label", `${field.name.replaceAll("_", " ")} `), input = control(field);
        input.name = field.name;
        input.value = field.value ?? EXAMPLES[field.name] ?? "";
        label.title = field.about;
        label.append(input);
        return [label, " "];
      }));
    };
    const values = () => Object.fromEntries([...fields.querySelectorAll("[name]")].map((input) => {
      const text = input.value.trim(), field = chosen().fields.find((one) => one.name === input.name);
      return [input.name, typeof field.value === "number" && text !== "" && !Number.isNaN(Number(text)) ? Number(text) : text];
    }));
    select.addEventListener("change", show);
    byId("begin").addEventListener("click", () => {
      const target = byId("target").value.trim(), lasting = byId("for").value.trim(), kind = select.value;
      if (kind in RESTARTS) post("/restart", { what: RESTARTS[kind], target, ...values() });
      else post("/faults", { kind, target, ...(lasting ? { for_s: Number(lasting) } : {}), ...values() });
    });
    const options = [...able.places, "all"];
    if (able.places.length < 6) able.places.forEach((one, at) => able.places.slice(at + 1).forEach((other) => options.push(`${one}:${other}`, `${one}>${other}`, `${other}>${one}`)));
    byId("targets").replaceChildren(...options.map((text) => Object.assign(made("option"), { value: text })));
    byId("target").value = able.places[0];
    byId("heal").addEventListener("click", () => post("/heal"));
    show();
  };
})();
