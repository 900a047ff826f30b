"use strict";
// Walks through the steps by keys and clicks. Without it the strips and every step are there all the same.
(() => {
  const rows = [...document.querySelectorAll("#steps tbody tr")], where = document.getElementById("where");
  const marks = [...document.querySelectorAll(".strip i")];
  let at = -1;
  const go = (to, scroll) => {
    if (!rows.length) return;
    if (at >= 0) rows[at].classList.remove("here");
    at = Math.min(rows.length - 1, Math.max(0, to));
    const row = rows[at];
    row.classList.add("here");
    for (const mark of marks) { mark.hidden = false; mark.style.left = `${row.dataset.percent}%`; }
    const [time, who, what] = [...row.children].map(cell => cell.textContent.trim());
    where.textContent = `Step ${at + 1} of ${rows.length}, at ${time} s: ${who} ${what}`;
    if (scroll) row.scrollIntoView({ block: "center" });
  };
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowRight") { event.preventDefault(); go(at + 1, true); }
    if (event.key === "ArrowLeft") { event.preventDefault(); go(at - 1, true); }
  });
  rows.forEach((row, place) => row.addEventListener("click", () => go(place, false)));
  const told = rows.findIndex(row => row.classList.contains("telling"));
  if (told >= 0) go(told, false);
})();
