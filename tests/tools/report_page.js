/* SPDX-License-Identifier: MIT */
/* Uses a report as a reader does, and writes what it finds into <pre id="results">: a line for each
 * failure, then "DONE" and the values of all tables. */
(function () {
"use strict";
const results = [];

function expect(condition, what) {
  if (!condition) results.push("FAILED: " + what);
}
function all(selector, root) {
  return Array.from((root || document).querySelectorAll(selector));
}
function one(selector, root) {
  const found = all(selector, root);
  if (found.length === 0) throw new Error("no " + selector);
  return found[0];
}
function text(selector) {
  return one(selector).textContent;
}
/* Chooses an option; a page of one model has no list of models. */
function choose(id, value) {
  const list = document.getElementById(id);
  if (!list) return;
  list.value = value;
  list.dispatchEvent(new Event("change"));
}
function options(id) {
  const list = document.getElementById(id);
  return list ? all("option", list).map((option) => option.value) : [""];
}
function key(node, name) {
  node.focus();
  node.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true, cancelable: true}));
}
function column(table, name) {
  const names = all("thead button", table).map((button) => button.textContent);
  return names.indexOf(name);
}
/* Cells of a column with all digits. */
function cells(table, name) {
  const c = column(table, name);
  return all("tbody tr", table).map((row) => c < 0 ? "" : exact(row.children[c]));
}
function exact(cell) {
  return cell.dataset.value === undefined ? cell.textContent : cell.dataset.value;
}

/* ---- the parts of the page ---- */

function checkPage() {
  const ids = all("[id]").map((node) => node.id);
  expect(new Set(ids).size === ids.length, "names of elements are unique");
  for (const link of all("nav a")) expect(document.querySelector(link.hash), "a target of " + link.hash);
  for (const picture of all("figure > svg")) {
    expect(picture.getAttribute("aria-label"), "a picture has a label");
    for (const use of all("use", picture)) expect(picture.querySelector(use.getAttribute("xlink:href")),
      "a picture has its own parts: " + use.getAttribute("xlink:href"));
  }
  expect(performance.getEntriesByType("resource").every((entry) => entry.name.startsWith("data:")),
    "nothing is loaded");
  expect(all("script").length === window.expectedScripts, "no script but the page's own");
  expect(window.broken === undefined, "a text of the files was run");
  expect(all("img, iframe, object, link, b").length === 0, "no element from a text of the files");
  expect(!/undefined|NaN|\[object/.test(one("main").textContent), "no undefined, NaN or [object]");
}

function checkTheme() {
  const paper = () => getComputedStyle(document.body).backgroundColor, before = paper();
  one("#theme").click();
  expect(paper() !== before, "the switch changes the colours");
  one("#theme").click();
  expect(paper() === before, "the switch changes the colours back");
}

function checkMap() {
  if (!document.querySelector("#map .cell")) {
    expect(/no measure of heads/.test(text("#map")), "the page says that there is no measure of heads");
    return;
  }
  const rows = all("#map tbody tr"), last = all("button", rows[rows.length - 1]).pop();
  const canvas = () => { const c = document.querySelector("#head canvas"); return c ? c.toDataURL() : ""; };
  const first = one("#map .cell"), before = [text("#head"), canvas()];
  expect(all("#map .cell[tabindex='0']").length === 1, "one cell is in the order of focus");
  if (last === first) return;
  last.click();
  expect(text("#head") !== before[0], "a click on a cell shows other numbers");
  expect(before[1] === "" || canvas() !== before[1], "a click on a cell shows another matrix");
  expect(last.getAttribute("aria-pressed") === "true" && first.getAttribute("aria-pressed") === "false",
    "the chosen cell is marked");
  key(first, first.parentNode.nextElementSibling ? "ArrowRight" : "ArrowDown");
  const next = document.activeElement;
  expect(next !== first && next.classList.contains("cell") && next.tabIndex === 0, "an arrow key moves on");
  expect(next.tagName === "BUTTON" && next.type === "button", "Enter presses a cell");
  next.click();
  expect(document.activeElement === next, "the focus stays");
  const measure = options("measure").find((name) => name !== document.getElementById("measure").value);
  const shown = text("#map tbody");
  if (measure) {
    choose("measure", measure);
    expect(text("#map tbody") !== shown, "another measure shows other values");
  }
}

/* The nearest head is the one with the smallest js. */
function checkNearest() {
  const link = document.querySelector("#head .nearest button");
  if (!link || !options("number-measure").includes("js")) return;
  choose("number-measure", "js");
  const [, head, layer] = /^Head (\d+) of layer (\d+)$/.exec(text("#head h3"));
  const table = one("#all-numbers table"), value = cells(table, "value");
  const a = cells(table, "head"), b = cells(table, "other head"), l = cells(table, "layer");
  const near = value.map((v, i) => i).filter((i) => v(i) && value[i] !== "")
    .sort((i, j) => Number(value[i]) - Number(value[j]))[0];
  function v(i) { return l[i] === layer && (a[i] === head || b[i] === head); }
  expect(link.textContent === "head " + (a[near] === head ? b[near] : a[near]), "the nearest head");
  expect(exact(one("#head .nearest [data-value]")) === value[near], "its distance");
  link.click();
  expect(text("#head h3") !== "Head " + head + " of layer " + layer, "a click goes to the nearest head");
}

function checkSorts() {
  checkSort();
  const gaps = options("number-measure").find((measure) => {
    choose("number-measure", measure);
    return cells(one("#all-numbers table"), "value").includes("");
  });
  if (gaps) checkSort();
}

function checkSort() {
  const table = one("#all-numbers table"), c = column(table, "value");
  const head = all("thead th", table)[c], values = () => cells(table, "value").filter((v) => v !== "").map(Number);
  const rises = (list) => list.every((v, i) => i === 0 || list[i - 1] <= v);
  const emptyLast = () => !cells(table, "value").slice(0, values().length).includes("");
  const unsorted = cells(table, "value").sort();
  one("button", head).click();
  expect(head.getAttribute("aria-sort") === "ascending" && rises(values()), "a click sorts");
  expect(emptyLast(), "empty cells are last");
  one("button", head).click();
  expect(head.getAttribute("aria-sort") === "descending" && rises(values().reverse()), "another click turns");
  expect(emptyLast(), "empty cells are last in the other order, too");
  expect(cells(table, "value").sort().join() === unsorted.join(), "sorting keeps the rows");
}

/* Numbers have at most 4 digits, or all of the table after a click; a rounded one tells the others. */
function checkDigits() {
  const numbers = () => all("td[data-value]"), button = one("#digits");
  const long = numbers().filter((cell) => cell.dataset.value !== cell.textContent);
  const digits = (text) => text.replace(/e.*/, "").replace(/^[-0.]+/, "").replace(".", "").length;
  expect(all("td.number").every((cell) => cell.dataset.value !== undefined || cell.textContent === ""),
    "cells of numbers have all digits");
  for (const cell of long) {
    const value = Number(cell.dataset.value), shown = Number(cell.textContent);
    expect(digits(cell.textContent) <= 4 || /^-?\d+$/.test(cell.textContent), "few digits: " + cell.textContent);
    expect(Math.abs(shown - value) <= Math.max(6e-4 * Math.abs(value), 1e-300), "rounded: " + cell.textContent);
    expect(cell.title === cell.dataset.value, "a title with all digits");
  }
  if (long.length === 0) return;
  button.click();
  expect(numbers().every((cell) => cell.textContent === cell.dataset.value), "all digits are shown");
  expect(button.getAttribute("aria-pressed") === "true", "the switch is on");
  one("#all-numbers thead button").click();
  expect(all("#all-numbers td[data-value]").every((cell) => cell.textContent === cell.dataset.value),
    "sorting keeps all digits");
  button.click();
  expect(numbers().some((cell) => cell.textContent !== cell.dataset.value), "few digits again");
}

/* A picture has a caption, a word about a missing one has none. */
function checkCaptions() {
  for (const figure of all("figure")) {
    const drawn = figure.querySelector("svg") !== null;
    expect(drawn === (figure.querySelector("figcaption") !== null), "a caption belongs to a picture");
    expect(drawn !== (figure.querySelector(".missing") !== null), "a picture, or a word about it");
  }
  const view = document.getElementById("tokens").textContent;
  expect(document.querySelector("#token-view button.token") !== null || !/Choose a token/.test(view),
    "no instructions without tokens");
}

function checkMatrix() {
  const canvas = document.querySelector("#head canvas");
  if (!canvas) return;
  const readout = text("#head .readout");
  key(canvas, "ArrowUp");
  expect(text("#head .readout") !== readout && /→ key .*: \S/.test(text("#head .readout")), "keys read entries");
}

function checkTokens() {
  const tokens = () => all("#token-view button.token"), lines = () => all("#token-view .attends");
  if (tokens().length < 2) return;
  const look = () => lines().map((line) => all(".token", line).map((t) => t.style.background).join()).join();
  const last = tokens().length - 1;
  tokens()[0].click();
  const before = [text("#token-view h3"), look(), lines().length];
  expect(tokens()[0].getAttribute("aria-pressed") === "true", "the chosen token is marked");
  key(tokens()[0], "ArrowRight");
  expect(document.activeElement === tokens()[1], "an arrow key moves to the token after");
  tokens()[last].click();
  expect(text("#token-view h3") !== before[0], "a click chooses a token");
  expect(look() !== before[1], "another token attends elsewhere");
  for (const line of lines()) {
    /* Weights are shown with two digits. */
    const sum = all(".token", line).map((t) => Number(t.title.replace(/.*: /s, ""))).reduce((a, b) => a + b);
    if (window.rowsSumToOne) expect(Math.abs(sum - 1) < 0.06, "weights sum to " + sum);
  }
  const free = document.querySelector("#token-view .toggle[aria-pressed='false']");
  if (!free) return;
  const label = free.getAttribute("aria-label");
  free.focus();
  free.click();
  expect(lines().length === before[2] + 1, "another head is shown");
  expect(document.activeElement.getAttribute("aria-label") === label, "the focus stays at the head");
  document.activeElement.click();
  expect(lines().length === before[2], "the head is hidden again");
}

/* All values of all models: model, measure, layer, head, other head, component, value, sd, samples. */
function listValues() {
  const names = ["layer", "head", "other head", "component", "value", "sd", "samples"];
  for (const model of options("model")) {
    choose("model", model);
    const list = document.getElementById("model");
    const title = list ? list.options[list.selectedIndex].text : one(".subtitle").textContent;
    for (const measure of options("number-measure")) {
      choose("number-measure", measure);
      const table = one("#all-numbers table"), columns = names.map((name) => cells(table, name));
      columns[0].forEach((_, i) => results.push([title, measure].concat(columns.map((c) => c[i])).join()));
    }
  }
}

function run() {
  checkPage();
  checkCaptions();
  checkTheme();
  for (const model of options("model")) {
    choose("model", model);
    checkMatrix();
    checkDigits();
    checkMap();
    checkNearest();
    checkSorts();
    checkTokens();
    if (document.getElementById("sample")) {
      const before = text("#token-view"), samples = options("sample");
      choose("sample", samples[samples.length - 1]);
      expect(text("#token-view") !== before, "another sample has another text");
    }
    checkPage();
  }
  results.push("DONE");
  listValues();
}

try {
  run();
} catch (error) {
  results.push("FAILED: " + error.stack);
}
const pre = document.createElement("pre");
pre.id = "results";
pre.textContent = "\n" + window.pageErrors.concat(results).join("\n") + "\n";
document.body.append(pre);
}());
