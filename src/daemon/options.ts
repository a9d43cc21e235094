/** The options of `sluice agent`. */

import type { DenialLimits } from '../compiler/denied.ts';
import type { Address } from '../model/address.ts';
import type { PodLinks } from '../model/podlinks.ts';
import { DNS_PORT } from '../names/control.ts';
import type { LogMode } from '../observe/denials/lines.ts';
import { CommandError } from '../terminal/commanderror.ts';
import type { DnsOptions } from './enforcement.ts';
import type { CniInstallOptions } from './pods/cniinstall.ts';
import type { StartGateCommandOptions } from './pods/startgateconfig.ts';
import type { ServeOptions } from './serve/serve.ts';
import type { AgentSourceOptions } from './source/source.ts';

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

export interface LogOptions {
  /** Absent: words on a terminal, else JSON. */
  readonly logFormat?: 'json' | 'pretty';
  readonly logLevel?: (typeof LOG_LEVELS)[number];
}

export interface AgentCommandOptions
  extends AgentSourceOptions,
    ServeOptions,
    StartGateCommandOptions,
    CniInstallOptions,
    LogOptions {
  readonly liveConnections?: 'cut' | 'keep';
  readonly podNetwork?: 'attach' | 'chained' | 'none';
  readonly dnsServers?: readonly Address[];
  readonly dnsTargetPorts?: readonly number[];
  readonly dnsFloor?: number;
  /** Denied packets a second that are named at most; 0: none. */
  readonly denials?: number;
  readonly logDenials?: LogMode;
  /** Whether pods may send into tunnels between nodes (N72), as overlays of their own do. Default: deny. */
  readonly podTunnels?: 'deny' | 'allow';
  /** The rules of policy count what they match. */
  readonly countRules?: boolean;
}

/** Throws CommandError where two options contradict each other. */
export function checkOptions(options: AgentCommandOptions): void {
  const { cniConfDir, podNetwork = 'none', scrapeAddress, scrapeTlsDir, scrapeTokenFile } = options;
  if ([scrapeAddress, scrapeTlsDir, scrapeTokenFile].filter(each => each !== undefined).length % 3 !== 0)
    throw new CommandError(
      'metrics are served to others over TLS and for a token, or not at all: --scrape-address, --scrape-tls-dir and --scrape-token-file go together',
    );
  if (cniConfDir !== undefined && podNetwork !== 'attach')
    throw new CommandError(
      `--cni-conf-dir ${cniConfDir} makes sluice-cni the node's network plugin, and that needs --pod-network=attach, not ${podNetwork}`,
    );
}

/** Whether pods come to the agent itself before they start, by CNI. */
export function attaches({ podNetwork = 'none' }: Pick<AgentCommandOptions, 'podNetwork'>): boolean {
  return podNetwork !== 'none';
}

/** Whether we or another network plugin link this node's pods. */
export function podLinksOf({ podNetwork }: Pick<AgentCommandOptions, 'podNetwork'>): PodLinks {
  return podNetwork === 'attach' ? 'ours' : 'others';
}

export function cutsConnections({ liveConnections = 'cut' }: AgentCommandOptions): boolean {
  return liveConnections === 'cut';
}

const DENIALS = 50;
/** One source has a part of what all may have, and seconds of it at once: a pod that starts tries all that it needs. */
const SOURCES = 25;
const SOURCE_BURST_S = 10;
const BURST_S = 4;

export function denialLimits({ denials = DENIALS }: AgentCommandOptions): DenialLimits | undefined {
  if (denials === 0) return undefined;
  const each = Math.ceil(denials / SOURCES);
  return {
    perSource: { perSecond: each, burst: SOURCE_BURST_S * each },
    inAll: { perSecond: denials, burst: BURST_S * denials },
  };
}

export function dnsOptions({
  dnsServers = [],
  dnsTargetPorts = [],
  dnsFloor,
}: AgentCommandOptions): DnsOptions {
  return {
    servers: dnsServers,
    ports: [DNS_PORT, ...dnsTargetPorts],
    lifetimes: dnsFloor === undefined ? {} : { floorMs: dnsFloor * 1_000 },
  };
}
