// Starts the page.

import { App } from "./app.js";

const theme = document.getElementById("theme");

function wear(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
}

try {
  wear(localStorage.getItem("plyd theme") ?? "");
} catch {
  // a browser that keeps nothing
}
theme.onclick = () => {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (isDark ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  wear(next);
  try {
    localStorage.setItem("plyd theme", next);
  } catch {
    // as above
  }
};

window.plyd = new App();
