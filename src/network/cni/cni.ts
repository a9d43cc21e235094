/**
 * The CNI verbs (specification 1.1) as the agent answers them. In main mode the agent attaches the pod; chained after
 * another plugin it only takes the pod's addresses from that plugin's result, and answers when the rules are in force.
 */
import { addressBits, familyOf } from '../../model/address.ts';
import { type Admission, attachedSandbox } from '../attach/admission.ts';
import type { Attached } from '../attach/attacher.ts';
import { deviceName } from '../attach/attachment.ts';
import type { PodNetwork } from '../attach/podnetwork.ts';
import { invalid, namespacePath, requireInterfaceName, requireSandbox, shown } from '../attach/request.ts';
import { GATEWAYS } from '../attach/wiring.ts';
import { NetworkError, type NetworkErrorCode } from '../error.ts';
import { hostPorts } from '../hostports/hostports.ts';
import {
  CNI_CODE,
  CniError,
  type CniRequest,
  type Config,
  endpointOf,
  inConfig,
  of,
  type PreviousResult,
  parseConfig,
  portMappingsOf,
  previousResultOf,
  requestedPod,
  sandboxAddresses,
  uidOf,
  VERSIONS,
} from './cnirequest.ts';

export interface CniAnswer {
  /** The plugin's standard output; empty if it prints nothing. */
  readonly output: string;
  /** Whether that is an error. */
  readonly failed: boolean;
}

export interface CniParts {
  readonly admission: Admission;
  /** Present if the agent attaches pods itself. */
  readonly network?: PodNetwork;
}

/** The failed check that keeps the node from accepting pods, and its finding. */
export interface NetworkUnavailable {
  readonly name: string;
  readonly reason: string;
}

/** If a request itself is wrong, the fault is in its environment, unless it is a `CniError` with its own code. */
const CODES: Record<NetworkErrorCode, number> = {
  invalid: CNI_CODE.environment,
  unsupported: CNI_CODE.unsupported,
  conflict: CNI_CODE.conflict,
  exhausted: CNI_CODE.tryAgainLater,
  unavailable: CNI_CODE.tryAgainLater,
};
/** Checks that fail only where pods that run already are cut off as well. */
const CUTS_OFF: ReadonlySet<string> = new Set(['ip-forward', 'ip6-forward', 'conntrack-fill']);

/** Answers a request of the plugin. Never throws. `parts` are absent in an agent without a pod network. */
export async function answerCni(
  parts: CniParts | undefined,
  request: CniRequest,
  unavailable: () => Promise<readonly NetworkUnavailable[]>,
): Promise<CniAnswer> {
  let cniVersion = VERSIONS.at(-1)!;
  try {
    const config = parseConfig(request.config);
    cniVersion = config.cniVersion;
    const result = await perform(parts, request, config, unavailable);
    return { output: result === undefined ? '' : JSON.stringify({ cniVersion, ...result }), failed: false };
  } catch (error) {
    return { output: JSON.stringify({ cniVersion, ...errorResult(error as Error) }), failed: true };
  }
}

function errorResult(error: Error): { code: number; msg: string } {
  const msg = error.message;
  if (error instanceof CniError) return { code: error.code, msg };
  return { code: error instanceof NetworkError ? CODES[error.code] : CNI_CODE.internal, msg };
}

async function perform(
  parts: CniParts | undefined,
  request: CniRequest,
  config: Config,
  unavailable: () => Promise<readonly NetworkUnavailable[]>,
): Promise<object | undefined> {
  switch (request.command) {
    case 'ADD':
      return add(parts, request, config);
    case 'DEL':
      await remove(parts, request);
      return undefined;
    case 'CHECK':
      await check(required(parts), request, previousResultOf(config));
      return undefined;
    case 'GC':
      await collect(required(parts), config);
      return undefined;
    case 'STATUS':
      required(parts, CNI_CODE.notAvailable);
      requireReady(await unavailable());
      return undefined;
    default:
      throw new CniError(
        CNI_CODE.environment,
        `CNI_COMMAND "${shown(request.command)}" is none of ADD, DEL, CHECK, GC, STATUS, VERSION`,
      );
  }
}

function add(parts: CniParts | undefined, request: CniRequest, config: Config): Promise<object> {
  const result = previousResultOf(config);
  return result === undefined ? attach(parts, request, config) : addChained(required(parts), request, result);
}

async function attach(parts: CniParts | undefined, request: CniRequest, config: Config): Promise<object> {
  const network = requireNetwork(parts);
  const namespace = of('CNI_NETNS', () => namespacePath(request.netns));
  const attached = await network.attach({
    ...endpointOf(request),
    pod: requestedPod(request),
    uid: uidOf(request),
    namespace,
    hostPorts: inConfig(() => hostPorts(portMappingsOf(config))),
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
  const owner = { ...endpointOf(request), pod: requestedPod(request), uid: uidOf(request) };
  await admission.admit(attachedSandbox(owner, sandboxAddresses(result)));
  return result;
}

/** Also where nothing is known of the pod any more: the runtime may repeat it, or come late. */
async function remove(parts: CniParts | undefined, request: CniRequest) {
  const endpoint = endpointOf(request);
  if (parts?.network === undefined) parts?.admission.withdraw(deviceName(endpoint));
  else await parts.network.detach(endpoint);
}

async function check({ network }: CniParts, request: CniRequest, result: PreviousResult | undefined) {
  if (network === undefined) return;
  const { addresses, device } = await network.check(endpointOf(request));
  const earlier = result === undefined ? addresses : sandboxAddresses(result);
  if (earlier.join() !== addresses.join())
    throw new NetworkError('conflict', `${device} has ${addresses.join(', ')}, not ${earlier.join(', ')}`);
}

/** If the runtime gives no list of living attachments, those count as dead that we know to be dead. */
async function collect({ network }: CniParts, config: Config): Promise<void> {
  const valid = config['cni.dev/valid-attachments'];
  if (valid === undefined || valid === null) return network?.collect();
  const endpoints = inConfig(() => {
    if (!Array.isArray(valid)) throw invalid('"cni.dev/valid-attachments" is no list; nothing was collected');
    return valid.map(attachment => ({
      sandbox: requireSandbox(String(attachment?.containerID ?? '')),
      interface: requireInterfaceName(String(attachment?.ifname ?? '')),
    }));
  });
  await network?.collectAllBut(endpoints);
}

function requireReady(unavailable: readonly NetworkUnavailable[]): void {
  if (unavailable.length === 0) return;
  const code = unavailable.some(({ name }) => CUTS_OFF.has(name))
    ? CNI_CODE.limitedConnectivity
    : CNI_CODE.notAvailable;
  throw new CniError(code, unavailable.map(({ name, reason }) => `${name}: ${reason}`).join('; '));
}

function requireNetwork(parts: CniParts | undefined): PodNetwork {
  const { network } = required(parts);
  if (network !== undefined) return network;
  throw new CniError(
    CNI_CODE.config,
    'sluice-cni is the first plugin of its list, and the agent attaches no pods: start it with --pod-network=attach, or put another plugin first',
  );
}

function required(parts: CniParts | undefined, code: number = CNI_CODE.config): CniParts {
  if (parts !== undefined) return parts;
  throw new CniError(code, 'the agent runs without --pod-network, so it does nothing for a CNI plugin');
}
