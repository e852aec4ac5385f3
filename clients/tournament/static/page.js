// The page of a tournament: asks for its state once a second and draws it. Boards are grids of the cells' labels.

import { byId, el } from "/static/page/dom.js";

const PERIOD_MS = 1000;
const COLUMNS = ["#", "player", "Elo", "±", "LOS", "points", "games", "score", "won", "drawn", "lost", "forfeits", "ms a move", "plays with"];
const NAMES = new Set(["player", "plays with"]);

const percent = (share) => (share === null ? "-" : `${(100 * share).toFixed(1)}%`);
const fixed = (value) => (value === null ? "-" : value.toFixed(1));
const signed = (value) => (value === null ? "-" : `${value >= 0 ? "+" : ""}${value.toFixed(1)}`);

function table(headers, rows) {
  const kind = (at) => (NAMES.has(headers[at]) ? "name" : undefined);
  const head = el("tr", {}, ...headers.map((text, at) => el("th", { scope: "col", class: kind(at) }, text)));
  const body = rows.map((row) => el("tr", {}, ...row.map((text, at) => el(headers[at] === "player" ? "th" : "td", { class: kind(at), scope: headers[at] === "player" ? "row" : undefined }, String(text)))));
  return el("table", {}, el("thead", {}, head), el("tbody", {}, ...body));
}

function standings(found) {
  return found.players.map((row, at) => [
    at + 1, row.name, signed(row.elo), fixed(row.elo_error), percent(found.superiority?.[at][at + 1] ?? null), row.points, row.games,
    percent(row.score), row.wins, row.draws, row.losses, row.forfeits, fixed(row.mean_ms), row.plays_with,
  ]);
}

function cross(found) {
  const text = (cell) => (cell ? `${cell.points} (+${cell.wins} =${cell.draws} -${cell.losses})` : "");
  return found.cross_table.map((cells, at) => [at + 1, found.players[at].name, ...cells.map((cell, other) => (other === at ? "×" : text(cell)))]);
}

function board(game) {
  const changed = new Set(game.changed);
  const cells = game.cells.map((label, at) => el("span", { class: changed.has(at) ? "changed" : undefined }, label));
  const grid = el("div", { class: "grid", role: "img", "aria-label": `Board after move ${game.plies}, ${game.move}` }, ...cells);
  grid.style.setProperty("--columns", game.columns);
  grid.style.setProperty("--cell", `${Math.max(14, Math.min(40, Math.floor(300 / Math.max(game.rows, game.columns))))}px`);
  const caption = el("figcaption", {}, `Game ${game.game}: ${game.players.join(" – ")} `, el("span", { class: "small" }, `move ${game.plies}: ${game.move}`));
  return el("figure", {}, caption, grid);
}

function ended(game) {
  const result = game.winner ? `${game.winner} wins` : "draw";
  const reason = game.reason === "rules" ? "" : ` (${game.reason})`;
  return el("li", { value: game.game }, `${game.players.join(" – ")}: ${result} in ${game.plies} plies${reason}`);
}

function draw(state) {
  const found = state.standings;
  const title = `${found.game}${found.variant ? ` (${found.variant})` : ""}: ${found.schedule}`;
  document.title = `${found.games}/${found.games_planned} · ${title}`;
  byId("title").textContent = title;
  const isOver = found.games === found.games_planned;
  byId("progress").textContent = `${found.games} of ${found.games_planned} games${isOver ? ", finished" : ""}`;
  byId("standings").replaceChildren(table(COLUMNS, standings(found)));
  byId("cross").replaceChildren(table(["#", "player", ...found.players.map((_, at) => String(at + 1))], cross(found)));
  byId("notes").textContent = state.notes.join(" ");
  byId("live").replaceChildren(...state.live.map(board));
  byId("recent").replaceChildren(...state.recent.map(ended));
}

async function watch() {
  let pause = PERIOD_MS;
  try {
    const answer = await fetch("/state");
    draw(await answer.json());
  } catch {
    const progress = byId("progress");
    if (!progress.textContent.endsWith("no longer running")) progress.textContent += "; no longer running";
    byId("live").replaceChildren();
    pause *= 5;
  }
  setTimeout(watch, pause);
}

watch();
