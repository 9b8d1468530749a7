// The ResourceSlices of the node: written when they differ from what there is, and left alone else.
import { digest } from "./files.js";
import { ApiError } from "./api.js";
import { Backoff, pause } from "./waiting.js";

const SLICES = "/apis/resource.k8s.io/v1/resourceslices";
const LOOK_MS = 250;

// So much is allowed in one slice even when a device of it has a taint.
const PER_SLICE = 64;

// Slices that are wiped go one by one: their events come together.
const GATHER_MS = 50;

const canonical = (value) =>
  JSON.stringify(value, (_, each) =>
    each && typeof each === "object" && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );

export class Publisher {
  #api;
  #inventory;
  #driver;
  #node;
  #pool;
  #log;
  #known = new Map();
  #listed = false;
  #accepted = new Map();
  #published = undefined;
  #dirty = true;

  constructor({ api, inventory, driver, node, pool, log }) {
    this.#api = api;
    this.#inventory = inventory;
    this.#driver = driver;
    this.#node = node;
    this.#pool = pool;
    this.#log = log;
  }

  /** Publish until the signal comes. */
  async run(signal) {
    await Promise.all([this.#follow(signal), this.#repair(signal)]);
  }

  /** Know what the server has. */
  async #follow(signal) {
    const fieldSelector = `spec.nodeName=${this.#node},spec.driver=${this.#driver}`;
    const backoff = new Backoff();
    while (!signal.aborted) {
      try {
        const listed = await this.#api.request("GET", SLICES, { query: { fieldSelector }, signal });
        this.#known = new Map(listed.items.map((each) => [each.metadata.name, each]));
        this.#listed = this.#dirty = true;
        for (let from = listed.metadata.resourceVersion; ; ) {
          const query = { fieldSelector, resourceVersion: from };
          for await (const event of this.#api.watch(SLICES, query, signal)) {
            if (event.type === "ERROR") throw new ApiError(event.object.code, event.object);
            this.#notice(event);
            from = event.object.metadata.resourceVersion;
            backoff.reset();
          }
          await pause(LOOK_MS, signal);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#log(`watch of slices: ${error.message}`);
        await backoff.wait(signal, error.retryAfterMs).catch(() => {});
      }
    }
  }

  #notice({ type, object }) {
    const { name, resourceVersion } = object.metadata;
    if (type === "BOOKMARK") return;
    const known = this.#known.get(name);
    // What is known from the answer to a write may be newer than the event.
    if (known && BigInt(known.metadata.resourceVersion) > BigInt(resourceVersion)) return;
    if (type === "DELETED") this.#known.delete(name);
    else this.#known.set(name, object);
    this.#dirty = true;
  }

  /** Write what lacks, now and whenever something has changed. */
  async #repair(signal) {
    const backoff = new Backoff();
    while (!signal.aborted) {
      try {
        const content = canonical(this.#inventory.devices());
        if (this.#listed && (this.#dirty || content !== this.#published?.content)) {
          await pause(GATHER_MS, signal);
          this.#dirty = false;
          await this.#publish(signal);
          backoff.reset();
        }
        await pause(LOOK_MS, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#dirty = true;
        this.#log(`publishing: ${error.message}`);
        await backoff.wait(signal, error.retryAfterMs).catch(() => {});
      }
    }
  }

  async #publish(signal) {
    const devices = this.#inventory.devices();
    const generation = this.#generationFor(devices);
    this.#published = { content: canonical(devices), generation };
    const wanted = this.#specs(devices, generation);
    const lacking = [...wanted].filter(([name, spec]) => !this.#isPublished(name, spec));
    if (lacking.length) {
      const node = await this.#api.request("GET", `/api/v1/nodes/${this.#node}`, { signal });
      for (const [name, spec] of lacking) await this.#apply(name, spec, node, signal);
    }
    for (const name of [...this.#known.keys()].filter((each) => !wanted.has(each))) {
      await this.#delete(name, signal);
    }
  }

  /** The generation of the pool: another one for other devices, and else what it was. */
  #generationFor(devices) {
    const there = [...this.#known.values()].map((each) => each.spec.pool.generation);
    const before = this.#published;
    if (before?.content === canonical(devices)) return before.generation;
    if (!there.length && !before) return 1;
    if (!before) {
      const same = this.#specs(devices, there[0]);
      if ([...this.#known].every(([name, { spec }]) => canonical(spec) === canonical(same.get(name)))) return there[0];
    }
    return Math.max(before?.generation ?? 0, ...there) + 1;
  }

  #specs(devices, generation) {
    const count = Math.max(1, Math.ceil(devices.length / PER_SLICE));
    const pool = { name: this.#pool, generation, resourceSliceCount: count };
    return new Map(
      Array.from({ length: count }, (_, n) => [
        `js-${digest(`${this.#node}/${this.#driver}`)}-${n}`,
        {
          driver: this.#driver,
          nodeName: this.#node,
          pool,
          devices: devices.slice(n * PER_SLICE, (n + 1) * PER_SLICE),
        },
      ]),
    );
  }

  #isPublished(name, spec) {
    const there = this.#known.get(name);
    if (!there || !there.metadata.ownerReferences?.length) return false;
    const got = canonical({ devices: [], ...there.spec });
    const sent = canonical(spec);
    // A server leaves out what it does not know: the same again would not change that.
    const accepted = this.#accepted.get(name);
    return got === sent || (accepted?.sent === sent && accepted.got === got);
  }

  async #apply(name, spec, node, signal) {
    const body = {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceSlice",
      metadata: {
        name,
        ownerReferences: [
          { apiVersion: "v1", kind: "Node", name: this.#node, uid: node.metadata.uid, controller: true },
        ],
      },
      spec,
    };
    const made = await this.#api.request("PATCH", `${SLICES}/${name}`, {
      body,
      type: "application/apply-patch+yaml",
      query: { fieldManager: this.#driver, force: "true" },
      signal,
    });
    this.#accepted.set(name, { sent: canonical(spec), got: canonical({ devices: [], ...made.spec }) });
    this.#notice({ type: "MODIFIED", object: made });
    this.#dirty = false;
  }

  async #delete(name, signal) {
    try {
      await this.#api.request("DELETE", `${SLICES}/${name}`, { signal });
    } catch (error) {
      if (error.status !== 404) throw error;
    }
    this.#known.delete(name);
  }
}
