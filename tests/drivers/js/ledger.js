// What is prepared. `held/DEVICE` is a symbolic link that names the claim which has the device: it
// is made whole or not at all, and only where none is, in whichever process. `claims/UID.json` says
// for what a claim was prepared.
import fs from "node:fs/promises";
import { join } from "node:path";
import { fileName, list, read, remove, write } from "./files.js";

const PRIVATE = 0o600;

const targetOf = (claim) => `${claim.uid}@${claim.namespace}/${claim.name}`;

function claimOf(target) {
  const [, uid, namespace, name] = /^([^@]*)@([^/]*)\/(.*)$/.exec(target) ?? [];
  return { uid, namespace, name };
}

export class Ledger {
  #held;
  #claims;
  #log;

  constructor(directory, log) {
    this.#held = join(directory, "held");
    this.#claims = join(directory, "claims");
    this.#log = log;
  }

  /** Take devices for all recorded claims, for the case that only the links were lost. */
  async restore() {
    for (const name of await list(this.#claims)) {
      if (name.startsWith(".") || !name.endsWith(".json")) continue;
      const record = await this.#parsed(join(this.#claims, name));
      if (!record) continue;
      for (const device of record.devices.filter((each) => !each.admin)) {
        await this.take(device.device, record.claim);
      }
    }
  }

  /** Take a device for a claim; the claim that has it, which may be the same one. */
  async take(device, claim) {
    const path = join(this.#held, device);
    for (;;) {
      try {
        await fs.symlink(targetOf(claim), path);
        return { holder: claim, taken: true };
      } catch (error) {
        if (error.code === "ENOENT") await fs.mkdir(this.#held, { recursive: true });
        else if (error.code !== "EEXIST") throw error;
      }
      try {
        return { holder: claimOf(await fs.readlink(path)), taken: false };
      } catch (error) {
        // Given back in between.
        if (error.code !== "ENOENT") throw error;
      }
    }
  }

  /** Give one device back. */
  async giveBack(device) {
    await fs.rm(join(this.#held, device), { force: true });
  }

  /** Give back all that a claim has, and forget it. */
  async forget(uid) {
    for (const device of await list(this.#held)) {
      const target = await fs.readlink(join(this.#held, device)).catch(() => "");
      if (claimOf(target).uid === uid) await this.giveBack(device);
    }
    await remove(this.#path(uid));
  }

  /** For what a claim was prepared; undefined if that is not known. */
  async recorded(uid) {
    return await this.#parsed(this.#path(uid));
  }

  async record({ uid, namespace, name }, devices) {
    await write(this.#path(uid), JSON.stringify({ claim: { uid, namespace, name }, devices }), PRIVATE);
  }

  #path(uid) {
    return join(this.#claims, `${fileName(uid)}.json`);
  }

  async #parsed(path) {
    const text = await read(path);
    if (text === undefined) return undefined;
    try {
      const record = JSON.parse(text);
      if (record.claim?.uid && Array.isArray(record.devices)) return record;
    } catch {
      // As below.
    }
    this.#log(`${path} is damaged: its claim is prepared anew, from what is allocated to it`);
    return undefined;
  }
}
