// The liveness probe: asks a running driver what the kubelet would ask it.
import { Client, credentials } from "@grpc/grpc-js";
import { PLUGINS, Registration } from "./protocol.js";

const ANSWER_MS = 2000;

function ask(path, { path: method, requestSerialize, responseDeserialize }, request) {
  const client = new Client(`unix:${path}`, credentials.createInsecure());
  return new Promise((done, failed) =>
    client.makeUnaryRequest(
      method,
      requestSerialize,
      responseDeserialize,
      request,
      { deadline: Date.now() + ANSWER_MS },
      (error, answer) => (error ? failed(error) : done(answer)),
    ),
  ).finally(() => client.close());
}

/** The exit status: 0 if both sockets answer. */
export async function probe({ endpoint, registration }) {
  await ask(registration, Registration.GetInfo, {});
  await ask(endpoint, PLUGINS["v1.DRAPlugin"].NodePrepareResources, { claims: [] });
  return 0;
}
