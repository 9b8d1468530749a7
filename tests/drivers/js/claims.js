// Prepare and Unprepare of one claim.
import { join } from "node:path";
import { digest, fileName, remove, write } from "./files.js";
import { settingsFor } from "./settings.js";
import { ApiError } from "./api.js";

const CLAIMS = "/apis/resource.k8s.io/v1/namespaces";
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const PUBLIC = 0o644;

// Far below the 45 s of the kubelet's call: it tries again by itself.
const API_MS = 8_000;

// The lowest version that has what is used: names begin with a letter, and edits are variables.
const CDI_VERSION = "0.3.0";

export class Claims {
  #api;
  #ledger;
  #inventory;
  #driver;
  #pool;
  #cdi;
  #last = new Map();

  constructor({ api, ledger, inventory, driver, pool, cdi }) {
    this.#api = api;
    this.#ledger = ledger;
    this.#inventory = inventory;
    this.#driver = driver;
    this.#pool = pool;
    this.#cdi = cdi;
  }

  /** Devices of a claim, as the kubelet wants to know them. */
  async prepare(reference, signal) {
    return await this.#inTurn(reference.uid, () => this.#prepare(reference, signal));
  }

  async unprepare(reference) {
    await this.#inTurn(reference.uid, () => this.#release(reference.uid));
  }

  // Calls for one claim come one after the other, so that the last one has the last word.
  async #inTurn(uid, work) {
    const before = this.#last.get(uid) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#last.set(uid, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(uid) === mine) this.#last.delete(uid);
    }
  }

  async #prepare(reference, signal) {
    signal.throwIfAborted();
    const claim = await this.#allocated(reference, signal);
    const devices = this.#wanted(claim);
    const before = await this.#ledger.recorded(claim.uid);
    if (before && JSON.stringify(before.devices) !== JSON.stringify(devices)) {
      throw new Error("it was prepared for another allocation or configuration: unprepare it first");
    }
    const taken = await this.#take(claim, devices, before !== undefined, signal);
    // What somebody may be using already is left to Unprepare.
    const fresh = !before && taken.length === devices.filter((each) => !each.admin).length;
    try {
      signal.throwIfAborted();
      await this.#ledger.record(claim, devices);
      if (devices.length) await write(this.#specPath(claim.uid), this.#spec(claim, devices), PUBLIC);
    } catch (error) {
      if (fresh) await this.#release(claim.uid).catch(() => this.#giveBack(taken));
      throw error;
    }
    return devices.map((each) => ({
      request_names: [each.request.split("/")[0]],
      pool_name: each.pool,
      device_name: each.device,
      cdi_device_ids: [`${this.#kind}=${each.cdi}`],
      ...(each.share ? { share_id: each.share } : {}),
    }));
  }

  /** The claim as it is now, if it is the one that is meant. */
  async #allocated({ namespace, name, uid }, signal) {
    if (!NAME.test(namespace) || !NAME.test(name) || !uid) throw new Error("the reference names no claim");
    const claim = await this.#get(namespace, name, signal);
    if (claim.metadata.uid !== uid) throw new Error(`it has another UID now: ${claim.metadata.uid}`);
    if (!claim.status?.allocation?.devices) throw new Error("it is not allocated");
    return { namespace, name, uid, allocation: claim.status.allocation };
  }

  async #get(namespace, name, signal) {
    return await this.#api.patiently(API_MS, "GET", `${CLAIMS}/${namespace}/resourceclaims/${name}`, { signal });
  }

  /** What the allocation gives of this driver, and the settings for it. */
  #wanted(claim) {
    return (claim.allocation.devices.results ?? [])
      .filter((result) => result.driver === this.#driver)
      .map((result) => {
        const { mode, label } = settingsFor(claim.allocation, result.request, this.#driver);
        const device = {
          request: result.request,
          pool: result.pool,
          device: result.device,
          admin: result.adminAccess === true,
          ...(result.shareID ? { share: result.shareID } : {}),
          mode,
          label,
        };
        // Other content has another name, so that no runtime has an old one in mind.
        return { ...device, cdi: `c${digest(JSON.stringify([claim.uid, device]))}` };
      });
  }

  /** Take all devices or none; those that were newly taken. */
  async #take(claim, devices, again, signal) {
    const taken = [];
    try {
      for (const { pool, device, admin } of devices) {
        const present = pool === this.#pool && this.#inventory.names().includes(device);
        if (!present && !again) throw new Error(`there is no device ${device} in pool ${pool}`);
        if (!admin && (await this.#takeOne(claim, device, signal))) taken.push(device);
      }
      return taken;
    } catch (error) {
      await this.#giveBack(taken);
      throw error;
    }
  }

  async #takeOne(claim, device, signal) {
    for (;;) {
      const { holder, taken } = await this.#ledger.take(device, claim);
      if (holder.uid === claim.uid) return taken;
      if (!(await this.#isGone(holder, signal))) {
        throw new Error(`device ${device} is in use by claim ${holder.namespace}/${holder.name}`);
      }
      await this.#inTurn(holder.uid, () => this.#release(holder.uid));
    }
  }

  /** A claim that has disappeared has no pod any more, whether or not Unprepare came. */
  async #isGone({ namespace, name, uid }, signal) {
    if (!NAME.test(namespace ?? "") || !NAME.test(name ?? "")) return false;
    try {
      return (await this.#get(namespace, name, signal)).metadata.uid !== uid;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return true;
      throw error;
    }
  }

  async #giveBack(taken) {
    for (const device of taken) await this.#ledger.giveBack(device);
  }

  // The spec goes first: as long as it is there, the device is not given to anybody else.
  async #release(uid) {
    await remove(this.#specPath(uid));
    await this.#ledger.forget(uid);
  }

  get #kind() {
    return `${this.#driver}/card`;
  }

  #specPath(uid) {
    return join(this.#cdi, `${this.#driver}-card_${fileName(uid)}.json`);
  }

  #spec(claim, devices) {
    const made = devices.map((each) => {
      const number = each.device.replace(/[^A-Za-z0-9]/g, "_").toUpperCase();
      const env = [`${number}_MODE=${each.mode}`, `${number}_LABEL=${each.label}`];
      if (each.admin) env.push(`${number}_ADMIN=1`);
      return { name: each.cdi, containerEdits: { env } };
    });
    return `${JSON.stringify({ cdiVersion: CDI_VERSION, kind: this.#kind, devices: made }, undefined, 1)}\n`;
  }
}
