"use strict";
// A button beside each command, and after each file. Without it they can be selected and copied all the same.
(() => {
  for (const code of document.querySelectorAll("code.command, pre.copied")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "copy";
    button.setAttribute("aria-label", `copy ${code.dataset.name || code.textContent}`);
    button.addEventListener("click", () => {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = document.execCommand("copy") ? "copied" : "selected";
    });
    code.after(" ", button);
  }
})();
