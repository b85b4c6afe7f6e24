/* SPDX-License-Identifier: MIT */
/* The table of models, and what chooses among them. */

function samplesShown(store) {
  if (!store) return "no store";
  const shown = store.samples.length, most = Math.max(0, ...store.samples.map((s) => s.length));
  const cut = store.samples.some((s) => s.shown < s.length);
  return shown + " of " + store.all + (cut ? ", the first " +
    Math.max(...store.samples.map((s) => s.shown)) + " of up to " + most + " tokens" :
    ", up to " + most + " tokens");
}

/* What tables give, by its kind and name. */
const AGAIN = {
  measure: (name) => name, across: (name) => name + " across layers", curve: (name) => "the curve " + name};

/* "js of lm-mgk-8 is in a.h5 and in b.h5; …": a line for each two tables that give the same, with the
 * same values or with others. */
function againLines(model, differ) {
  const lines = new Map();
  /* Ranks differ if their thresholds do. */
  const told = (table, other, names) => model.files[table] +
    (differ && names.includes("rank") && model.thresholds[table] && model.thresholds[table] !== model.thresholds[other]
      ? " (" + model.thresholds[table] + ")" : "");
  for (const [kind, name, shown, other, differs] of model.again) {
    const key = shown + " " + other;
    if (differs !== differ) continue;
    if (!lines.has(key)) lines.set(key, {shown, other, names: []});
    lines.get(key).names.push(AGAIN[kind](name));
  }
  return Array.from(lines.values(), ({shown, other, names}) => names.join(", ") + " of " + model.title +
    (names.length > 1 ? " are" : " is") + " in " + told(shown, other, names) + " and in " +
    told(other, shown, names) + (differ ? " with other values" : "") + "; the page shows the values of " +
    model.files[shown] + ", which was named first.");
}

function allAgainLines(differ) {
  return [].concat(...data.models.map((model) => againLines(model, differ)));
}

/* Tables that agree are no news: who wants to know it opens this. */
function agreement() {
  const lines = allAgainLines(false);
  return lines.length === 0 ? null : element("details", {}, element("summary", {},
    "Some measures are in several tables of a model, with the same values"),
  ...lines.map((line) => element("p", {class: "aside"}, line)));
}

/* Models of one file that are apart, which a reader might take for one. */
function apartLines() {
  const known = data.models.filter((model) => model.sha256);
  return known.filter((model, i) => known.findIndex((m) => m.sha256 === model.sha256) === i)
    .map((model) => known.filter((m) => m.sha256 === model.sha256)).filter((same) => same.length > 1)
    .map((same) => same.map((model) => model.title).join(" and ") +
      " are the same model file (SHA-256 " + same[0].sha256.slice(0, 8) +
      "…) on other samples, layers, heads or matrices, as far as their tables tell: they are shown apart.");
}

/* What the programs that made the tables warned of, once each: of several models the same thing is
 * said once, of all of them. */
function warningLines() {
  const models = new Map();
  for (const model of data.models)
    for (const line of model.warnings) {
      const own = line.startsWith(model.name + ": ");
      const text = own ? line.slice(model.name.length + 2) : line;
      const titles = models.get(text) || [];
      if (own && !titles.includes(model.title)) titles.push(model.title);
      models.set(text, titles);
    }
  return Array.from(models, ([text, titles]) => (titles.length > 0 ? titles.join(", ") + ": " : "") + text);
}

function showOverview() {
  const columns = [{name: "model", text: true}, {name: "attention", text: true},
    {name: "layers"}, {name: "heads"}, {name: "samples"},
    {name: "of them shown", text: true}, {name: "tables", text: true, wraps: true}, {name: "store", text: true, wraps: true}];
  const rows = data.models.map((model) => {
    const store = storeOf(model);
    return [model.title, store ? store.attention || "not known" : "no store", model.layers.length,
      model.heads.length || null, samplesOf(model), samplesShown(store), model.files.join(", "), store ? store.file : ""];
  });
  replace("overview", sortableTable("Models", columns, rows),
    ...warningLines().concat(apartLines(), allAgainLines(true)).map(note), agreement());
}

function showBar() {
  const store = storeOf(theModel());
  replace("bar",
    data.models.length > 1
      ? select("model", "Model", data.models.map((m, i) => [i, m.title]), state.model,
        (value) => chooseModel(Number(value))) : null,
    store && store.samples.length > 1
      ? select("sample", "Sample", store.samples.map((s, i) => [i, String(s.number)]), state.sample,
        (value) => chooseSample(Number(value))) : null,
    digitSwitch(), themeSwitch());
}
