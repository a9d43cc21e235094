/** The socket and the HTTP addresses. The agent enforces also where they cannot be opened. */
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { whyNotReady } from '../../api/health/check.ts';
import { cniSocketOf, serveCni } from '../../api/rpc/cnisocket.ts';
import type { ScrapeFiles } from '../../api/rpc/scrape.ts';
import type { AgentView } from '../../api/rpc/view.ts';

export interface ServeOptions {
  /** A path, or `none`. */
  readonly socket: string;
  /** `host:port`, or `none`. */
  readonly metricsAddress: string;
  /** `host:port`; absent: nowhere. It needs both of the others. */
  readonly scrapeAddress?: string;
  readonly scrapeTlsDir?: string;
  readonly scrapeTokenFile?: string;
}

export interface Serving {
  close(): Promise<void>;
}

/** Serves as soon as its libraries are loaded: call it when the rules are in force, they take longer to load. */
export async function serve(
  { socket, metricsAddress, ...scrape }: ServeOptions,
  view: AgentView,
  log: Logger,
): Promise<Serving> {
  const closers: Serving[] = [];
  if (socket !== 'none') {
    await attempt(log, `no KNI and no status: cannot serve on ${socket}`, async () => {
      const { serveRpc } = await import('../../api/rpc/server.ts');
      closers.push(await serveRpc({ socket, view }));
    });
    const cni = async () => void closers.push(await serveCniOf(socket, view));
    await attempt(log, `sluice-cni is not answered: cannot serve on ${cniSocketOf(socket)}`, cni);
  }
  if (metricsAddress === 'none' && scrape.scrapeAddress === undefined) return closing(closers);
  const { makeMetrics } = await import('../../api/rpc/metrics.ts');
  // One registry for both addresses, because a scrape empties the collected histograms.
  const metrics = makeMetrics(view);
  if (metricsAddress !== 'none') closers.push(await serveProbes(metricsAddress, view, metrics, log));
  const { scrapeAddress, scrapeTlsDir, scrapeTokenFile } = scrape;
  if (scrapeAddress !== undefined) {
    const files = { tlsDir: scrapeTlsDir!, tokenFile: scrapeTokenFile! };
    closers.push(await serveScrapes(scrapeAddress, files, metrics, log));
  }
  return closing(closers);
}

function closing(closers: readonly Serving[]): Serving {
  return { close: async () => void (await Promise.allSettled(closers.map(each => each.close()))) };
}

async function serveCniOf(socket: string, view: AgentView): Promise<Serving> {
  const { answerCni } = await import('../../network/cni/cni.ts');
  const unavailable = async () => whyNotReady((await view.health()).checks);
  return serveCni(cniSocketOf(socket), request => answerCni(view.podNetwork, request, unavailable));
}

async function serveProbes(
  address: string,
  view: AgentView,
  metrics: Registry,
  log: Logger,
): Promise<Serving> {
  const [{ keepServing }, { serveHttp }] = await Promise.all([
    import('../../api/rpc/keepserving.ts'),
    import('../../api/rpc/http.ts'),
  ]);
  const listen = () => serveHttp({ address, view, metrics });
  return keepServing({ what: 'health and metrics', address, listen, log });
}

async function serveScrapes(
  address: string,
  files: ScrapeFiles,
  metrics: Registry,
  log: Logger,
): Promise<Serving> {
  const [{ keepServing }, { serveScrape }] = await Promise.all([
    import('../../api/rpc/keepserving.ts'),
    import('../../api/rpc/scrape.ts'),
  ]);
  const listen = () => serveScrape({ ...files, address, metrics, log });
  return keepServing({ what: 'metrics for scrapes', address, listen, log });
}

async function attempt(log: Logger, consequence: string, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    log.error({}, `${consequence}: ${(error as Error).message}`);
  }
}
