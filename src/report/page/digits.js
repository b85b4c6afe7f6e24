/* SPDX-License-Identifier: MIT */
/* Numbers of tables: a few digits, or all of them. An element keeps all in data-value. */

const FEW_DIGITS = 4;

let allDigits = false;

function shownDigits(text) {
  return allDigits ? String(text) : brief(text, FEW_DIGITS);
}

/* An element with a number of a table, whose digits the reader can point at, switch on and copy. */
function exactNumber(tag, attributes, text) {
  const exact = String(text);
  return element(tag, {...attributes, "data-value": exact,
    title: brief(exact, FEW_DIGITS) === exact ? null : exact}, shownDigits(exact));
}

function digitSwitch() {
  const button = element("button", {type: "button", id: "digits", onclick: () => {
    allDigits = !allDigits;
    button.setAttribute("aria-pressed", String(allDigits));
    for (const node of document.querySelectorAll("[data-value]")) node.textContent = shownDigits(node.dataset.value);
  }, "aria-pressed": String(allDigits)}, "All digits");
  return button;
}
