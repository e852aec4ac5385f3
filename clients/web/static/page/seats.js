// Above the board of a game for two: who plays each side, and the clocks.

import { clockText } from "../game/clocks.js";
import { byId, el } from "./dom.js";
import { t } from "./language.js";
import { isForTwo, sideNames } from "./settings.js";

// The name of a side's player.
export function playerName({ game, settings }, side) {
  if (game.seat && !game.players[side === "one" ? 0 : 1]) return side === game.seat ? t("player.you") : t("player.friend");
  return game.players[side === "one" ? 0 : 1] || (settings[side] === "engine" ? "plyd" : t("player.you"));
}

export function showSeats(controller) {
  const { game, card, clocks } = controller, seats = byId("seats");
  seats.hidden = !game || !isForTwo(card);
  if (seats.hidden) return;
  const names = sideNames(card);
  const parts = ["one", "two"].map((side) => {
    const name = playerName(controller, side), isNext = game.state?.toMove === side;
    const clock = clocks.isOn ? [el("time", { class: clocks.running === side ? "running" : undefined, role: "timer", "aria-label": t("clock.of", { side: names[side] }) }, clockText(clocks.leftOf(side)))] : [];
    return el("div", { class: "seat", "data-side": side, "data-next": isNext ? "true" : undefined }, el("span", {}, name === names[side] ? name : t("seats.player", { side: names[side], name })), ...clock);
  });
  seats.replaceChildren(...parts);
}
