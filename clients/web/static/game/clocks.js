// The clocks of a game for two. A clock runs while its side is to move and the game is not paused; before the first move none
// does.

const TICK = 100; // milliseconds

export const CLOCKS = ["", "60+0", "180+2", "300+3", "600+0", "900+10"]; // seconds, and seconds added after each move

export class Clocks {
  // page: { tick(), flag(side) }
  constructor(page) {
    this.page = page;
    this.left = null; // milliseconds by side; null without clocks
    this.running = ""; // the side whose clock runs
    this.since = 0;
    this.timer = undefined;
  }

  get isOn() {
    return this.left !== null;
  }

  // Sets the clocks for a game, or as they were saved.
  setUp(text, saved = null) {
    this.run("");
    const [seconds, increment] = text ? text.split("+").map(Number) : [0, 0];
    this.increment = increment * 1000;
    this.left = !seconds ? null : saved ?? { one: seconds * 1000, two: seconds * 1000 };
    this.page.tick();
  }

  // Milliseconds that a side has left.
  leftOf(side) {
    const spent = side === this.running ? performance.now() - this.since : 0;
    return Math.max(0, this.left[side] - spent);
  }

  // Lets the clock of a side run, or none.
  run(side) {
    if (side === this.running) return;
    if (this.running) this.left[this.running] = this.leftOf(this.running);
    clearInterval(this.timer);
    this.running = this.isOn ? side : "";
    this.since = performance.now();
    if (this.running) this.timer = setInterval(() => this.tick(), TICK);
    this.page.tick();
  }

  // A side has moved.
  press(side) {
    if (this.isOn && side === this.running) this.left[side] += this.increment;
  }

  tick() {
    const side = this.running;
    this.page.tick();
    if (side && this.leftOf(side) > 0) return;
    this.run("");
    if (side) this.page.flag(side);
  }

  // The clock for a search of a side, in seconds.
  query(side) {
    return { remaining: Math.max(0.05, this.leftOf(side) / 1000), increment: this.increment / 1000 };
  }

  saved() {
    return this.isOn ? { one: this.leftOf("one"), two: this.leftOf("two") } : null;
  }
}

// The time on a clock: minutes and seconds, below ten seconds with tenths.
export function clockText(ms) {
  const seconds = ms / 1000;
  if (seconds < 10) return `0:0${(Math.floor(seconds * 10) / 10).toFixed(1)}`;
  const whole = Math.ceil(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
