// The sockets of a kubelet plugin: registration, claims and health.
import fs from "node:fs";
import { dirname, join } from "node:path";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { digest } from "./files.js";
import { HEALTH, PLUGINS, Registration } from "./protocol.js";

// Of a Unix socket's path, without the zero at its end.
const LONGEST_PATH = 107;

const LOOK_MS = 1000;
const HEALTH_MS = 10_000;
const HEALTH_LEASE_S = 30;
const DRAIN_MS = 5000;

/** A path for a socket; a name that would make it too long is shortened. */
function socketPath(directory, name, suffix) {
  const path = join(directory, name + suffix);
  return Buffer.byteLength(path) <= LONGEST_PATH ? path : join(directory, digest(name).slice(0, 12) + suffix);
}

export class Plugin {
  #claims;
  #inventory;
  #driver;
  #pool;
  #log;
  #servers = [];
  #streams = new Set();
  #timers = [];
  #told = "";

  constructor({ claims, inventory, driver, pool, dataDirectory, registry, podUid, log }) {
    this.#claims = claims;
    this.#inventory = inventory;
    this.#driver = driver;
    this.#pool = pool;
    this.#log = log;
    const mine = podUid ? `${driver}-${podUid}` : driver;
    this.endpoint = socketPath(dataDirectory, podUid ? `dra-${podUid}` : "dra", ".sock");
    this.registration = socketPath(registry, mine, "-reg.sock");
  }

  /** Serve; claims first, since the kubelet connects as soon as it has the answer to GetInfo. */
  async start() {
    await this.#listen(this.endpoint, (server) => this.#addClaims(server));
    await this.#listen(this.registration, (server) => this.#addRegistration(server));
    this.#timers.push(setInterval(() => this.#look(), LOOK_MS), setInterval(() => this.#tellHealth(), HEALTH_MS));
  }

  /** Leave the kubelet's list first, then let calls come to their end. */
  async stop() {
    this.#timers.forEach(clearInterval);
    for (const { server, path } of this.#servers.toReversed()) {
      fs.rmSync(path, { force: true });
      this.#streams.forEach((each) => each.end());
      const late = setTimeout(() => server.forceShutdown(), DRAIN_MS);
      await new Promise((done) => server.tryShutdown(done));
      clearTimeout(late);
    }
  }

  async #listen(path, add) {
    fs.mkdirSync(dirname(path), { recursive: true });
    fs.rmSync(path, { force: true });
    const server = new Server();
    add(server);
    await new Promise((done, failed) =>
      server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => (error ? failed(error) : done())),
    );
    this.#servers.push({ server, path, add });
  }

  /** Bring back sockets whose files somebody has removed. */
  async #look() {
    for (const { path, add } of this.#servers.filter((each) => !fs.existsSync(each.path))) {
      if (this.#servers.filter((each) => each.path === path).length > 3) continue;
      this.#log(`${path} is gone: listening anew`);
      await this.#listen(path, add).catch((error) => this.#log(error.message));
    }
    const now = JSON.stringify(this.#health());
    if (now !== this.#told) this.#tellHealth();
  }

  #addRegistration(server) {
    server.addService(Registration, {
      GetInfo: (call, answer) =>
        answer(null, {
          type: "DRAPlugin",
          name: this.#driver,
          endpoint: this.endpoint,
          supported_versions: [...Object.keys(PLUGINS), ...Object.keys(HEALTH)],
        }),
      NotifyRegistrationStatus: (call, answer) => {
        const { plugin_registered: registered, error } = call.request;
        this.#log(registered ? "registered" : `the kubelet refuses the registration: ${error}`);
        answer(null, {});
      },
    });
  }

  #addClaims(server) {
    for (const service of Object.values(PLUGINS)) {
      server.addService(service, {
        NodePrepareResources: (call, answer) =>
          this.#each(call, answer, "Prepare", async (claim, signal) => ({
            devices: await this.#claims.prepare(claim, signal),
          })),
        NodeUnprepareResources: (call, answer) =>
          this.#each(call, answer, "Unprepare", async (claim) => {
            await this.#claims.unprepare(claim);
            return {};
          }),
      });
    }
    for (const service of Object.values(HEALTH)) {
      server.addService(service, { NodeWatchResources: (call) => this.#watch(call) });
    }
  }

  /** An entry for each claim of a call; what is wrong with one is no other's matter. */
  async #each(call, answer, method, work) {
    const control = new AbortController();
    call.on("cancelled", () => control.abort(new Error("the kubelet has given the call up")));
    const entries = call.request.claims.map(async (claim) => {
      try {
        return [claim.uid, await work(claim, control.signal)];
      } catch (error) {
        const text = `claim ${claim.namespace}/${claim.name} (${claim.uid}): ${error.message}`;
        this.#log(`${method} of ${text}`);
        return [claim.uid, { error: text }];
      }
    });
    answer(null, { claims: Object.fromEntries(await Promise.all(entries)) });
  }

  #watch(call) {
    this.#streams.add(call);
    const gone = () => this.#streams.delete(call);
    call.on("cancelled", gone).on("error", gone).on("close", gone);
    call.write(this.#report());
  }

  #health() {
    return this.#inventory.names().map((name) => [name, this.#inventory.brokenSince(name)]);
  }

  #report() {
    const now = Math.floor(Date.now() / 1000);
    return {
      devices: this.#health().map(([name, since]) => ({
        device: { pool_name: this.#pool, device_name: name },
        health: since ? "UNHEALTHY" : "HEALTHY",
        last_updated_time: now,
        health_check_timeout_seconds: HEALTH_LEASE_S,
        message: since ? `broken since ${since}` : "",
      })),
    };
  }

  #tellHealth() {
    this.#told = JSON.stringify(this.#health());
    const report = this.#report();
    this.#streams.forEach((each) => each.write(report));
  }
}
