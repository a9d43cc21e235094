/**
 * The CNI verbs (specification 1.1) as the agent answers them. In main mode the agent attaches the pod; chained after
 * another plugin it only takes the pod's addresses from that plugin's result, and answers when the rules are in force.
 */
import { type Address, addressBits, familyOf, parseAddress } from '../model/address.ts';
import type { PodKey } from '../model/cluster.ts';
import type { Attached } from './attacher.ts';
import type { Endpoint } from './attachment.ts';
import { NetworkError, type NetworkErrorCode } from './error.ts';
import { hostPorts, type PortMapping } from './hostport.ts';
import { namespacePath } from './namespacepath.ts';
import type { Admission, PodNetwork } from './podnetwork.ts';
import { invalid, requireInterfaceName, requirePod, requireSandbox, shown } from './request.ts';
import { GATEWAYS } from './wiring.ts';

/** What the runtime gives a plugin: its environment, and the configuration on standard input. */
export interface CniRequest {
  readonly command: string;
  readonly container_id: string;
  readonly netns: string;
  readonly ifname: string;
  readonly args: string;
  readonly config: string;
}

export interface CniAnswer {
  /** What the plugin prints; empty where it prints nothing. */
  readonly output: string;
  /** Whether that is an error. */
  readonly failed: boolean;
}

export interface CniParts {
  readonly admission: Admission;
  /** Where the agent attaches pods itself. */
  readonly network?: PodNetwork;
}

interface Config {
  readonly cniVersion: string;
  readonly prevResult?: PreviousResult;
  readonly runtimeConfig?: { readonly portMappings?: readonly PortMapping[] };
  readonly 'cni.dev/valid-attachments'?: readonly { readonly containerID: string; readonly ifname: string }[];
}

interface PreviousResult {
  readonly interfaces?: readonly { readonly name: string; readonly sandbox?: string }[];
  readonly ips?: readonly { readonly address: string; readonly interface?: number }[];
}

/** CNI's own error codes, and one of ours. */
const CODES: Record<NetworkErrorCode, number> = {
  invalid: 7,
  unsupported: 2,
  conflict: 100,
  exhausted: 11,
  unavailable: 11,
};
const NOT_AVAILABLE = 50;
const INTERNAL = 999;
const LARGEST_CONFIG = 512 * 1024;

/** Never throws. */
export async function answerCni(parts: CniParts, request: CniRequest): Promise<CniAnswer> {
  let cniVersion = '1.1.0';
  try {
    const config = parseConfig(request.config);
    cniVersion = config.cniVersion;
    const result = await perform(parts, request, config);
    return { output: result === undefined ? '' : JSON.stringify({ cniVersion, ...result }), failed: false };
  } catch (error) {
    const code = error instanceof NetworkError ? codeOf(error, request.command) : INTERNAL;
    const msg = (error as Error).message;
    return { output: JSON.stringify({ cniVersion, code, msg }), failed: true };
  }
}

function codeOf({ code }: NetworkError, command: string): number {
  return command === 'STATUS' ? NOT_AVAILABLE : CODES[code];
}

function parseConfig(text: string): Config {
  if (text.length > LARGEST_CONFIG) throw invalid(`the configuration has ${text.length} characters`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(`the configuration is no JSON: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('the configuration is no object');
  return { cniVersion: '1.1.0', ...value };
}

async function perform(parts: CniParts, request: CniRequest, config: Config): Promise<object | undefined> {
  switch (request.command) {
    case 'ADD':
      return config.prevResult === undefined
        ? add(requireNetwork(parts), request, config)
        : addChained(parts, request, config.prevResult);
    case 'DEL':
      await remove(parts, request, config.prevResult);
      return undefined;
    case 'CHECK':
      await check(parts, request, config.prevResult);
      return undefined;
    case 'GC':
      await collect(parts, config);
      return undefined;
    case 'STATUS':
      await requireReady(parts);
      return undefined;
    default:
      throw invalid(
        `CNI_COMMAND "${shown(request.command)}" is none of ADD, DEL, CHECK, GC, STATUS, VERSION`,
      );
  }
}

async function add(network: PodNetwork, request: CniRequest, config: Config): Promise<object> {
  const namespace = namespacePath(request.netns);
  const attached = await network.attach({
    ...endpointOf(request),
    pod: podOf(request),
    namespace,
    hostPorts: hostPorts(config.runtimeConfig?.portMappings ?? []),
  });
  return resultOf(attached, namespace);
}

function resultOf({ device, nodeMac, interface: name, mac, mtu, addresses }: Attached, sandbox: string) {
  return {
    interfaces: [
      { name: device, mac: nodeMac, mtu },
      { name, mac, mtu, sandbox },
    ],
    ips: addresses.map(address => ({
      address: `${address}/${addressBits(familyOf(address))}`,
      gateway: GATEWAYS[familyOf(address)],
      interface: 1,
    })),
    routes: addresses.map(address => ({
      dst: familyOf(address) === 'ip' ? '0.0.0.0/0' : '::/0',
      gw: GATEWAYS[familyOf(address)],
    })),
    dns: {},
  };
}

async function addChained(
  { admission }: CniParts,
  request: CniRequest,
  result: PreviousResult,
): Promise<object> {
  await admission.admit({ key: podOf(request), addresses: addressesOf(result) });
  return result;
}

/** Also where nothing is known of the pod any more: the runtime may repeat it, or come late. */
async function remove(parts: CniParts, request: CniRequest, result: PreviousResult | undefined) {
  if (result !== undefined && parts.network === undefined)
    parts.admission.withdraw(podOf(request), addressesOf(result));
  await parts.network?.detach(endpointOf(request));
}

async function check({ network }: CniParts, request: CniRequest, result: PreviousResult | undefined) {
  if (network === undefined) return;
  const { addresses, device } = await network.check(endpointOf(request));
  const told = result === undefined ? addresses : addressesOf(result);
  if (told.join() !== addresses.join())
    throw new NetworkError('conflict', `${device} has ${addresses.join(', ')}, not ${told.join(', ')}`);
}

async function collect({ network }: CniParts, config: Config): Promise<void> {
  const valid = config['cni.dev/valid-attachments'];
  if (!Array.isArray(valid)) throw invalid('"cni.dev/valid-attachments" is no list; nothing was collected');
  const endpoints = valid.map(({ containerID, ifname }) => ({
    sandbox: requireSandbox(String(containerID)),
    interface: requireInterfaceName(String(ifname)),
  }));
  await network?.collectAllBut(endpoints);
}

async function requireReady({ network }: CniParts): Promise<void> {
  const reason = await network?.whyNotReady();
  if (reason !== undefined) throw new NetworkError('unavailable', reason);
}

function requireNetwork({ network }: CniParts): PodNetwork {
  if (network !== undefined) return network;
  throw new NetworkError(
    'invalid',
    'sluice-cni is the first plugin of its list, and the agent attaches no pods: start it with --pod-network=attach, or put another plugin first',
  );
}

function endpointOf({ container_id, ifname }: CniRequest): Endpoint {
  return { sandbox: requireSandbox(container_id), interface: requireInterfaceName(ifname) };
}

/** CNI_ARGS: `K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-0;…`. */
function podOf({ args }: CniRequest): PodKey {
  const values = new Map(args.split(';').map(pair => pair.split('=', 2) as [string, string]));
  return requirePod(values.get('K8S_POD_NAMESPACE') ?? '', values.get('K8S_POD_NAME') ?? '');
}

/** Those inside the sandbox, where the result tells which that are. */
function addressesOf({ ips = [], interfaces = [] }: PreviousResult): Address[] {
  const inside = ips.filter(ip => {
    const at = ip.interface === undefined ? undefined : interfaces[ip.interface];
    return at === undefined || (at.sandbox ?? '') !== '';
  });
  return inside.map(({ address }) => {
    const parsed = parseAddress(String(address).split('/')[0]!);
    if (parsed === undefined) throw invalid(`prevResult.ips: "${shown(String(address))}" is no address`);
    return parsed;
  });
}
