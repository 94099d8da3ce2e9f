"use strict";
// n / p: next and previous citation that the filter shows; Escape: back from a passage to its citation.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && location.hash.startsWith("#pair-")) {
    const cite = document.querySelector('.cite[href="' + location.hash + '"]');
    if (cite) cite.focus();
    return;
  }
  if (event.key !== "n" && event.key !== "p") return;
  const chosen = document.querySelector("input[name=verdict]:checked");
  const wanted = chosen && chosen.value !== "all" ? ".is-" + chosen.value : "";
  const cites = Array.from(document.querySelectorAll(".document .cite" + wanted));
  if (!cites.length) return;
  const at = cites.indexOf(document.activeElement);
  const step = event.key === "n" ? 1 : -1;
  const next = at < 0 ? (step > 0 ? 0 : cites.length - 1) : (at + step + cites.length) % cites.length;
  cites[next].focus();
  cites[next].scrollIntoView({ block: "center" });
});
