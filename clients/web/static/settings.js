// What a person chooses for each game: who plays, how strongly, on which board; and the forms for it.

import { el } from "./dom.js";

const TIMES = (list) => list.map((seconds) => [`${seconds < 1 ? `${seconds * 1000} ms` : `${seconds} s`} a move`, { seconds }]);
const STONE_LEVELS = [["Beginner", { nodes: 10 }], ["Easy", { nodes: 100 }], ["Fair", { nodes: 1000 }], ...TIMES([0.1, 0.5, 1, 3, 10, 30])];
const TILE_LEVELS = [["At a glance", { depth: 1 }], ["2 moves deep", { depth: 2 }], ...TIMES([0.01, 0.05, 0.2, 1, 5])];
const STONE_REVIEWS = TIMES([0.05, 0.2, 1, 5]), TILE_REVIEWS = [["At a glance", { depth: 1 }], ...TIMES([0.01, 0.05, 0.2, 1])];
const DEFAULT_REVIEWS = { stones: "200 ms a move", tiles: "10 ms a move" };
const SAME = "the same";
const DEFAULT_LEVELS = { stones: "1 s a move", tiles: "50 ms a move" };
const NAMES = { one: "Player", two: "Player two", environment: "Chance" }; // of sides that the card does not name
const PLAYERS = { you: "You", engine: "Engine" };
const DROPPERS = { chance: "Chance", evil: "Evil engine", you: "You" };

export function isTiles(card) {
  return card.board.kind === "tiles";
}

// Whether two players play; a card that names no sides is of an engine before sides had names.
export function isForTwo(card) {
  return card.sides.length ? card.sides.some(({ side }) => side === "two") : !hasChance(card);
}

export function hasChance(card) {
  return card.sides.some(({ side }) => side === "environment");
}

export function levels(card) {
  return isTiles(card) ? TILE_LEVELS : STONE_LEVELS;
}

// The limits of a review's searches, each with its name.
export function reviewTimes(card) {
  return isTiles(card) ? TILE_REVIEWS : STONE_REVIEWS;
}

export function reviewLimits(card, settings) {
  const list = reviewTimes(card);
  return (list.find(([name]) => name === settings.reviewTime) ?? list[1])[1];
}

// The limits of a side's searches; the second side may have a strength of its own.
export function limits(card, settings, side = "one") {
  const list = levels(card);
  const name = side === "two" && settings.levelTwo !== SAME ? settings.levelTwo : settings.level;
  return (list.find((each) => each[0] === name) ?? list.find((each) => each[0] === settings.level) ?? list[0])[1];
}

export function defaultSettings(card) {
  const kind = isTiles(card) ? "tiles" : "stones";
  const level = DEFAULT_LEVELS[kind], reviewTime = DEFAULT_REVIEWS[kind];
  return { one: "you", two: "engine", environment: "chance", level, levelTwo: SAME, reviewTime, adviser: false, variant: card.variants[0].name, columns: null, rows: null, forbidden: "", options: {} };
}

// The engine's options for a search; the search of a game against the evil environment expects its drops.
export function engineOptions(card, settings) {
  const isEvil = hasChance(card) && settings.environment === "evil" && card.capabilities.includes("environment");
  return { ...settings.options, ...(isEvil ? { environment: "evil" } : {}) };
}

// Lines of play that a search is asked for: one for each move where moves are few.
export function lineCount(card) {
  if (isTiles(card)) return 4;
  return card.board.kind === "dropped" ? card.columns[1] : 8;
}

export function sideNames(card) {
  return { ...NAMES, ...Object.fromEntries((card?.sides ?? []).map(({ side, name }) => [side, name])) };
}

// Who decides now: you, engine, chance, evil, dropper (you, as the environment), or nobody.
export function moverOf(game, card, settings) {
  const side = game?.state.toMove;
  if (!side) return "nobody";
  if (side !== "environment") return settings[side];
  const dropper = settings.environment;
  if (dropper === "evil" && !card.capabilities.includes("environment")) return "chance";
  return dropper === "you" ? "dropper" : dropper;
}

// The sides that a person plays.
export function yourSides(card, settings) {
  const sides = ["one", ...(isForTwo(card) ? ["two"] : []), ...(hasChance(card) ? ["environment"] : [])];
  return sides.filter((side) => settings[side] === "you");
}

function choice(label, choices, value, onchange) {
  const id = `choice-${label.toLowerCase().replaceAll(" ", "-")}`;
  const options = Object.entries(choices).map(([key, name]) => el("option", { value: key, selected: key === value }, name));
  const select = el("select", { id, onchange: () => onchange(select.value) }, ...options);
  return [el("label", { for: id }, label), select];
}

function field(label, attributes, onchange) {
  const id = `field-${label.toLowerCase().replaceAll(" ", "-")}`;
  const input = el("input", { id, ...attributes, onchange: () => onchange(input) });
  return [el("label", { for: id }, label), input];
}

export function playersForm(card, settings, changed) {
  const names = sideNames(card);
  const set = (name) => (value) => changed({ [name]: value });
  const levelNames = Object.fromEntries(levels(card).map(([name]) => [name, name]));
  const parts = [];
  parts.push(...choice(names.one, PLAYERS, settings.one, set("one")));
  if (isForTwo(card)) parts.push(...choice(names.two, PLAYERS, settings.two, set("two")));
  if (hasChance(card)) {
    const droppers = card.capabilities.includes("environment") ? DROPPERS : { chance: DROPPERS.chance, you: DROPPERS.you };
    parts.push(...choice(`${names.environment} come from`, droppers, settings.environment, set("environment")));
  }
  parts.push(...choice("Strength", levelNames, settings.level, set("level")));
  if (isForTwo(card)) parts.push(...choice(`${names.two}'s strength`, { [SAME]: SAME, ...levelNames }, settings.levelTwo, set("levelTwo")));
  if (card.options.length) parts.push(optionsForm(card, settings, changed));
  return parts;
}

function optionsForm(card, settings, changed) {
  const parts = card.options.filter((option) => !["tile", "environment"].includes(option.name)).flatMap((option) => {
    const set = (value) => {
      const options = { ...settings.options, [option.name]: String(value) };
      if (String(value) === "" || String(value) === option.default) delete options[option.name];
      changed({ options });
    };
    const value = settings.options[option.name] ?? option.default;
    const made = option.type === "choice" ? choice(option.name, Object.fromEntries(option.choices.map((each) => [each, each])), value, set)
      : option.type === "boolean" ? choice(option.name, { true: "yes", false: "no" }, value, set)
      : field(option.name, { type: "number", value, min: option.minimum, max: option.maximum, step: option.type === "integer" ? 1 : "any" }, (input) => input.reportValidity() && set(input.value));
    made[1].title = option.summary;
    return made;
  });
  return el("details", {}, el("summary", {}, "More options"), el("div", { class: "form" }, ...parts));
}

export function setupForm(card, settings, changed) {
  const set = (name) => (value) => changed({ [name]: value });
  const parts = [];
  if (card.variants.length > 1) {
    parts.push(...choice("Rules", Object.fromEntries(card.variants.map((each) => [each.name, each.name])), settings.variant, set("variant")));
    parts[1].title = card.variants.map((each) => `${each.name}: ${each.summary}`).join("\n");
  }
  const { start } = card;
  if (!start) return parts;
  const size = (label, [min, max], value, name) => field(label, { type: "number", min, max, step: start.step, value, required: true }, (input) => input.reportValidity() && changed({ [name]: Number(input.value) }));
  if (start.isSquare) parts.push(...size("Size", card.rows, settings.rows ?? start.rows, "rows"));
  else parts.push(...size("Columns", card.columns, settings.columns ?? start.columns, "columns"), ...size("Rows", card.rows, settings.rows ?? start.rows, "rows"));
  if (start.blockedCell) {
    parts.push(...field("Forbidden cell", { type: "text", value: settings.forbidden, placeholder: "column,row or none", pattern: "\\d{1,2},\\d{1,2}|random|" }, (input) => input.reportValidity() && changed({ forbidden: input.value })));
  }
  return parts;
}

// The start of a new game in its notation, as chosen in the form.
export function startText(card, settings) {
  const { start } = card;
  if (!start) return "";
  const rows = settings.rows ?? start.rows, columns = start.isSquare ? rows : settings.columns ?? start.columns;
  const fill = (template, values) => template.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  const isRandom = settings.forbidden === "random";
  const [column, row] = isRandom ? [columns, rows].map((count) => 1 + Math.floor(Math.random() * count)) : settings.forbidden.split(",");
  const blocked = start.blockedCell && row ? fill(start.blockedCell, { column, row }) : "";
  return fill(start.template, { columns, rows }) + blocked;
}
