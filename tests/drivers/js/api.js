// The Kubernetes API by plain HTTP: who asks, one request, retries, and watches.
import { existsSync, readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { dirname, resolve } from "node:path";
import { createInterface } from "node:readline";
import { parse } from "yaml";
import { Backoff, Bucket } from "./waiting.js";

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const REQUEST_MS = 10_000;
const WATCH_S = 240;
const PARALLEL = 16;

export class ApiError extends Error {
  constructor(status, body, retryAfter) {
    super(`${status} ${body?.reason ?? ""}: ${body?.message ?? "no message"}`.slice(0, 500));
    this.status = status;
    this.retryAfterMs = Math.min(Number(retryAfter) || 0, 10) * 1000;
  }

  get transient() {
    return this.status === 429 || this.status >= 500;
  }
}

/** Where the server is and as whom to ask: a kubeconfig, or what every pod has. */
function configuration(kubeconfig) {
  if (!kubeconfig) {
    const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
    if (!host || !existsSync(`${ACCOUNT}/token`)) throw new Error("neither --kubeconfig nor a pod's account");
    const name = host.includes(":") ? `[${host}]` : host;
    return { server: `https://${name}:${port}`, tokenFile: `${ACCOUNT}/token`, ca: readFileSync(`${ACCOUNT}/ca.crt`) };
  }
  const config = parse(readFileSync(kubeconfig, "utf8"));
  const named = (list, name) => list?.find((each) => each.name === name);
  const context = named(config.contexts, config["current-context"])?.context;
  const cluster = named(config.clusters, context?.cluster)?.cluster;
  const user = named(config.users, context?.user)?.user ?? {};
  if (!cluster?.server) throw new Error(`${kubeconfig} names no server`);
  const inside = (path) => path && resolve(dirname(kubeconfig), path);
  const material = (object, field) => {
    if (object[`${field}-data`]) return Buffer.from(object[`${field}-data`], "base64");
    return object[field] ? readFileSync(inside(object[field])) : undefined;
  };
  return {
    server: cluster.server,
    token: user.token,
    tokenFile: inside(user.tokenFile),
    ca: material(cluster, "certificate-authority"),
    cert: material(user, "client-certificate"),
    key: material(user, "client-key"),
  };
}

export class Api {
  #config;
  #base;
  #module;
  #agent;
  #bucket;

  constructor({ kubeconfig, qps, burst }) {
    this.#config = configuration(kubeconfig);
    this.#base = this.#config.server.replace(/\/+$/, "");
    this.#module = this.#base.startsWith("https:") ? https : http;
    const { ca, cert, key } = this.#config;
    this.#agent = new this.#module.Agent({ keepAlive: true, maxSockets: PARALLEL, ca, cert, key });
    this.#bucket = new Bucket(qps, burst);
  }

  /** One attempt; resolves to the response, a stream whose status is 2xx. */
  async #send(method, path, { query = {}, body, type = "application/json", signal, agent }) {
    await this.#bucket.take(signal);
    const headers = { accept: "application/json", "user-agent": "js-driver" };
    // A projected token is replaced while the pod runs.
    const { tokenFile } = this.#config;
    const token = tokenFile ? readFileSync(tokenFile, "utf8").trim() : this.#config.token;
    if (token) headers.authorization = `Bearer ${token}`;
    const data = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    if (data) Object.assign(headers, { "content-type": type, "content-length": data.length });
    const url = `${this.#base}${path}?${new URLSearchParams(query)}`;
    const { ca, cert, key } = this.#config;
    const response = await new Promise((done, failed) => {
      const request = this.#module.request(url, { method, headers, signal, agent: agent ?? this.#agent, ca, cert, key });
      request.on("error", failed).on("response", done).end(data);
    });
    if (response.statusCode >= 300) {
      const answer = await whole(response).then(JSON.parse).catch(() => undefined);
      throw new ApiError(response.statusCode, answer, response.headers["retry-after"]);
    }
    return response;
  }

  /** One request whose answer is an object. */
  async request(method, path, options = {}) {
    const timeout = AbortSignal.timeout(REQUEST_MS);
    const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
    return JSON.parse(await whole(await this.#send(method, path, { ...options, signal })));
  }

  /** The same again and again for so long, while the server cannot be asked or has no time. */
  async patiently(ms, method, path, options = {}) {
    const backoff = new Backoff();
    for (const until = performance.now() + ms; ; ) {
      try {
        return await this.request(method, path, options);
      } catch (error) {
        options.signal?.throwIfAborted();
        if ((error instanceof ApiError && !error.transient) || performance.now() > until) throw error;
        await backoff.wait(options.signal, error.retryAfterMs);
      }
    }
  }

  /** The events of a watch until the server ends it. */
  async *watch(path, query, signal) {
    const limit = AbortSignal.timeout((WATCH_S + 30) * 1000);
    const response = await this.#send("GET", path, {
      query: { ...query, watch: "true", allowWatchBookmarks: "true", timeoutSeconds: String(WATCH_S) },
      signal: AbortSignal.any([signal, limit]),
      agent: false,
    });
    // readline does not pass an error of its input on.
    let broken;
    response.on("error", (error) => (broken = error));
    for await (const line of createInterface({ input: response, crlfDelay: Infinity })) {
      if (line) yield JSON.parse(line);
    }
    if (broken) throw broken;
  }
}

async function whole(response) {
  const parts = [];
  for await (const part of response) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}
