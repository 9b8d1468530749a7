// The gRPC services of kubelet plugins: names and numbers of fields as the kubelet's protos have them.
import { fromJSON } from "@grpc/proto-loader";

const text = (id, more = {}) => ({ type: "string", id, ...more });
const list = (type, id) => ({ rule: "repeated", type, id });
const byName = (type, id) => ({ keyType: "string", type, id });
const call = (requestType, responseType, more = {}) => ({ requestType, responseType, ...more });

const registration = {
  InfoRequest: { fields: {} },
  PluginInfo: {
    fields: { type: text(1), name: text(2), endpoint: text(3), supported_versions: list("string", 4) },
  },
  RegistrationStatus: { fields: { plugin_registered: { type: "bool", id: 1 }, error: text(2) } },
  RegistrationStatusResponse: { fields: {} },
  Registration: {
    methods: {
      GetInfo: call("InfoRequest", "PluginInfo"),
      NotifyRegistrationStatus: call("RegistrationStatus", "RegistrationStatusResponse"),
    },
  },
};

const plugin = (shares) => ({
  Claim: { fields: { namespace: text(1), uid: text(2), name: text(3) } },
  Device: {
    fields: {
      request_names: list("string", 1),
      pool_name: text(2),
      device_name: text(3),
      cdi_device_ids: list("string", 4),
      ...(shares ? { share_id: text(5, { options: { proto3_optional: true } }) } : {}),
    },
  },
  NodePrepareResourcesRequest: { fields: { claims: list("Claim", 1) } },
  NodePrepareResourceResponse: { fields: { devices: list("Device", 1), error: text(2) } },
  NodePrepareResourcesResponse: { fields: { claims: byName("NodePrepareResourceResponse", 1) } },
  NodeUnprepareResourcesRequest: { fields: { claims: list("Claim", 1) } },
  NodeUnprepareResourceResponse: { fields: { error: text(1) } },
  NodeUnprepareResourcesResponse: { fields: { claims: byName("NodeUnprepareResourceResponse", 1) } },
  DRAPlugin: {
    methods: {
      NodePrepareResources: call("NodePrepareResourcesRequest", "NodePrepareResourcesResponse"),
      NodeUnprepareResources: call("NodeUnprepareResourcesRequest", "NodeUnprepareResourcesResponse"),
    },
  },
});

const health = {
  NodeWatchResourcesRequest: { fields: {} },
  DeviceIdentifier: { fields: { pool_name: text(1), device_name: text(2) } },
  HealthStatus: { values: { UNKNOWN: 0, HEALTHY: 1, UNHEALTHY: 2 } },
  DeviceHealth: {
    fields: {
      device: { type: "DeviceIdentifier", id: 1 },
      health: { type: "HealthStatus", id: 2 },
      last_updated_time: { type: "int64", id: 3 },
      health_check_timeout_seconds: { type: "int64", id: 4 },
      message: text(5),
    },
  },
  NodeWatchResourcesResponse: { fields: { devices: list("DeviceHealth", 1) } },
  DRAResourceHealth: {
    methods: {
      NodeWatchResources: call("NodeWatchResourcesRequest", "NodeWatchResourcesResponse", {
        responseStream: true,
      }),
    },
  },
};

function services(name, types) {
  const nested = name.split(".").reduceRight((inner, part) => ({ [part]: { nested: inner } }), types);
  return fromJSON({ nested }, { keepCase: true, longs: Number, enums: String, defaults: true });
}

function service(name, types, short) {
  return services(name, types)[`${name}.${short}`];
}

const DRA = "k8s.io.kubelet.pkg.apis.dra";

export const Registration = service("pluginregistration", registration, "Registration");

// By the names that a plugin advertises, newest first: a kubelet takes the first one that it knows.
export const PLUGINS = {
  "v1.DRAPlugin": service(`${DRA}.v1`, plugin(true), "DRAPlugin"),
  "v1beta1.DRAPlugin": service(`${DRA}.v1beta1`, plugin(false), "DRAPlugin"),
};
export const HEALTH = {
  "v1.DRAResourceHealth": service("v1", health, "DRAResourceHealth"),
  "v1alpha1.DRAResourceHealth": service("v1alpha1", health, "DRAResourceHealth"),
};
