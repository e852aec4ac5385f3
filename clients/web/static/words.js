// How numbers, scores and sides are told to people, and a short way to make elements.

export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element[name] = value;
    else if (name.startsWith("aria-") && value !== undefined) element.setAttribute(name, value); // "true" in words: an empty one says nothing
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const whole = new Intl.NumberFormat("en");

export function short(number) {
  if (number < 10000) return whole.format(Math.round(number));
  if (number < 1e6) return `${(number / 1e3).toFixed(number < 1e5 ? 1 : 0)} k`;
  if (number < 1e9) return `${(number / 1e6).toFixed(number < 1e7 ? 2 : 1)} M`;
  return `${(number / 1e9).toFixed(2)} G`;
}

// Points, exact ones with all their digits.
export function points(value, isExact = false) {
  if (isExact) return value.toLocaleString("en", { maximumFractionDigits: 3, minimumFractionDigits: 1 });
  return value.toLocaleString("en", { maximumFractionDigits: value < 100 ? 1 : 0 });
}

export function percent(value) {
  const shown = value * 100;
  return `${shown > 99 || shown < 1 ? shown.toFixed(1) : shown.toFixed(0)}%`;
}

export function score(words, isShort = false) {
  if (words.kind === "points") return points(words.value, words.exact);
  if (words.kind === "win") return percent(words.value);
  if (words.kind === "proven") {
    const name = isShort ? { win: "win", draw: "draw", loss: "loss" } : { win: "wins", draw: "draw", loss: "loses" };
    const plies = words.plies ? (isShort ? ` ${words.plies}` : ` in ${words.plies}`) : "";
    return name[words.result] + plies;
  }
  return "cannot occur";
}

// Player one's share of the game, 0 to 1; null for points.
export function share(words) {
  let value = null;
  if (words.kind === "win") value = words.value;
  if (words.kind === "proven") value = { win: 1, draw: 0.5, loss: 0 }[words.result];
  if (value === null) return null;
  return words.side === "two" ? 1 - value : value;
}
