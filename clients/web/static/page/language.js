// The reader's language: chosen in the page, else by the browser. The page's texts are in messages/LANGUAGE.json, of which only
// one is loaded; whoever imports this module waits for it. Another choice loads the page anew.

import { loadLanguage, saveLanguage } from "../game/storage.js";

export const LANGUAGES = { en: "English", "zh-CN": "简体中文", "zh-TW": "繁體中文" };
const FIRST_DELAY = 200, MAX_DELAY = 4000; // milliseconds before the texts are asked for again

export const language = choose(loadLanguage(), navigator.languages);
document.documentElement.lang = language;

const table = await loadTable();
const plurals = new Intl.PluralRules(language);
const formats = new Map(); // Intl.NumberFormat by its options

// One of our languages: the one that was saved, or the first of the browser's that we have.
export function choose(saved, preferred) {
  const ours = preferred.map(closest).find(Boolean);
  return Object.hasOwn(LANGUAGES, saved ?? "") ? saved : ours ?? "en";
}

// Our language for a browser's: Chinese by its script, which a region implies (zh-HK is written in traditional characters).
function closest(tag) {
  const { language: name, script } = new Intl.Locale(tag).maximize();
  if (name === "zh") return script === "Hant" ? "zh-TW" : "zh-CN";
  return Object.hasOwn(LANGUAGES, name) ? name : undefined;
}

async function loadTable() {
  for (let delay = FIRST_DELAY; ; delay = Math.min(delay * 2, MAX_DELAY)) {
    try {
      const response = await fetch(`/static/messages/${language}.json`);
      if (response.ok) return await response.json();
    } catch {
      // the bridge is away
    }
    await new Promise((resolve) => setTimeout(resolve, delay));
  }
}

// A text of the page. {name} stands for a value; numbers are written as the language does. A text with plural forms is an object
// of them, of which `count` chooses one.
export function t(key, values = {}) {
  const found = table[key];
  const text = typeof found === "object" ? found[plurals.select(values.count)] : found;
  return text.replace(/\{(\w+)\}/g, (_, name) => (typeof values[name] === "number" ? number(values[name]) : values[name]));
}

// A number; `options` are of Intl.NumberFormat, and always the same object for the same format.
export function number(value, options = undefined) {
  if (!formats.has(options)) formats.set(options, new Intl.NumberFormat(language, options));
  return formats.get(options).format(value);
}

// A word of a daemon by its name: the table's, else as the daemon says it.
export const word = (key, said) => (Object.hasOwn(table, key) ? table[key] : said);

// A card with its words in the reader's language, as far as the table knows their names; summaries stay as they are.
export function translateCard(card) {
  return {
    ...card,
    title: word(`game.${card.game}`, card.title),
    sides: card.sides.map((side) => ({ ...side, name: word(`side.${side.name}`, side.name) })),
    variants: card.variants.map((variant) => ({ ...variant, label: word(`variant.${variant.name}`, variant.name) })),
    options: card.options.map((option) => translateOption(option, card.game)),
  };
}

// An option with its label, its help, and the label of each choice; the help may depend on the game.
function translateOption(option, game) {
  const help = word(`help.${game}.${option.name}`, word(`help.${option.name}`, option.summary));
  const choiceLabels = Object.fromEntries(option.choices.map((choice) => [choice, word(`choice.${choice}`, choice)]));
  return { ...option, label: word(`option.${option.name}`, option.name), help, choiceLabels };
}

// Fills in the texts of the document's elements: data-text is what they say, data-label and data-title are attributes.
export function translateDocument() {
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = t(element.dataset.text);
  for (const element of document.querySelectorAll("[data-label]")) element.setAttribute("aria-label", t(element.dataset.label));
  for (const element of document.querySelectorAll("[data-title]")) element.title = t(element.dataset.title);
}

export function changeLanguage(chosen) {
  saveLanguage(chosen);
  location.reload();
}
