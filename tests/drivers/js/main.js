#!/usr/bin/env node
// A small DRA driver for devices that do not exist. It does what the contract asks, in the way in
// which a driver without Kubernetes' helper does it.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Api } from "./api.js";
import { Claims } from "./claims.js";
import { Inventory } from "./inventory.js";
import { Ledger } from "./ledger.js";
import { Plugin } from "./plugin.js";
import { probe } from "./probe.js";
import { Publisher } from "./slices.js";

const { env } = process;
const { values: options } = parseArgs({
  options: {
    kubeconfig: { type: "string", default: env.KUBECONFIG ?? "" },
    name: { type: "string", default: "js.dra.example" },
    node: { type: "string", default: env.NODE_NAME ?? "" },
    data: { type: "string", default: "" },
    registry: { type: "string", default: "/var/lib/kubelet/plugins_registry" },
    cdi: { type: "string", default: "/var/run/cdi" },
    "pod-uid": { type: "string", default: env.POD_UID ?? "" },
    devices: { type: "string", default: "8" },
    qps: { type: "string", default: "50" },
    burst: { type: "string", default: "100" },
    probe: { type: "boolean", default: false },
  },
});

const log = (text) => process.stderr.write(`${new Date().toISOString()} ${String(text).slice(0, 1000)}\n`);

function number(name, atLeast) {
  const value = Number(options[name]);
  if (!Number.isFinite(value) || value < atLeast) throw new Error(`--${name}: a number from ${atLeast} on`);
  return value;
}

async function main() {
  // Nobody else may connect to the sockets or read the state.
  process.umask(0o077);
  const { kubeconfig, name: driver, node, registry, cdi } = options;
  if (!node) throw new Error("--node is missing");
  const dataDirectory = options.data || `/var/lib/kubelet/plugins/${driver}`;
  mkdirSync(dataDirectory, { recursive: true });
  const pool = `cards/${node}`;
  const inventory = new Inventory({ directory: join(dataDirectory, "cards"), count: number("devices", 0), driver });
  const api = new Api({ kubeconfig, qps: number("qps", 0), burst: number("burst", 1) });
  const ledger = new Ledger(dataDirectory, log);
  const claims = new Claims({ api, ledger, inventory, driver, pool, cdi });
  const plugin = new Plugin({ claims, inventory, driver, pool, dataDirectory, registry, podUid: options["pod-uid"], log });
  if (options.probe) return await probe(plugin);
  const ending = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"]) process.on(name, () => ending.abort(new Error(name)));
  await ledger.restore();
  await plugin.start();
  await new Publisher({ api, inventory, driver, node, pool, log }).run(ending.signal);
  await plugin.stop();
  return 0;
}

main().then(
  (code) => process.exit(code),
  (error) => {
    log(error.stack);
    process.exit(1);
  },
);
