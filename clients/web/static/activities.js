// What supersedes what. An activity that takes time holds a token, and has no further effect once that is not current.

const SUPERSEDES = {
  open: ["open", "search"], // opening a game
  place: ["place", "search"], // making a move, or going to another place in the game
  search: ["search"], // the engine's search
};

export class Activities {
  constructor() {
    this.latest = {}; // the latest token of each activity
  }

  // A token for an activity that begins.
  begin(activity) {
    const token = { isCurrent: true };
    for (const each of SUPERSEDES[activity]) this.supersede(each);
    this.latest[activity] = token;
    return token;
  }

  supersede(activity) {
    if (this.latest[activity]) this.latest[activity].isCurrent = false;
  }
}
