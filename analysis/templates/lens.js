"use strict";
// Walks through the steps by keys and clicks. Without it the strips and every step are there all the same.
(() => {
  for (const box of document.querySelectorAll(".lens")) {
    const rows = [...box.querySelectorAll(".steps tbody tr")], where = box.querySelector(".step");
    const marks = [...box.querySelectorAll(".strip i")];
    const alone = box.dataset.keys === "page"; // a page of its own scrolls to the step, and hears keys everywhere
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
      if (scroll) row.scrollIntoView({ block: alone ? "center" : "nearest" });
    };
    (alone ? document : box).addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "ArrowRight") { event.preventDefault(); go(at + 1, true); }
      if (event.key === "ArrowLeft") { event.preventDefault(); go(at - 1, true); }
    });
    rows.forEach((row, place) => row.addEventListener("click", () => go(place, false)));
    const told = rows.findIndex(row => row.classList.contains("telling"));
    if (told >= 0) go(told, false);
  }
})();
