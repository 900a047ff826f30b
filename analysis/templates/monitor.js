"use strict";
// The live page: asks for the events of whoever served it, shows the newest reading, and says so when there is none.
(() => {
  const QUIET_MS = 2500, SILENT_MS = 6000, AGAIN_MS = 1000, TICK_MS = 250, KEY = "zonelab token";
  const { made, put, count, rate, ms, clock, span, table } = live;
  const byId = (id) => document.getElementById(id);
  const state = byId("state"), section = (name) => byId(name);

  // The token comes in the fragment, which browsers send to nobody, and does not stay in the address.
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname);
  }
  const asked = (path, options = {}) => fetch(path, {
    ...options, cache: "no-store",
    headers: { Authorization: `Bearer ${sessionStorage.getItem(KEY) || ""}`, "Content-Type": "application/json" },
  });

  let hello = null, last = null, why = "", ended = null;
  let skew = Infinity; // how far the clock here is ahead of that of whoever serves the page, at most

  const say = (kind, text) => { put(state, text, kind); document.body.classList.toggle("stale", kind === "bad"); };
  const judge = () => {
    const now = Date.now() - skew;
    if (last !== null) live.age(now);
    if (ended) return put(state, `The run has ended: ${ended.word}.`, { valid: "good", invalid: "bad" }[ended.word] || "unsure");
    if (last !== null && last.over && !why) return say("unsure", last.over);
    if (last !== null && now - last.now_ms <= QUIET_MS && !why) return say("good", `Live · read ${clock(last.now_ms)}`);
    if (why.startsWith("refused")) return say("bad", `Not accepted: ${why.slice(8)}. Open the address that zonelab printed.`);
    if (last === null) return say("unsure", why ? `Nobody answers: ${why}. Trying again.` : "Connecting …");
    return say("bad", `Stale since ${clock(last.now_ms)}: ${why || "no reading arrives"}. Trying again.`);
  };

  const tell = (place, text, kind) => put(place, text, kind ? `told ${kind}` : "told");
  const post = async (path, body) => {
    const told = section("faults").querySelector(".told");
    tell(told, "…");
    try {
      const answer = await asked(path, { method: "POST", body: JSON.stringify(body) });
      const said = await answer.json();
      const done = said.done;
      if (!answer.ok) tell(told, said.error, "bad");
      else tell(told, Array.isArray(done) ? done.join("; ") || "nothing to do" : `begun: ${done.fault}`);
    } catch (error) { tell(told, `not sent: ${error.message}`, "bad"); }
  };

  const shown = {};
  const once = (name, place, heads, empty) => shown[name] || (shown[name] = table(place, heads, empty));
  const n = "n";

  const zones = () => {
    byId("notices").hidden = !(last.notices || []).length;
    put(byId("notices"), (last.notices || []).join(" "), "told bad");
    const heads = [["zone"], ["server"], ["coordinator"], ["reaches"], ["clients", n], ["commands/s", n], ["errors/s", n], ["divergent/s", n],
      ["p50 ms", n], ["p99 ms", n], ["commands", n], ["errors", n], ["differed", n], ["read", n]];
    once("zones", section("zones"), heads).show(last.zones.map((zone) => {
      const told = zone.statistics || {}, recent = told.recent || {};
      const up = (state) => state === "running" ? state : [state, "bad"];
      const away = last.health.away[zone.zone];
      const troubles = told.server_troubles || [];
      const server = troubles.length ? [troubles.join(", "), "bad"] : up(zone.server.state);
      const reaches = !away ? "–" : away.length ? [`not ${away.join(", ")}`, "bad"] : "all";
      const place = zone.data_centre ? `${zone.zone} (${zone.of_zone}, ${zone.data_centre})` : zone.zone;
      const clients = told.over_memory ? [`${count(told.clients)} (${count(told.over_memory)} closed: too much held)`, "bad"] : count(told.clients);
      const cells = [place, server, up(zone.coordinator.state), reaches, clients];
      cells.push(rate(recent.operations_per_s), recent.errors_per_s ? [rate(recent.errors_per_s), "bad"] : rate(recent.errors_per_s));
      cells.push(rate(recent.divergent_per_s), ms(recent.p50_ms), ms(recent.p99_ms));
      cells.push(count(told.commands), count(told.errors), count(told.divergence));
      return { key: zone.zone, read: zone.read_ms, cells };
    }));
  };

  const links = () => {
    const heads = [["link"], ["lag"], ["loss", n], ["duplicate", n], ["cut"], ["on the way", n], ["read", n]];
    const under = new Set((last.faults || []).flatMap((fault) => fault.links));
    const many = last.links.length > 12;
    const rows = last.links.filter((link) => !many || link.in_flight || link.cut || under.has(link.link));
    once("links", section("links"), heads).show(rows.map((link) => ({
      key: link.link, read: link.read_ms,
      cells: [link.link, link.lag, String(link.loss), String(link.duplicate || 0), link.cut ? [link.cut, "bad"] : "–", count(link.in_flight)],
    })));
  };

  const faults = () => {
    const able = hello.faultable;
    const heads = [["fault"], ["since", n], ["ends in", n], ...(able ? [["end"]] : [])];
    once("faults", section("faults").querySelector(".rows"), heads).show(last.faults.map((fault) => {
      const act = () => post("/faults/end", { number: fault.number });
      const end = able ? [{ label: "end", name: `end ${fault.fault}`, act }] : [];
      return { key: fault.fault, cells: [fault.fault, span(fault.since_s), span(fault.ends_in_s), ...end] };
    }));
  };

  // A queue has a block of its own; tables of queues that are shown no more go away.
  const queues = () => {
    const place = section("queues"), seen = new Set();
    for (const queue of last.queues) {
      const name = `${queue.queue} (${queue.engine})`;
      seen.add(name);
      const block = blocks[name] || (blocks[name] = queueBlock(place, name));
      block.zones.show(queue.zones.map((zone) => ({
        key: zone.zone, read: zone.read_ms,
        cells: [zone.zone, count(zone.due), count(zone.delayed), count(zone.in_flight), count(zone.dead), count(zone.payloads)],
      })));
      const ids = queue.ids;
      put(block.ids, ids === null ? "Ids of zones are not compared: more than 1,000 entries, or a zone does not answer."
        : `Of ${count(ids.ids)} ids, ${count(ids.missing)} are not in every zone, ${count(ids.for_long)} of them in the reading before, too; read ${clock(ids.read_ms)}.`,
      ids !== null && ids.for_long ? "bad tone" : "muted");
      put(block.more, queue.keys_left_out ? `${count(queue.keys_left_out)} more rows are not shown.` : "", "muted");
      block.keys.show(queue.keys.map((key) => ({
        key: `${key.key} ${key.zone}`, read: key.read_ms,
        cells: [key.key, HOLDS[key.holds], key.shard || "–", key.zone, count(key.entries), count(key.due), clock(key.next_ms, "–")],
      })));
    }
    for (const name of Object.keys(blocks)) if (!seen.has(name)) { blocks[name].box.remove(); delete blocks[name]; }
    place.querySelector(".muted").hidden = last.queues.length > 0;
    const choice = section("message").querySelector("select"), names = last.queues.map((queue) => `${queue.queue} (${queue.engine})`);
    section("message").hidden = !names.length;
    if (names.join() !== [...choice.options].map((option) => option.textContent).join()) {
      const chosen = choice.value;
      choice.replaceChildren(...names.map((name) => made("option", name)));
      if (names.includes(chosen)) choice.value = chosen;
    }
  };
  const blocks = {};
  const HOLDS = { queue: "waiting", unack: "leases", dead: "dead letters", payload: "payloads" };
  const queueBlock = (place, name) => {
    const box = made("div");
    box.append(made("h3", name));
    place.append(box);
    const zonesOf = table(box, [["zone"], ["due", n], ["delayed", n], ["in flight", n], ["dead", n], ["payloads", n], ["read", n]]);
    const ids = made("p", "", "muted"), details = made("details");
    details.open = true;
    details.append(made("summary", "by key"));
    box.append(ids, details);
    const keys = table(details, [["key"], ["holds"], ["shard or topic"], ["server"], ["entries", n], ["due or ended", n], ["next", n], ["read", n]], "Every key is empty.");
    const more = made("p", "", "muted");
    details.append(more);
    return { box, zones: zonesOf, ids, keys, more };
  };

  // A followed message is asked for with every reading, one question at a time.
  let followed = null, asking = false;
  const follow = async () => {
    if (!followed || asking) return;
    asking = true;
    const told = section("message").querySelector(".told"), wanted = followed;
    try {
      const answer = await asked(`/message?${new URLSearchParams(wanted)}`), said = await answer.json();
      if (wanted !== followed) return;
      if (!answer.ok) { followed = null; tell(told, said.error, "bad"); return; }
      const rows = said.found.map((one) => ({
        key: `${one.zone} ${one.key || ""}`, read: one.read_ms,
        cells: [one.zone, one.error ? [one.error, "bad"] : one.holds ? HOLDS[one.holds] : "not here", one.shard || "–", one.key || "–",
          one.holds === "queue" ? clock(one.at_ms, "now") : "–", one.holds === "unack" ? clock(one.at_ms, "–") : "–"],
      }));
      const copies = said.found.filter((one) => one.holds === "payload").length;
      tell(told, `${said.message}: ${copies === 1 ? "1 server has" : `${copies} servers have`} its payload.`);
      const heads = [["server"], ["holds"], ["shard or topic"], ["key"], ["due", n], ["lease ends", n], ["read", n]];
      once("message", section("message"), heads).show(rows);
    } catch (error) { tell(told, `not read: ${error.message}`, "bad"); } finally { asking = false; }
  };
  const followForm = () => {
    const form = section("message"), [choice, id, button] = ["select", "input", "button"].map((name) => form.querySelector(name));
    const begin = () => {
      const [, queue, engine] = /^(.*) \((.*)\)$/.exec(choice.value);
      followed = id.value.trim() ? { queue, engine, id: id.value.trim() } : null;
      follow();
    };
    button.addEventListener("click", begin);
    id.addEventListener("keydown", (event) => { if (event.key === "Enter") begin(); });
  };

  const run = () => {
    const told = last.run, messages = told.messages;
    const overdue = messages && [count(messages.overdue), messages.overdue ? "bad" : ""];
    const rows = [["phase", told.phase]];
    if (messages) {
      rows.push(["confirmed pushes", count(messages.confirmed)], ["messages delivered", count(messages.delivered)]);
      rows.push(["duplicates", count(messages.duplicates)], ["overdue", overdue]);
      rows.push(["first overdue for", messages.overdue_ms === null ? "–" : span(messages.overdue_ms / 1e3)]);
    }
    for (const { f, outcome, count: number } of told.operations) rows.push([`${f} ${outcome}`, count(number)]);
    once("run", section("run").querySelector(".rows"), [["what"], ["so far", n], ["read", n]]).show(rows.map(([what, value]) => (
      { key: what, read: told.read_ms, cells: [what, value] })));
  };

  const partitions = () => {
    const heads = [["group"], ["partition"], ["owner"], ["token"], ["cursor", n], ["end of log", n], ["lag", n], ["stands still"], ["read", n]];
    once("partitions", section("partitions").querySelector(".rows"), heads, "No event yet.").show(last.partitions.map((one) => ({
      key: `${one.group} ${one.partition}`, read: one.read_ms,
      cells: [one.group, one.partition, one.owner || "none", one.token || "–", count(one.cursor), count(one.end), count(one.lag),
        one.blocked ? [`${one.blocked}, ${span(one.blocked_s)}`, "bad"] : "no"],
    })));
  };

  const votes = () => {
    const levels = [["zone"], ["level"], ["commands", n], ["errors", n], ["late disagreements", n], ["decisions"], ["read", n]];
    const failures = [["zone"], ["of zone"], ["error"], ["batches", n], ["read", n]];
    const each = (rows) => last.zones.filter((zone) => zone.statistics).flatMap((zone) =>
      rows(zone.statistics, zone).map(([key, ...cells]) => ({ key: `${zone.zone} ${key}`, read: zone.read_ms, cells: [zone.zone, ...cells] })));
    once("levels", section("votes"), levels, "No command yet.").show(each((told) => Object.entries(told.levels).map(([level, counts]) => [
      level, level, count(counts.commands), count(counts.error_answers), count(counts.late_disagreements),
      Object.entries(counts.decisions).filter(([, number]) => number).map(([name, number]) => `${name} ${count(number)}`).join(", "),
    ])));
    once("failures", section("votes"), failures, "No zone failed to answer.").show(each((told) => Object.entries(told.zone_failures)
      .flatMap(([zone, errors]) => Object.entries(errors).map(([text, number]) => [`${zone} ${text}`, zone, text, count(number)]))));
  };

  const health = () => put(byId("health"), last.health.words, last.health.well ? "good" : "bad");
  const strips = () => live.strips(section("strips").querySelector(".rows"), byId("bands"), last.strips, last.now_ms);

  const draw = () => {
    const parts = { run, health, strips, zones, queues, partitions, links, faults, votes };
    for (const [name, part] of Object.entries(parts)) {
      if (!last[name === "votes" ? "zones" : name]) continue;
      section(name).hidden = false;
      part();
    }
  };

  const controls = () => {
    const able = hello.faultable, box = section("faults").querySelector("fieldset");
    byId("heal").hidden = box.hidden = !able;
    if (!able || byId("kind").options.length) return;
    live.faultForm(able, post);
  };

  // The report is kept by the page: whoever served it ends with the run.
  const verdict = () => {
    section("verdict").hidden = false;
    document.body.classList.remove("stale");
    section("verdict").querySelector(".rows").replaceChildren(...ended.sentences.map((words) => made("p", words)));
    if (!ended.html) return;
    const link = made("a", "Open the report");
    link.href = URL.createObjectURL(new Blob([ended.html], { type: "text/html" }));
    link.target = "_blank";
    byId("report").replaceChildren(link, ", which is also at ", made("code", ended.report));
  };

  const opened = (told) => {
    hello = told;
    put(byId("title"), told.title, "");
    document.title = `zonelab: ${told.title}`;
    put(byId("about"), Object.entries(told.about).filter(([, value]) => value !== null && typeof value !== "object")
      .map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`).join(" · "), "muted");
    controls();
  };

  const heardOf = (name, told) => {
    if (name === "hello") return opened(told);
    if (name === "end") { ended = told; verdict(); return judge(); }
    last = told;
    skew = Math.min(skew, Date.now() - told.now_ms);
    why = "";
    draw();
    follow();
    return judge();
  };

  // One connection: until it ends, or is silent for so long that whoever served it must be gone.
  const listen = async () => {
    const ended = new AbortController();
    let watch = null;
    const alive = () => { clearTimeout(watch); watch = setTimeout(() => ended.abort(), SILENT_MS); };
    try {
      alive();
      const answer = await asked("/events", { signal: ended.signal });
      if (!answer.ok) { why = `refused ${(await answer.json()).error}`; return; }
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) { why = "whoever served this page has ended"; return; }
        alive();
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        for (const part of parts) {
          const [name, data] = part.split("\n").map((line) => line.slice(line.indexOf(":") + 2));
          try { heardOf(name, JSON.parse(data)); } catch (error) { reportError(error); }
        }
      }
    } catch { why = "whoever served this page does not answer"; } finally { clearTimeout(watch); }
  };
  const goOn = async () => {
    while (!ended) {
      await listen();
      judge();
      await new Promise((resolve) => { setTimeout(resolve, AGAIN_MS); });
    }
  };
  followForm();
  setInterval(judge, TICK_MS);
  document.addEventListener("visibilitychange", judge); // timers of hidden pages are late
  addEventListener("hashchange", () => location.reload());
  goOn();
})();
