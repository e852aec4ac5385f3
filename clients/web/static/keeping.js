// Games that outlive a reload, a tab and a machine: in the browser's store, in the address, and as files.

import { el } from "./words.js";

// The game of this tab that was kept: of one kind, or the last one; null if there is none.
export function keptGame(name) {
  try {
    return JSON.parse(sessionStorage.getItem(`plyd ${name ?? sessionStorage.getItem("plyd last")}`) ?? "null");
  } catch {
    return null;
  }
}

// Keeps a game in this tab's store, with what else is to be known of it.
export function keepGame({ game, variant, start, moves, ply, values, basePoints }, facts) {
  try {
    sessionStorage.setItem("plyd last", game);
    sessionStorage.setItem(`plyd ${game}`, JSON.stringify({ game, variant, start, moves, ply, values, points: basePoints, ...facts }));
  } catch {
    // too long a game for this browser's store: the link still has the position
  }
}

// Puts a link into the address; the address as it is then, null if the browser has enough of that.
export function showLink(link) {
  try {
    history.replaceState(null, "", link);
    return location.hash;
  } catch {
    return null;
  }
}

export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

// Has the browser save a game as a file.
export async function saveFile(record, format) {
  const response = await fetch("/export", { method: "POST", body: JSON.stringify({ record, format }) });
  if (!response.ok) throw new Error((await response.json()).error.message);
  const name = /filename="(.*)"/.exec(response.headers.get("content-disposition"))?.[1] ?? "game.txt";
  const link = el("a", { href: URL.createObjectURL(await response.blob()), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The game in a file.
export async function readFile(file) {
  const response = await fetch(`/import?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
  const words = await response.json();
  if (!response.ok) throw new Error(words.error.message);
  return words;
}
