// The driver's own configuration in claims and classes.
const MODES = ["quiet", "fast"];
const FIELDS = {
  mode: (value) => MODES.includes(value) || `is not one of ${MODES.join(", ")}`,
  label: (value) => (typeof value === "string" && /^[-a-z0-9]{0,40}$/.test(value)) || "is no label",
};
const DEFAULTS = { mode: "quiet", label: "" };

/** What holds for one result: the claim's entries beat the class's, the last one of a source counts. */
export function settingsFor(allocation, request, driver) {
  const main = request.split("/")[0];
  const mine = (allocation.devices.config ?? []).filter(
    (entry) =>
      entry.opaque?.driver === driver &&
      (!entry.requests?.length || entry.requests.includes(request) || entry.requests.includes(main)),
  );
  // An entry that is beaten has to be right as well.
  const checked = mine.map((entry) => ({ source: entry.source, values: check(entry.opaque.parameters, driver) }));
  const of = (source) => checked.filter((entry) => entry.source === source).at(-1)?.values;
  return of("FromClaim") ?? of("FromClass") ?? DEFAULTS;
}

// Values are never repeated in errors: a configuration may hold what is nobody else's matter.
function check(parameters, driver) {
  const where = "opaque configuration";
  if (parameters === null || typeof parameters !== "object") throw new Error(`${where} is no object`);
  const { apiVersion, kind, ...given } = parameters;
  if (apiVersion !== `${driver}/v1` || kind !== "CardSettings") {
    throw new Error(`${where} is not a CardSettings of ${driver}/v1`);
  }
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(FIELDS, name)) throw new Error(`${where}: unknown field ${JSON.stringify(name.slice(0, 60))}`);
    const right = FIELDS[name](value);
    if (right !== true) throw new Error(`${where}: ${name} ${right}`);
  }
  return { ...DEFAULTS, ...given };
}
