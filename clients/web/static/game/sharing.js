// Games that leave the page, and come in: files, pictures, links, and a game that two people share.

import { gifOf, pngOf } from "../board/picture.js";
import { t } from "../page/language.js";
import { shareLink } from "./link.js";
import { copyText, readFile, saveBlob, saveFile } from "./storage.js";

export const PICTURES = ["png", "gif"]; // formats that the page makes itself

export class Sharing {
  constructor(controller) {
    this.controller = controller;
  }

  // Saves a picture of the game: "png" of the position, "gif" of the line that is shown.
  exportPicture(form) {
    const { game, card } = this.controller;
    const progress = (done, total) => this.controller.view.say(t("status.picture", { done, total }));
    return this.controller.attempt(async () => {
      saveBlob(await (form === "png" ? pngOf(game, card) : gifOf(game, card, progress)), `${game.game}.${form}`);
      this.controller.showStatus();
    });
  }

  exportGame(format) {
    if (PICTURES.includes(format)) return this.exportPicture(format);
    return this.controller.attempt(async () => saveFile(await this.controller.study.record(format), format));
  }

  importGame(file) {
    return this.controller.attempt(async () => {
      const record = await readFile(file);
      const card = this.controller.cards.find((each) => each.game === record.game);
      if (!card) throw new Error(t("error.no-daemon", { game: record.game }));
      await this.controller.open(card, { ...record, isPaused: true });
    });
  }

  async copyLink() {
    const { link, isWhole } = await shareLink(this.controller.game);
    const address = new URL(link, location.href).href;
    const isCopied = await copyText(address);
    this.controller.view.say(!isCopied ? address : isWhole ? t("status.copied") : t("status.copied-position"));
  }

  // Shows the moves of a game that is shared, and goes on.
  async playShared(moves) {
    await this.controller.goTo((game) => game.visit(game.lineOf(moves)));
    this.controller.isPaused = false;
    this.controller.sound.moved(!this.controller.game.state.toMove);
    this.controller.showPosition(undefined);
    this.controller.proceed();
  }

  // Shares the game, and copies the link for the other person, who gets the other side.
  async invite() {
    const { one, two } = this.controller.settings;
    const side = one === "you" || two !== "you" ? "one" : "two";
    const address = new URL(await this.controller.room.open(side), location.href).href;
    this.controller.isPaused = false;
    this.controller.showPosition(undefined);
    this.controller.proceed();
    this.controller.view.say((await copyText(address)) ? t("status.invited") : address);
  }
}
