/** `sluice-cni` on the node, where the runtime speaks nothing but CNI (`--cni-bin-dir`, `--cni-conf-dir`). */
import { once } from 'node:events';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { cniSocketOf } from '../../api/rpc/cnisocket.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { installPlugin, publishList } from '../../network/cni/plugininstall.ts';

export interface CniInstallOptions {
  /** The runtime's folder of CNI plugins. */
  readonly cniBinDir?: string;
  /** The runtime's folder of CNI lists. */
  readonly cniConfDir?: string;
  /** The path of the gRPC socket; the plugin's socket is beside it. */
  readonly socket: string;
}

const RETRY_MS = 5_000;
/** The plugin that `npm run build` makes if there is a C compiler. */
const PLUGIN = join(import.meta.dirname, '../../cni/sluice-cni');

/**
 * Tries until plugin and list are installed, or the signal aborts; `ready` resolves when pods can be attached. Never
 * throws.
 */
export async function installCni(
  { cniBinDir, cniConfDir, socket }: CniInstallOptions,
  ready: Promise<unknown>,
  log: Logger,
  stop: AbortSignal,
): Promise<void> {
  const insist = (what: string, work: () => Promise<void>) => insisting(what, work, log, stop);
  if (cniBinDir !== undefined)
    await insist(`sluice-cni in ${cniBinDir}`, () => installPlugin(PLUGIN, cniBinDir));
  if (cniConfDir === undefined) return;
  if (!stop.aborted) await Promise.race([ready, once(stop, 'abort')]);
  await insist(`the CNI list in ${cniConfDir}`, () => publishList(cniConfDir, cniSocketOf(socket)));
}

async function insisting(
  what: string,
  work: () => Promise<void>,
  log: Logger,
  stop: AbortSignal,
): Promise<void> {
  for (; !stop.aborted; await sleep(RETRY_MS, stop)) {
    try {
      await work();
      log.info({}, `installed ${what}`);
      return;
    } catch (error) {
      const again = `tried again in ${RETRY_MS / 1000} s`;
      log.error(
        {},
        `cannot install ${what}, so no pod can be attached: ${(error as Error).message}; ${again}`,
      );
    }
  }
}
