/* SPDX-License-Identifier: MIT */
/* The scores of roles that uniform attention would have: a query gives 1/V to each of the V keys that it sees. */

/* The scores on a sample, by name; null: no token repeats. */
function uniformOn(sample, causal) {
  const n = sample.length, sums = {previous_token: 0, first: 0, diagonal: 0};
  let copies = 0, repeats = false;
  for (let i = 0; i < n; i++) {
    const weight = 1 / (causal ? i + 1 : n);
    sums.first += weight;
    sums.diagonal += weight;
    if (i > 0) sums.previous_token += weight;
    for (let j = 0; sample.ids && j < i; j++)
      if (sample.ids[j] === sample.ids[i]) {
        copies += weight;
        repeats = true;
      }
  }
  const scores = Object.keys(sums).map((name) => [name, sums[name] / n]);
  if (!causal) scores.splice(1, 0, ["next", 1 / n]);
  /* What followed an earlier copy is as many keys as the copies. */
  return repeats ? scores.concat([["induction", copies / n], ["duplicate_token", copies / n]]) : scores;
}

/* " Uniform attention … would have …"; "": the page has no whole sample of the model. */
function uniformSentence(model) {
  const store = storeOf(model);
  const sample = store ? store.samples.find((s) => s.shown === s.length && s.length > 1) : null;
  if (!sample) return "";
  return " Uniform attention on sample " + sample.number + " would have " +
    uniformOn(sample, store.causal).map(([name, score]) => name + " " + brief(score)).join(", ") + ".";
}
