// A game that two people share by a link: the bridge tells each page what the other one did.

const NAME_BYTES = 18;

export class Room {
  constructor(controller) {
    this.controller = controller;
    this.name = "";
    this.version = 0;
  }

  get isOn() {
    return this.name !== "";
  }

  // Shares the game that is shown; resolves to a link for the other person. `side` is this page's.
  async open(side) {
    const { controller } = this, { game } = controller;
    const bytes = crypto.getRandomValues(new Uint8Array(NAME_BYTES));
    const name = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
    await this.enter({ name, side });
    return `${game.link()}&room=${name}&side=${side === "one" ? "two" : "one"}`;
  }

  // Joins a game that is shared, or leaves it: { name, side }, or null.
  async enter(room) {
    const { controller } = this;
    this.name = room?.name ?? "";
    this.version = 0;
    controller.game.seat = room?.side ?? "";
    if (!this.isOn) return;
    const shared = await controller.attempt(() => controller.socket.join(this.name));
    if (shared) await this.follow(shared);
  }

  saved() {
    return this.isOn ? { name: this.name, side: this.controller.game.seat } : null;
  }

  record() {
    const { game, variant, start, line, players } = this.controller.game;
    return { game, variant, start, moves: line.slice(1).map((node) => node.move), players };
  }

  // Tells the other page of a move that was made here.
  async moved() {
    const { controller } = this;
    if (!this.isOn) return;
    const shared = await controller.attempt(() => controller.socket.share(this.name, this.version, this.record()));
    if (shared) await this.follow(shared);
  }

  // Follows what is shared; tells what this page has more, if the other one has not gone another way.
  async follow({ room, version, record }) {
    const { controller } = this, { game } = controller;
    if (room !== this.name) return;
    this.version = version;
    const ours = game.moves, theirs = record?.moves ?? [];
    const isSame = (count) => ours.slice(0, count).join() === theirs.slice(0, count).join();
    if (!record || (ours.length > theirs.length && isSame(theirs.length))) {
      if (!record || record.start === game.start) await this.moved();
      return;
    }
    if (theirs.length > ours.length || !isSame(theirs.length)) await controller.sharing.playShared(theirs);
  }
}
