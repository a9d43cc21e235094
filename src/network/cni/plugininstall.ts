/**
 * Installs the files on the node that a CNI runtime needs: the plugin, and a configuration list that names it. The list
 * is written last, because with it the runtime begins to call the plugin.
 */
import { chmod, copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const PLUGIN = 'sluice-cni';
const LIST = '10-sluice.conflist';

/** Throws the errors of the file system. */
export async function installPlugin(plugin: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await replacing(join(folder, PLUGIN), async unfinished => {
    await copyFile(plugin, unfinished);
    await chmod(unfinished, 0o755);
  });
}

/** From here on the runtime calls us for every pod, and the kubelet reports the node as ready. */
export async function publishList(folder: string, socket: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await replacing(join(folder, LIST), unfinished => writeFile(unfinished, listText(socket), { mode: 0o644 }));
}

/** Returns whether it was there. Throws the errors of the file system. */
export function removePlugin(folder: string): Promise<boolean> {
  return removeFile(join(folder, PLUGIN));
}

/** The runtime asks us for no further pod. Answers whether it was there. */
export function removeList(folder: string): Promise<boolean> {
  return removeFile(join(folder, LIST));
}

async function removeFile(path: string): Promise<boolean> {
  try {
    await rm(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/**
 * Version 1.0.0, though the plugin speaks 1.1.0: of a newer one containerd asks STATUS, and makes the node NotReady
 * while no address is free; after five minutes Kubernetes would evict the pods that run well.
 */
function listText(socket: string): string {
  const plugin = { type: PLUGIN, socket, capabilities: { portMappings: true } };
  return `${JSON.stringify({ cniVersion: '1.0.0', name: 'sluice', plugins: [plugin] }, null, 2)}\n`;
}

/** The file is replaced by a rename: it is never seen half written, and one that runs goes on running. */
async function replacing(path: string, write: (unfinished: string) => Promise<void>): Promise<void> {
  const unfinished = `${path}.unfinished`;
  try {
    await write(unfinished);
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}
