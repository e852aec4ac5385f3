// What a person chooses for each game: who plays, how strongly, on which board; and the forms for it.

import { CLOCKS } from "../game/clocks.js";
import { el } from "./dom.js";
import { t } from "./language.js";

const TIMES = (list) => list.map((seconds) => [seconds < 1 ? t("level.ms", { time: seconds * 1000 }) : t("level.s", { time: seconds }), { seconds }]);
const STONE_LEVELS = [[t("level.beginner"), { nodes: 10 }], [t("level.easy"), { nodes: 100 }], [t("level.fair"), { nodes: 1000 }], ...TIMES([0.1, 0.5, 1, 3, 10, 30])];
const TILE_LEVELS = [[t("level.glance"), { depth: 1 }], [t("level.deeper"), { depth: 2 }], ...TIMES([0.01, 0.05, 0.2, 1, 5])];
const STONE_REVIEWS = TIMES([0.05, 0.2, 1, 5]), TILE_REVIEWS = [[t("level.glance"), { depth: 1 }], ...TIMES([0.01, 0.05, 0.2, 1])];
const SAME = "same"; // the second side's strength, if it has none of its own
const DEFAULT_LEVELS = { stones: "seconds 1", tiles: "seconds 0.05" }, DEFAULT_REVIEWS = { stones: "seconds 0.2", tiles: "seconds 0.01" };
const NAMES = { one: t("player.one"), two: t("player.two"), environment: t("player.environment") }; // of sides that the card does not name
const PLAYERS = { you: t("player.you"), engine: t("player.engine") };
const DROPPERS = { chance: t("player.chance"), evil: t("player.evil"), you: t("player.you") };

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

// The strengths of a game's engine: [what the page calls it, limits].
function levels(card) {
  return isTiles(card) ? TILE_LEVELS : STONE_LEVELS;
}

// What the settings call a strength: its limit, such as "seconds 1".
const levelName = ([, limit]) => Object.entries(limit).flat().join(" ");

// The limits of a review's searches by their names in the settings, and in words.
export function reviewTimes(card) {
  return (isTiles(card) ? TILE_REVIEWS : STONE_REVIEWS).map((each) => [levelName(each), ...each]);
}

export function reviewLimits(card, settings) {
  const list = reviewTimes(card);
  return (list.find(([name]) => name === settings.reviewTime) ?? list[1])[2];
}

// The limits of a side's searches; the second side may have a strength of its own.
export function limits(card, settings, side = "one") {
  const list = levels(card);
  const name = side === "two" && settings.levelTwo !== SAME ? settings.levelTwo : settings.level;
  return (list.find((each) => levelName(each) === name) ?? list.find((each) => levelName(each) === settings.level) ?? list[0])[1];
}

export function defaultSettings(card) {
  const kind = isTiles(card) ? "tiles" : "stones";
  const level = DEFAULT_LEVELS[kind], reviewTime = DEFAULT_REVIEWS[kind];
  return { one: "you", two: "engine", environment: "chance", level, levelTwo: SAME, reviewTime, clock: "", pace: "0", turbo: false, numbers: false, adviser: false, variant: card.variants[0].name, columns: null, rows: null, forbidden: "", options: {} };
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

// Who decides now: you, a friend at another page, engine, chance, evil, dropper (you, as the environment), or nobody.
export function moverOf(game, card, settings) {
  const side = game?.state.toMove;
  if (!side || game.flag) return "nobody";
  if (game.seat) return side === game.seat ? "you" : "friend";
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

function choice(name, label, choices, value, onchange) {
  const id = `choice-${name}`;
  const options = Object.entries(choices).map(([key, shown]) => el("option", { value: key, selected: key === value }, shown));
  const select = el("select", { id, onchange: () => onchange(select.value) }, ...options);
  return [el("label", { for: id }, label), select];
}

function field(name, label, attributes, onchange) {
  const id = `field-${name}`;
  const input = el("input", { id, ...attributes, onchange: () => onchange(input) });
  return [el("label", { for: id }, label), input];
}

function clockName(clock) {
  const [seconds, increment] = clock.split("+").map(Number);
  if (!seconds) return t("clock.none");
  return increment ? t("clock.with-increment", { minutes: seconds / 60, seconds: increment }) : t("clock.minutes", { count: seconds / 60, minutes: seconds / 60 });
}

// How the board behaves: stones with numbers, the pace of games that are watched.
export function boardForm(settings, changed) {
  const paces = { 0: t("pace.none"), 250: t("pace.quick"), 1000: t("pace.calm"), 3000: t("pace.slow") };
  return choice("pace", t("pace.title"), paces, settings.pace, (pace) => changed({ pace }));
}

export function playersForm(card, settings, changed) {
  const names = sideNames(card);
  const set = (name) => (value) => changed({ [name]: value });
  const levelNames = Object.fromEntries(levels(card).map((level) => [levelName(level), level[0]]));
  const parts = [];
  parts.push(...choice("one", names.one, PLAYERS, settings.one, set("one")));
  if (isForTwo(card)) parts.push(...choice("two", names.two, PLAYERS, settings.two, set("two")));
  if (hasChance(card)) {
    const droppers = card.capabilities.includes("environment") ? DROPPERS : { chance: DROPPERS.chance, you: DROPPERS.you };
    parts.push(...choice("environment", t("players.drops", { side: names.environment }), droppers, settings.environment, set("environment")));
  }
  parts.push(...choice("level", t("players.strength"), levelNames, settings.level, set("level")));
  if (isForTwo(card)) parts.push(...choice("level-two", t("players.strength-of", { side: names.two }), { [SAME]: t("level.same"), ...levelNames }, settings.levelTwo, set("levelTwo")));
  if (isForTwo(card)) parts.push(...choice("clock", t("clock.title"), Object.fromEntries(CLOCKS.map((clock) => [clock, clockName(clock)])), settings.clock, set("clock")));
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
    const id = `option-${option.name}`;
    const made = option.type === "choice" ? choice(id, option.label, option.choiceLabels, value, set)
      : option.type === "boolean" ? choice(id, option.label, { true: t("answer.yes"), false: t("answer.no") }, value, set)
      : field(id, option.label, { type: "number", value, min: option.minimum, max: option.maximum, step: option.type === "integer" ? 1 : "any" }, (input) => input.reportValidity() && set(input.value));
    made[1].setAttribute("aria-describedby", `help-${option.name}`);
    made.push(el("p", { class: "small help", id: `help-${option.name}` }, option.help));
    return made;
  });
  return el("details", {}, el("summary", {}, t("players.options")), el("div", { class: "form" }, ...parts));
}

export function setupForm(card, settings, changed) {
  const set = (name) => (value) => changed({ [name]: value });
  const parts = [];
  if (card.variants.length > 1) {
    parts.push(...choice("variant", t("setup.rules"), Object.fromEntries(card.variants.map((each) => [each.name, each.label])), settings.variant, set("variant")));
    parts[1].title = card.variants.map((each) => t("setup.rule", { name: each.label, summary: each.summary })).join("\n");
  }
  const { start } = card;
  if (!start) return parts;
  const size = (name, label, [min, max], value) => field(name, label, { type: "number", min, max, step: start.step, value, required: true }, (input) => input.reportValidity() && changed({ [name]: Number(input.value) }));
  if (start.isSquare) parts.push(...size("rows", t("setup.size"), card.rows, settings.rows ?? start.rows));
  else parts.push(...size("columns", t("setup.columns"), card.columns, settings.columns ?? start.columns), ...size("rows", t("setup.rows"), card.rows, settings.rows ?? start.rows));
  if (start.blockedCell) {
    parts.push(...field("forbidden", t("setup.forbidden"), { type: "text", value: settings.forbidden, placeholder: t("setup.forbidden.format"), pattern: "\\d{1,2},\\d{1,2}|random|" }, (input) => input.reportValidity() && changed({ forbidden: input.value })));
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
