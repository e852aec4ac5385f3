// Starts the page.

import { Controller } from "./controller.js";
import { loadTheme, saveTheme } from "./game/storage.js";
import { byId, el } from "./page/dom.js";
import { keepPage } from "./page/install.js";
import { LANGUAGES, changeLanguage, language, translateDocument } from "./page/language.js";

const root = document.documentElement;

const saved = loadTheme();
if (saved) root.dataset.theme = saved;
byId("theme").onclick = () => {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme ?? (isDark ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  saveTheme(root.dataset.theme);
};

translateDocument();
byId("language").append(...Object.entries(LANGUAGES).map(([tag, name]) => el("option", { value: tag, lang: tag, selected: tag === language }, name)));
byId("language").onchange = (event) => {
  window.plyd.autosave.now(); // the page loads anew
  changeLanguage(event.target.value);
};

window.plyd = new Controller();
keepPage();
