// The page's search: one at a time. The bridge ends it when another one is sent.

const QUEUE_DELAY = 400; // milliseconds that a search waits before the page says so

export class Search {
  // page: { think(isThinking), queue(place) }; place 0 is a search that runs after the page was told of the queue
  constructor(socket, page) {
    Object.assign(this, { socket, page });
    this.running = null; // the token of the latest search that was sent, until it ends
  }

  get isRunning() {
    return this.running !== null;
  }

  // The final report. `onReport` and the page get what comes while the token is current.
  async run(token, position, query, onReport) {
    const queue = queueTimer((place) => token.isCurrent && this.page.queue(place));
    this.running = token;
    this.page.think(true);
    try {
      const on = { report: (report) => token.isCurrent && onReport(report), queue: queue.moved };
      const report = await this.socket.think(position, query, on);
      if (report) on.report(report);
      return report;
    } finally {
      queue.end();
      if (this.running === token) {
        this.running = null;
        this.page.think(false);
      }
    }
  }

  stop() {
    if (this.isRunning) this.socket.stop();
  }
}

// Tells the place in the queue, unless the search waits only for a moment.
function queueTimer(tell) {
  let timer, isTold = false;
  const end = () => clearTimeout(timer);
  const moved = (place) => {
    end();
    const now = () => {
      isTold = place > 0;
      tell(place);
    };
    if (isTold) now();
    else if (place) timer = setTimeout(now, QUEUE_DELAY);
  };
  return { moved, end };
}
