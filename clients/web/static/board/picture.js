// Pictures of a game: the position as PNG, the line that is shown as an animated GIF. Drawn on a canvas in the page's colours.

import { Gif, indexed, makePalette } from "./gif.js";

const MAX_SIDE = { png: 1200, gif: 420 }; // pixels
const MAX_FRAMES = 300; // of a longer game, every second move, every third and so on
const HUNDREDTHS = { stones: 60, tiles: 12, last: 250 }; // that a frame is shown
const BLOCKED = "#";

// A canvas for boards of a size, and a function that draws a state on it.
function painter(card, { rows, columns }, side) {
  const size = Math.floor(Math.min(side / columns, side / rows, card.board.kind === "tiles" ? 120 : 64));
  const canvas = Object.assign(document.createElement("canvas"), { width: columns * size, height: rows * size });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const style = getComputedStyle(document.body), colour = (name) => style.getPropertyValue(name).trim();
  const sides = new Map(card.sides.map(({ stone, side: name }) => [stone, colour(`--side-${name}`)]));
  const paint = { context, colour, sides, size, rows, columns, kind: card.board.kind };
  return { canvas, context, draw: (state) => (card.board.kind === "tiles" ? drawTiles(paint, state) : drawStones(paint, state)) };
}

function disc(context, x, y, radius, fill) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = fill;
  context.fill();
}

function label(context, words, x, y, size, fill) {
  context.font = `700 ${size}px/1 system-ui`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = fill;
  context.fillText(words, x, y);
}

function drawStones({ context, colour, sides, size, rows, columns, kind }, state) {
  const ground = { points: "--board", cells: "--felt", dropped: "--frame" }[kind] ?? "--card";
  context.fillStyle = colour(ground);
  context.fillRect(0, 0, columns * size, rows * size);
  if (kind !== "dropped") drawLines({ context, size, rows, columns, kind }, colour({ points: "--board-line", cells: "--felt-line" }[kind] ?? "--rule"));
  const last = new Set(state.last), won = new Set(state.won);
  state.cells.forEach((value, cell) => {
    const x = ((cell % columns) + 0.5) * size, y = (Math.floor(cell / columns) + 0.5) * size;
    if (kind === "dropped") disc(context, x, y, size * 0.42, value === BLOCKED ? colour("--frame-deep") : colour("--hole"));
    if (won.has(cell)) disc(context, x, y, size * 0.47, colour("--good"));
    if (sides.has(value) && value) disc(context, x, y, size * 0.42, sides.get(value));
    else if (value === BLOCKED && kind !== "dropped") context.fillRect(x - size / 2, y - size / 2, size, size);
    else if (value && value !== BLOCKED) label(context, value, x, y, size * 0.5, colour("--ink"));
    if (last.has(cell) && value) disc(context, x, y, size * 0.12, kind === "dropped" ? "#fff" : colour("--warm"));
  });
}

// The lines of a board: through the points, or around the cells.
function drawLines({ context, size, rows, columns, kind }, line) {
  const inset = kind === "points" ? 0.5 : 0, extra = kind === "points" ? 0 : 1;
  context.strokeStyle = line;
  context.beginPath();
  for (let row = 0; row < rows + extra; row++) {
    context.moveTo(inset * size, (row + inset) * size);
    context.lineTo((columns - inset) * size, (row + inset) * size);
  }
  for (let column = 0; column < columns + extra; column++) {
    context.moveTo((column + inset) * size, inset * size);
    context.lineTo((column + inset) * size, (rows - inset) * size);
  }
  context.stroke();
}

function drawTiles({ context, colour, size, rows, columns }, state) {
  context.fillStyle = colour("--field");
  context.fillRect(0, 0, columns * size, rows * size);
  state.cells.forEach((value, cell) => {
    const x = (cell % columns) * size, y = Math.floor(cell / columns) * size, step = Math.log2(Number(value || 0) + 1);
    const light = `oklch(${93 - step * 3.1}% ${0.02 + step * 0.0125} ${95 - step * 14})`, dark = `oklch(${66 - step * 1.5}% ${0.06 + step * 0.0075} ${95 - step * 14})`;
    context.fillStyle = !value ? colour("--socket") : step > 8.5 ? dark : light;
    context.beginPath();
    context.roundRect(x + size * 0.05, y + size * 0.05, size * 0.9, size * 0.9, size * 0.08);
    context.fill();
    if (value) label(context, value, x + size / 2, y + size / 2, size * [0.5, 0.5, 0.42, 0.34, 0.28, 0.23][Math.min(value.length, 6) - 1], step > 8.5 ? "#fffaf0" : "#1d180f");
  });
}

// The position that is shown as a PNG file.
export function pngOf(game, card) {
  const { canvas, draw } = painter(card, game.state, MAX_SIDE.png);
  draw(game.state);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

// The line that is shown as a GIF file, from its first position to its last; `onFrame(done, total)` hears of the progress.
export async function gifOf(game, card, onFrame) {
  const { line, hasChance } = game, first = game.firstPly ?? 0;
  const step = Math.ceil((line.length - first) / MAX_FRAMES);
  const plies = [];
  for (let ply = first; ply < line.length - 1; ply += step) plies.push(ply);
  plies.push(line.length - 1);
  const { canvas, context, draw } = painter(card, game.state, MAX_SIDE.gif);
  const image = async (ply) => {
    draw(game.states.get(line[await game.load(ply, line)]));
    return context.getImageData(0, 0, canvas.width, canvas.height);
  };
  const samples = [];
  for (const ply of new Set([plies[0], plies[Math.floor(plies.length / 2)], plies.at(-1)])) samples.push(await image(ply));
  const { colours, indexOf } = makePalette(samples);
  const gif = new Gif(canvas.width, canvas.height, colours);
  for (const [i, ply] of plies.entries()) {
    gif.add(indexed(await image(ply), indexOf), i === plies.length - 1 ? HUNDREDTHS.last : hasChance ? HUNDREDTHS.tiles : HUNDREDTHS.stones);
    onFrame(i + 1, plies.length);
    await new Promise((resolve) => setTimeout(resolve)); // the page stays usable
  }
  return gif.blob();
}
