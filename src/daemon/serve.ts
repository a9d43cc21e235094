/** The agent's ears: the socket and the HTTP address. Neither is worth an agent that does not enforce. */
import type { Logger } from 'pino';
import { whyNotReady } from '../health/check.ts';
import { cniSocketOf, serveCni } from '../rpc/cnisocket.ts';
import type { OtherTotals } from '../rpc/metrics.ts';
import type { AgentView } from '../rpc/view.ts';

export interface ServeOptions {
  /** A path, or `none`. */
  readonly socket: string;
  /** `host:port`, or `none`. */
  readonly metricsAddress: string;
}

export interface Serving {
  close(): Promise<void>;
}

/** Serves as soon as its libraries are loaded: call it when the rules are in force, they take longer to load. */
export async function serve(
  { socket, metricsAddress }: ServeOptions,
  view: AgentView,
  totals: OtherTotals,
  log: Logger,
): Promise<Serving> {
  const closers: Serving[] = [];
  if (socket !== 'none') {
    await attempt(log, `no KNI and no status: cannot serve on ${socket}`, async () => {
      const { serveRpc } = await import('../rpc/server.ts');
      closers.push(await serveRpc({ socket, view }));
    });
    const cni = async () => void closers.push(await serveCniOf(socket, view));
    await attempt(log, `sluice-cni is not answered: cannot serve on ${cniSocketOf(socket)}`, cni);
  }
  if (metricsAddress !== 'none') closers.push(await serveMetrics(metricsAddress, view, totals, log));
  return { close: async () => void (await Promise.allSettled(closers.map(each => each.close()))) };
}

async function serveCniOf(socket: string, view: AgentView): Promise<Serving> {
  const { answerCni } = await import('../network/cni/cni.ts');
  const unavailable = async () => whyNotReady((await view.health()).checks);
  return serveCni(cniSocketOf(socket), request => answerCni(view.pods, request, unavailable));
}

async function serveMetrics(
  address: string,
  view: AgentView,
  totals: OtherTotals,
  log: Logger,
): Promise<Serving> {
  const [{ keepServing }, { makeMetrics }] = await Promise.all([
    import('../rpc/keepserving.ts'),
    import('../rpc/metrics.ts'),
  ]);
  return keepServing({ address, view, metrics: makeMetrics(view, totals), log });
}

async function attempt(log: Logger, consequence: string, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    log.error({}, `${consequence}: ${(error as Error).message}`);
  }
}
