/* SPDX-License-Identifier: MIT */
/* Colours: the map of the pictures for values, and one colour for each of several heads. */

const palette = decode(data.colors);

function decode(base64) {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

/* The colour at t, from 0 to 1: [red, green, blue]. */
function colorAt(t) {
  const step = 3 * Math.round(255 * Math.min(Math.max(t, 0), 1));
  return [palette[step], palette[step + 1], palette[step + 2]];
}

/* The colour at t, from -1 to 1: blue below 0, red above. */
function signedColor(t) {
  const end = t < 0 ? [33, 102, 172] : [178, 24, 43];
  return end.map((part) => Math.round(235 + (part - 235) * Math.abs(t)));
}

/* Black or white, whichever is legible on a colour. */
function inkOn([r, g, b]) {
  return 0.2126 * r + 0.7152 * g + 0.0722 * b < 128 ? "#fff" : "#111";
}

/* Of Okabe and Ito, for all kinds of colour vision. */
const series = [[230, 159, 0], [86, 180, 233], [0, 158, 115], [204, 121, 167],
  [213, 94, 0], [0, 114, 178], [240, 228, 66], [150, 150, 150]];

function seriesColor(i, opacity) {
  return "rgba(" + series[i % series.length].join(",") + "," + opacity + ")";
}
