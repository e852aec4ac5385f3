// The page's forms: players, the board, names, a new game.

import { byId } from "./dom.js";
import { t } from "./language.js";
import { boardForm, isForTwo, isTiles, playersForm, setupForm, sideNames } from "./settings.js";

export class Forms {
  constructor(controller, view) {
    Object.assign(this, { controller, view });
    this.bind();
  }

  bind() {
    const { controller } = this;
    byId("file").onchange = (event) => {
      const [file] = event.target.files;
      event.target.value = "";
      if (file) controller.sharing.importGame(file);
    };
    byId("review-time").onchange = (event) => controller.changeSetup({ reviewTime: event.target.value });
    byId("ply").oninput = (event) => controller.goTo(Number(event.target.value));
    byId("numbers").onchange = (event) => controller.changeSettings({ numbers: event.target.checked });
    byId("turbo").onchange = (event) => controller.changeSettings({ turbo: event.target.checked });
    byId("sound").checked = controller.sound.isOn;
    byId("sound").onchange = (event) => controller.sound.turn(event.target.checked);
    for (const [i, side] of ["one", "two"].entries()) {
      byId(`name-${side}`).onchange = (event) => {
        controller.game.players[i] = event.target.value.trim();
        this.view.showSeats();
        controller.autosave.soon();
      };
    }
    byId("adviser").onchange = (event) => controller.changeSettings({ adviser: event.target.checked });
    byId("setup").onsubmit = (event) => {
      event.preventDefault();
      this.startGame();
    };
  }

  openSetup() {
    byId("setup-error").textContent = "";
    byId("setup-dialog").showModal();
    byId("setup-start").focus();
  }

  // Sets up a position on the board of the form.
  async editBoard() {
    await this.startGame();
    if (!byId("setup-dialog").open) this.view.editor.begin();
  }

  // Starts the game of the form; one that cannot be is explained there.
  async startGame() {
    const isOpen = await this.controller.newGame(byId("start").value.trim());
    if (isOpen) byId("setup-dialog").close();
    else byId("setup-error").textContent = byId("status").textContent;
  }

  show() {
    const { card, settings } = this.controller;
    byId("players").replaceChildren(...playersForm(card, settings, (change) => this.controller.changeSettings(change)));
    byId("setup-fields").replaceChildren(...setupForm(card, settings, (change) => this.controller.changeSetup(change)));
    byId("board-form").replaceChildren(...boardForm(settings, (change) => this.controller.changeSettings(change)));
    byId("numbers").checked = settings.numbers;
    byId("numbers").parentElement.hidden = isTiles(card);
    byId("turbo").checked = settings.turbo;
    byId("turbo").parentElement.hidden = !isTiles(card);
    this.showNames();
    this.showAdviser();
  }

  // The fields for the players' names.
  showNames() {
    const { card, game } = this.controller, names = sideNames(card);
    byId("names").hidden = byId("invite").hidden = !isForTwo(card);
    for (const [i, side] of ["one", "two"].entries()) {
      byId(`name-${side}`).value = game.players[i];
      byId(`name-${side}`).previousElementSibling.textContent = t("seats.name-of", { side: names[side] });
    }
  }

  showAdviser() {
    byId("adviser").checked = this.controller.settings.adviser;
  }
}
