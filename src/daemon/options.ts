/** What `sluice agent` was asked for. */
import type { Address } from '../model/address.ts';
import type { PodLinks } from '../model/podlinks.ts';
import { DNS_PORT } from '../names/control.ts';
import { CommandError } from '../terminal/commanderror.ts';
import type { CniInstallOptions } from './cniinstall.ts';
import type { DnsOptions } from './enforcement.ts';
import type { ServeOptions } from './serve.ts';
import type { SourceOptions } from './source.ts';
import type { StartGateOptions } from './startgate.ts';

export interface AgentCommandOptions
  extends SourceOptions,
    ServeOptions,
    StartGateOptions,
    CniInstallOptions {
  readonly logFormat?: 'json' | 'pretty';
  readonly liveConnections?: 'cut' | 'keep';
  readonly podNetwork?: 'attach' | 'chained' | 'none';
  readonly dnsServers?: readonly Address[];
  readonly dnsTargetPorts?: readonly number[];
  readonly dnsFloor?: number;
}

/** Throws CommandError where two options contradict each other. */
export function checkOptions({ cniConfDir, podNetwork = 'none' }: AgentCommandOptions): void {
  if (cniConfDir !== undefined && podNetwork !== 'attach')
    throw new CommandError(
      `--cni-conf-dir ${cniConfDir} makes sluice-cni the node's network plugin, and that needs --pod-network=attach, not ${podNetwork}`,
    );
}

/** Whether pods come to the agent itself before they start, by CNI. */
export function attaches({ podNetwork = 'none' }: Pick<AgentCommandOptions, 'podNetwork'>): boolean {
  return podNetwork !== 'none';
}

/** Who links this node's pods with it. */
export function podLinks({ podNetwork }: Pick<AgentCommandOptions, 'podNetwork'>): PodLinks {
  return podNetwork === 'attach' ? 'ours' : 'others';
}

export function cutsConnections({ liveConnections = 'cut' }: AgentCommandOptions): boolean {
  return liveConnections === 'cut';
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
