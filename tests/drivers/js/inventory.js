// The devices of the node. There is no hardware: files in a directory say what happened to it.
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";

const UNHEALTHY = "unhealthy";

export class Inventory {
  #directory;
  #count;
  #driver;

  constructor({ directory, count, driver }) {
    this.#directory = directory;
    this.#count = count;
    this.#driver = driver;
  }

  /** The names of the devices that are there: with the file `unplugged` all but the first one. */
  names() {
    const first = existsSync(join(this.#directory, "unplugged")) ? 1 : 0;
    return Array.from({ length: Math.max(0, this.#count - first) }, (_, n) => `card-${n + first}`);
  }

  /** Since when a device is broken, in ISO form: the age of its file; undefined if it is not. */
  brokenSince(name) {
    let found;
    try {
      found = statSync(join(this.#directory, `${name}.broken`));
    } catch {
      // Not there, or not to be looked at for a moment, since the data directory is no directory.
      return undefined;
    }
    return new Date(Math.floor(found.mtimeMs / 1000) * 1000).toISOString().replace(".000Z", "Z");
  }

  /** The devices as they are published. */
  devices() {
    mkdirSync(this.#directory, { recursive: true });
    return this.names().map((name) => {
      const since = this.brokenSince(name);
      const number = Number(name.split("-")[1]);
      const taint = { key: `${this.#driver}/${UNHEALTHY}`, effect: "NoExecute", timeAdded: since };
      return {
        name,
        attributes: {
          type: { string: "card" },
          slot: { int: number },
          firmware: { version: "2.1.0" },
        },
        capacity: { memory: { value: "16Gi" } },
        ...(since ? { taints: [taint] } : {}),
      };
    });
  }
}
