/* SPDX-License-Identifier: MIT */
/* The matrix of a head as a picture whose entries can be read by mouse and by arrow keys. */

/* Draws the matrix, one pixel an entry; the style of the canvas makes it larger. */
function paintMatrix(canvas, matrix, causal) {
  const context = canvas.getContext("2d"), n = matrix.n;
  const image = context.createImageData(n, n);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++) {
      const share = matrix.share(i, j), at = 4 * (i * n + j);
      const color = Number.isNaN(share) ? [255, 0, 255] : entryColor(matrix, share);
      image.data.set([...color, causal && j > i ? 0 : 255], at);
    }
  context.putImageData(image, 0, 0);
}

/* Blue and red around grey, or the map of the pictures. */
function entryColor(matrix, share) {
  return matrix.negative ? signedColor(share) : colorAt(share);
}

function legend(matrix) {
  const least = matrix.negative ? -1 : 0;
  const stops = [0, 0.25, 0.5, 0.75, 1].map((t) =>
    "rgb(" + entryColor(matrix, least + (1 - least) * t).join(",") + ")");
  return element("div", {class: "legend"}, matrix.negative ? brief(-matrix.peak) : "0",
    element("span", {class: "ramp", style: "background:linear-gradient(to right," + stops.join(",") + ")"}),
    brief(matrix.peak), element("span", {class: "aside"}, "square-root scale, 8 bits"));
}

/* The picture of the matrix, with a line that tells the entry under the cursor. */
function matrixPicture(sample, matrix, causal, label) {
  let at = [state.query < matrix.n ? state.query : 0, 0];
  const readout = element("output", {class: "readout"}, "Point at an entry, or use the arrow keys.");
  const marker = element("span", {class: "marker", hidden: true});
  const canvas = element("canvas", {width: matrix.n, height: matrix.n, tabindex: "0", role: "img",
    "aria-label": label + ". Rows are queries, columns are keys. Arrow keys read the entries."});
  const frame = element("div", {class: "matrix"}, canvas, marker);

  function tell(i, j) {
    const clamp = (x) => Math.min(Math.max(x, 0), matrix.n - 1);
    at = [clamp(i), clamp(j)];
    marker.hidden = false;
    marker.style.left = (100 * (at[1] + 0.5)) / matrix.n + "%";
    marker.style.top = (100 * (at[0] + 0.5)) / matrix.n + "%";
    readout.textContent = "query " + tokenName(sample, at[0]) + " → key " + tokenName(sample, at[1]) + ": " +
      rough(matrix.at(at[0], at[1]));
  }
  function point(event) {
    const box = canvas.getBoundingClientRect();
    tell(Math.floor(((event.clientY - box.top) / box.height) * matrix.n),
      Math.floor(((event.clientX - box.left) / box.width) * matrix.n));
  }
  canvas.addEventListener("mousemove", point);
  canvas.addEventListener("click", (event) => { point(event); change({query: at[0]}); });
  canvas.addEventListener("keydown", (event) => {
    const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (event.key === "Enter") change({query: at[0]});
    if (!step) return;
    event.preventDefault();
    tell(at[0] + step[0], at[1] + step[1]);
  });
  paintMatrix(canvas, matrix, causal);
  return element("div", {class: "picture"}, element("div", {class: "axis"}, "keys →, queries ↓"), frame,
    legend(matrix), readout);
}
