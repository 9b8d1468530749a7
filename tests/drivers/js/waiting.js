// Waiting: pauses that end with a signal, growing pauses, and a bucket of tokens.
import { setTimeout as sleep } from "node:timers/promises";

const FIRST_MS = 200;
const LONGEST_MS = 8000;

/** Wait; an aborted signal makes it throw the signal's reason. */
export async function pause(ms, signal) {
  signal?.throwIfAborted();
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

/** Pauses between attempts: doubled each time, with a share of chance against crowds. */
export class Backoff {
  #next = FIRST_MS;

  reset() {
    this.#next = FIRST_MS;
  }

  async wait(signal, atLeastMs = 0) {
    const ms = Math.max(atLeastMs, this.#next * (0.75 + Math.random() / 2));
    this.#next = Math.min(2 * this.#next, LONGEST_MS);
    await pause(ms, signal);
  }
}

/** So many requests a second on average, so many at once after a rest; 0 a second: no limit. */
export class Bucket {
  #perSecond;
  #burst;
  #tokens;
  #filled = performance.now();

  constructor(perSecond, burst) {
    this.#perSecond = perSecond;
    this.#burst = this.#tokens = burst;
  }

  async take(signal) {
    if (!this.#perSecond) return;
    const now = performance.now();
    const grown = this.#tokens + ((now - this.#filled) / 1000) * this.#perSecond;
    this.#tokens = Math.min(this.#burst, grown) - 1;
    this.#filled = now;
    // Below zero is a debt: who comes later waits behind.
    if (this.#tokens < 0) await pause((-this.#tokens / this.#perSecond) * 1000, signal);
  }
}
