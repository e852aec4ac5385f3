// What is stored: settings and games in the browser, the games of this tab in its session, a position in the address, games
// as files.

import { failure } from "../engine/socket.js";
import { el } from "../page/dom.js";

// The browser's stores, as functions: in some browsers it is reading the property that fails.
const browser = () => localStorage;
const tab = () => sessionStorage;

// A stored text; null if there is none, or if this browser stores nothing.
function readText(store, key) {
  try {
    return store().getItem(key);
  } catch {
    return null;
  }
}

function writeText(store, key, text) {
  try {
    store().setItem(key, text);
    return true;
  } catch {
    return false; // full, or a browser that stores nothing: the page works without
  }
}

function readJson(store, key) {
  try {
    return JSON.parse(readText(store, key));
  } catch {
    return null;
  }
}

export const loadTheme = () => readText(browser, "plyd theme");
export const saveTheme = (name) => writeText(browser, "plyd theme", name);
export const loadLanguage = () => readText(browser, "plyd language");
export const saveLanguage = (name) => writeText(browser, "plyd language", name);

export const loadSound = () => readText(browser, "plyd sound");
export const saveSound = (state) => writeText(browser, "plyd sound", state);

// The saved settings of a game over its defaults.
export function loadSettings(card, defaults) {
  const settings = { ...defaults, ...readJson(browser, `plyd ${card.game}`) };
  const { level, levelTwo, options } = settings;
  return { ...settings, level: renamedLevel(level), levelTwo: renamedLevel(levelTwo), options: renamedOptions(card, options) };
}

export function saveSettings(card, settings) {
  writeText(browser, `plyd ${card.game}`, JSON.stringify(settings));
}

const RENAMED_LEVELS = { Beginner: "nodes 10", Easy: "nodes 100", Fair: "nodes 1000", "At a glance": "depth 1", "2 moves deep": "depth 2", "the same": "same" };

// A strength under the name that it has today; pages before there were languages saved what they showed.
function renamedLevel(name) {
  const [, count, milli] = /^([\d.]+) (m?)s a move$/.exec(name) ?? [];
  return count ? `seconds ${milli ? count / 1000 : count}` : RENAMED_LEVELS[name] ?? name;
}

const RENAMED = { engine: "method" }; // old name of an engine option: its new name

// Saved engine options under the names that the engine has today.
export function renamedOptions(card, options) {
  const known = new Set(card.options.map((option) => option.name));
  const isRenamed = (name) => !known.has(name) && known.has(RENAMED[name]);
  const old = Object.entries(options ?? {}).filter(([name]) => isRenamed(name));
  const kept = Object.entries(options ?? {}).filter(([name]) => !isRenamed(name)); // a value saved under the new name wins
  return Object.fromEntries([...old.map(([name, value]) => [RENAMED[name], value]), ...kept]);
}

// The saved game of this tab, else of the tab that was used last: of one kind, or the last one; null if there is none.
export function loadGame(name) {
  const saved = (store) => readJson(store, `plyd game ${name ?? readText(store, "plyd last")}`);
  return saved(tab) ?? saved(browser);
}

// Saves a game for this tab, and for one that is opened later, with further facts; without its review if that is too long.
export function saveGame(game, facts) {
  const saved = { ...game.saved(), ...facts };
  const text = JSON.stringify(saved);
  for (const store of [tab, browser]) {
    writeText(store, "plyd last", game.game);
    const key = `plyd game ${game.game}`;
    if (!writeText(store, key, text)) writeText(store, key, JSON.stringify({ ...saved, tree: { ...saved.tree, reviews: [], values: [] } }));
  }
}

// Puts a link into the address; the address afterwards, null if the browser refuses because of too many changes.
export function showLink(link) {
  try {
    history.replaceState(null, "", link);
    return location.hash;
  } catch {
    return null;
  }
}

// Copies a text; whether the browser allows it.
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

// Saves a game as a file.
export async function saveFile(record, format) {
  const response = await fetch("/export", { method: "POST", body: JSON.stringify({ record, format }) });
  if (!response.ok) throw failure((await response.json()).error);
  const name = /filename="(.*)"/.exec(response.headers.get("content-disposition"))?.[1] ?? "game.txt";
  saveBlob(await response.blob(), name);
}

// Saves bytes as a file of a name.
export function saveBlob(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The game in a file.
export async function readFile(file) {
  const response = await fetch(`/import?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
  const record = await response.json();
  if (!response.ok) throw failure(record.error);
  return record;
}
