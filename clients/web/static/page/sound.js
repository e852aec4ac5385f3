// Sounds, made by the browser: a click for a move, two tones for the end of a game. Off until they are switched on.

import { loadSound, saveSound } from "../game/storage.js";

const CLICK = [[520, 0, 0.05]], END = [[523, 0, 0.18], [784, 0.16, 0.3]]; // hertz, begin and length in seconds

export class Sound {
  constructor() {
    this.isOn = loadSound() === "on";
    this.context = null;
  }

  turn(isOn) {
    this.isOn = isOn;
    saveSound(isOn ? "on" : "off");
    if (isOn) this.play(CLICK);
  }

  moved(isOver) {
    if (this.isOn) this.play(isOver ? END : CLICK);
  }

  play(tones) {
    this.context ??= new AudioContext();
    const { context } = this, now = context.currentTime;
    for (const [frequency, begin, length] of tones) {
      const tone = new OscillatorNode(context, { type: "triangle", frequency }), volume = new GainNode(context, { gain: 0.15 });
      volume.gain.setValueAtTime(0.15, now + begin);
      volume.gain.exponentialRampToValueAtTime(0.001, now + begin + length);
      tone.connect(volume).connect(context.destination);
      tone.start(now + begin);
      tone.stop(now + begin + length);
    }
  }
}
