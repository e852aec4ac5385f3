// Starts the page.

import { Controller } from "./controller.js";
import { loadTheme, saveTheme } from "./storage.js";

const root = document.documentElement;

const saved = loadTheme();
if (saved) root.dataset.theme = saved;
document.getElementById("theme").onclick = () => {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme ?? (isDark ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  saveTheme(root.dataset.theme);
};

window.plyd = new Controller();
