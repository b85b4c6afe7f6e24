/* The table of models, and what chooses among them. */

function samplesShown(store) {
  if (!store) return "no store";
  const shown = store.samples.length, most = Math.max(0, ...store.samples.map((s) => s.length));
  const cut = store.samples.some((s) => s.shown < s.length);
  return shown + " of " + store.all + (cut ? ", the first " +
    Math.max(...store.samples.map((s) => s.shown)) + " of up to " + most + " tokens" :
    ", up to " + most + " tokens");
}

function showOverview() {
  const columns = [{name: "model", text: true}, {name: "attention", text: true},
    {name: "layers"}, {name: "heads"}, {name: "samples"},
    {name: "of them shown", text: true}, {name: "table", text: true}, {name: "store", text: true}];
  const rows = data.models.map((model) => {
    const store = storeOf(model);
    return [model.title, store ? store.attention || "not known" : "no store", model.layers.length,
      model.heads.length, samplesOf(model), samplesShown(store), model.file, store ? store.file : ""];
  });
  replace("overview", sortableTable("Models", columns, rows));
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
    themeSwitch());
}
