// Draws SVG icons as small RGB tiles; helper of embed_images.py.
//
//   node render_icons.mjs PACKAGES_FOLDER < job.json > tiles.rgb
//
// job.json is {"size": 32, "svgs": ["<svg ...>", ...]}. The answer is the tiles' bytes one after
// the other, size * size * 3 each, drawn on white. @resvg/resvg-js comes from the packages folder.
import { createRequire } from "node:module";
import { readFileSync, writeSync } from "node:fs";
import path from "node:path";

const require = createRequire(path.resolve(process.argv[2], "index.js"));
const { Resvg } = require("@resvg/resvg-js");
const { size, svgs } = JSON.parse(readFileSync(0, "utf8"));
const tiles = Buffer.alloc(svgs.length * size * size * 3, 255);

svgs.forEach((svg, index) => {
  const image = new Resvg(svg, {
    background: "white",
    fitTo: { mode: "width", value: size },
    font: { loadSystemFonts: false },
  }).render();
  if (image.width !== size || image.height !== size) {
    throw new Error(`icon ${index}: ${image.width} x ${image.height}`);
  }
  const pixels = image.pixels;
  const start = index * size * size * 3;
  for (let i = 0; i < size * size; i++) {
    tiles[start + 3 * i] = pixels[4 * i];
    tiles[start + 3 * i + 1] = pixels[4 * i + 1];
    tiles[start + 3 * i + 2] = pixels[4 * i + 2];
  }
});

for (let sent = 0; sent < tiles.length; ) {
  try {
    sent += writeSync(1, tiles, sent);
  } catch (error) {
    if (error.code !== "EAGAIN") throw error;
  }
}
