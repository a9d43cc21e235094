/**
 * Reads and checks the request of a runtime to a CNI plugin. A fault throws a CniError with the specification's code,
 * and names the variable or the field.
 */
import { type Address, parseAddress } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { PodLink } from '../attach/attachment.ts';
import { invalid, requireInterfaceName, requirePod, requireSandbox, shown } from '../attach/request.ts';
import { NetworkError } from '../error.ts';
import type { PortMapping } from '../hostports/hostports.ts';

/** The input of a CNI plugin: its environment, and the configuration on standard input. */
export interface CniRequest {
  readonly command: string;
  readonly container_id: string;
  readonly netns: string;
  readonly ifname: string;
  readonly args: string;
  readonly config: string;
}

export interface Config {
  readonly cniVersion: string;
  /** Read by `previousResultOf`. */
  readonly prevResult?: unknown;
  readonly runtimeConfig?: { readonly portMappings?: unknown } | null;
  readonly 'cni.dev/valid-attachments'?:
    | readonly { readonly containerID: string; readonly ifname: string }[]
    | null;
}

export interface PreviousResult {
  readonly interfaces?: readonly { readonly name: string; readonly sandbox?: string }[];
  readonly ips?: readonly { readonly address: string; readonly interface?: number }[];
}

/** The specification's error codes, and two of ours. */
export const CNI_CODE = {
  incompatibleVersion: 1,
  unsupported: 2,
  environment: 4,
  unreadable: 6,
  config: 7,
  tryAgainLater: 11,
  notAvailable: 50,
  limitedConnectivity: 51,
  conflict: 100,
  internal: 999,
} as const;

export const VERSIONS = ['1.0.0', '1.1.0'];
const LARGEST_CONFIG = 512 * 1024;

/** An error for the runtime: one of the specification's codes, and a sentence. */
export class CniError extends Error {
  override readonly name = 'CniError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export function parseConfig(text: string): Config {
  if (text.length > LARGEST_CONFIG)
    throw new CniError(CNI_CODE.unreadable, `the configuration has ${text.length} characters`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CniError(CNI_CODE.unreadable, `the configuration is no JSON: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CniError(CNI_CODE.unreadable, 'the configuration is no JSON object');
  const config: Config = { cniVersion: VERSIONS.at(-1)!, ...value };
  if (!VERSIONS.includes(config.cniVersion))
    throw new CniError(
      CNI_CODE.incompatibleVersion,
      `cniVersion ${shown(String(config.cniVersion))} is not spoken here: ${VERSIONS.join(' and ')} are`,
    );
  return config;
}

export function endpointOf({ container_id, ifname }: CniRequest): PodLink {
  return {
    sandbox: of('CNI_CONTAINERID', () => requireSandbox(container_id)),
    interface: of('CNI_IFNAME', () => requireInterfaceName(ifname)),
  };
}

/** CNI_ARGS: `K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-0;…`. */
export function requestedPod({ args }: CniRequest): PodKey {
  const values = argumentsIn(args);
  return of('CNI_ARGS', () =>
    requirePod(values.get('K8S_POD_NAMESPACE') ?? '', values.get('K8S_POD_NAME') ?? ''),
  );
}

/** Empty where the runtime does not report them. */
export function uidOf({ args }: CniRequest): string {
  return argumentsIn(args).get('K8S_POD_UID') ?? '';
}

function argumentsIn(args: string): Map<string, string> {
  return new Map(args.split(';').map(pair => pair.split('=', 2) as [string, string]));
}

/** The specification wants the variable's name in the message. */
export function of<T>(variable: string, read: () => T): T {
  return reading(CNI_CODE.environment, `${variable}: `, read);
}

export function inConfig<T>(read: () => T): T {
  return reading(CNI_CODE.config, '', read);
}

function reading<T>(code: number, prefix: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof NetworkError && error.code !== 'invalid') throw error;
    throw new CniError(code, `${prefix}${(error as Error).message}`);
  }
}

/** Names count in any case, as in Go: containerd writes `HostPort` where the conventions have `hostPort`. */
export function portMappingsOf({ runtimeConfig }: Config): PortMapping[] {
  const mappings = runtimeConfig?.portMappings ?? [];
  if (!Array.isArray(mappings)) throw invalid('runtimeConfig.portMappings is no list');
  return mappings.map(portMapping);
}

function portMapping(mapping: unknown, index: number): PortMapping {
  if (typeof mapping !== 'object' || mapping === null)
    throw invalid(`runtimeConfig.portMappings[${index}] is no object`);
  const fields = new Map(Object.entries(mapping).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    protocol: String(fields.get('protocol') ?? ''),
    hostPort: Number(fields.get('hostport') ?? 0),
    containerPort: Number(fields.get('containerport') ?? 0),
    hostIP: String(fields.get('hostip') ?? ''),
  };
}

/** Undefined where no plugin came before. */
export function previousResultOf({ prevResult }: Config): PreviousResult | undefined {
  if (prevResult === undefined || prevResult === null) return undefined;
  if (typeof prevResult !== 'object' || Array.isArray(prevResult))
    throw new CniError(
      CNI_CODE.config,
      `prevResult ${shown(JSON.stringify(prevResult))} is no JSON object; nothing was done`,
    );
  return prevResult;
}

/** The addresses of interfaces inside the sandbox, if the result shows which these are. */
export function sandboxAddresses(result: PreviousResult): Address[] {
  return inConfig(() => {
    const [ips, interfaces] = [objectsIn(result, 'ips'), objectsIn(result, 'interfaces')];
    const inside = ips.filter(ip => {
      const at = ip.interface === undefined ? undefined : interfaces[ip.interface];
      return at === undefined || (at.sandbox ?? '') !== '';
    });
    return inside.map(({ address }) => {
      const parsed = parseAddress(String(address).split('/')[0]!);
      if (parsed === undefined) throw invalid(`prevResult.ips: "${shown(String(address))}" is no address`);
      return parsed;
    });
  });
}

/** A list that Go left empty is null. */
function objectsIn<Field extends 'ips' | 'interfaces'>(result: PreviousResult, field: Field) {
  const list: unknown = result[field] ?? [];
  if (!Array.isArray(list)) throw invalid(`prevResult.${field} is no list`);
  const wrong = list.findIndex(each => typeof each !== 'object' || each === null);
  if (wrong >= 0) throw invalid(`prevResult.${field}[${wrong}] is no object`);
  return list as NonNullable<PreviousResult[Field]>;
}
