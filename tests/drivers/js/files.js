// Files that are there as a whole or not at all, and names that cannot leave their directory.
import { createHash, randomBytes } from "node:crypto";
import fs from "node:fs/promises";
import { basename, dirname, join } from "node:path";

const SAFE = /^[A-Za-z0-9][-A-Za-z0-9_.]{0,99}$/;

// Two instances may write the same file at the same time, so each has names of its own.
const MINE = randomBytes(4).toString("hex");

/** A word as a part of a file name: as it is, or its digest. */
export function fileName(word) {
  return SAFE.test(word) ? word : `x-${digest(word)}`;
}

export function digest(text) {
  return createHash("sha256").update(text).digest("hex").slice(0, 24);
}

/** The text of a file; undefined if there is none. */
export async function read(path) {
  try {
    return await fs.readFile(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Replace a file, unless it has this text already. */
export async function write(path, text, mode) {
  if ((await read(path)) === text) return;
  await fs.mkdir(dirname(path), { recursive: true });
  const partial = join(dirname(path), `.${basename(path)}.${MINE}.tmp`);
  try {
    const file = await fs.open(partial, "w", mode);
    try {
      await file.chmod(mode);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await fs.rename(partial, path);
  } catch (error) {
    await fs.rm(partial, { force: true }).catch(() => {});
    throw error;
  }
}

/** Remove a file and whatever crashed writers of it have left. */
export async function remove(path) {
  const names = await list(dirname(path));
  const partial = `.${basename(path)}.`;
  for (const name of names.filter((each) => each.startsWith(partial) && each.endsWith(".tmp"))) {
    await fs.rm(join(dirname(path), name), { force: true });
  }
  await fs.rm(path, { force: true });
}

/** The names in a directory; none if it is not there. */
export async function list(directory) {
  try {
    return await fs.readdir(directory);
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
}
