/** Selects the denials that the user asks for. */

import { type EndpointName, type NamedEndpoint, parseEndpoint } from '../../answers/questions/endpoint.ts';
import type { AgentClient } from '../../api/rpc/client.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { PolicyId } from '../../model/policy.ts';
import { isCalledAnywhere } from '../../model/policyname.ts';
import { workloadId } from '../../model/workload.ts';
import { workloadByLabels } from '../../model/workloadbylabels.ts';
import { type Denial, type DenialEnd, deniersOf } from '../../observe/denials/denial.ts';
import { FlowTextError } from '../../semantics/flowtext.ts';
import { CommandError } from '../../terminal/commanderror.ts';

export interface EndFilter {
  /** The namespace of the source or of the destination, and of names that say none. */
  readonly namespace?: string;
  /** The source or the destination, as `from` and `to` name one. */
  readonly pod?: string;
  /**
   * `web`, `shop/web`, `shop/deploy/web`, `app=web`, `node/n1`, an address, or a domain name: a name of a pod alone is of any
   * namespace, or of the one that -n names.
   */
  readonly from?: string;
  readonly to?: string;
  readonly port?: number;
  /** `TCP`, or a number. */
  readonly protocol?: string;
}

export interface DropFilter extends EndFilter {
  /** `shop/web`, `web`, `NetworkPolicy shop/web`, `cnp:platform`. */
  readonly policy?: string;
}

type Connection = Pick<Denial, 'from' | 'to' | 'protocol' | 'port' | 'names'>;

export function isWanted(denial: Denial, { policy, ...ends }: DropFilter): boolean {
  return (
    isBetween(denial, ends) &&
    (policy === undefined || deniersOf(denial.cause).some(id => isCalledAnywhere(id, policy)))
  );
}

export function isBetween(connection: Connection, filter: EndFilter): boolean {
  const { from, to, protocol, port, names = [] } = connection;
  const { namespace, pod } = filter;
  if (namespace !== undefined && ![from, to].some(end => end.pod?.startsWith(`${namespace}/`))) return false;
  if (filter.port !== undefined && filter.port !== port) return false;
  if (filter.protocol !== undefined && filter.protocol.toUpperCase() !== String(protocol)) return false;
  const isFrom = (asked: string) => isEnd(from, asked, namespace);
  const isTo = (asked: string) => isEnd(to, asked, namespace, names);
  return (
    (pod === undefined || isFrom(pod) || isTo(pod)) &&
    (filter.from === undefined || isFrom(filter.from)) &&
    (filter.to === undefined || isTo(filter.to))
  );
}

/** `names` are those by which the source was allowed the address. */
function isEnd(
  { address, pod, node, labels = {} }: DenialEnd,
  asked: string,
  namespace: string | undefined,
  names: readonly string[] = [],
): boolean {
  const name = endNamed(asked);
  const [own = '', podName = ''] = pod?.split('/') ?? [];
  const isThere = (wanted = namespace) => pod !== undefined && (wanted === undefined || wanted === own);
  switch (name.kind) {
    case 'address':
      return address === name.address;
    case 'node':
      return pod === undefined && node === name.name;
    case 'pod':
      return isThere(name.namespace) && podName === name.name;
    case 'workload':
      return (
        isThere(name.namespace) &&
        workloadByLabels({ namespace: own, name: podName, labels }) ===
          workloadId(name.workload, own, name.name)
      );
    case 'labels':
      return (
        isThere(name.namespace) && Object.entries(name.labels).every(([key, value]) => labels[key] === value)
      );
    case 'domain':
      return names.includes(name.name) || (isThere() && podName === asked);
  }
}

type WantedEnd = Exclude<EndpointName, { kind: 'service' | 'internet' }>;

/** The ends that connections have. Without a port: that is an option of its own. */
const endNamed = memoized((asked: string): WantedEnd => {
  const { name, port, protocol } = readEnd(asked);
  if (port !== undefined || protocol !== undefined)
    throw new CommandError(`"${asked}": --port and --protocol have them`);
  if (name.kind === 'service' || name.kind === 'internet')
    throw new CommandError(`"${asked}": name a pod, a workload, labels, a node, an address or a domain name`);
  return name;
});

function readEnd(asked: string): NamedEndpoint {
  try {
    return parseEndpoint(asked);
  } catch (error) {
    throw error instanceof FlowTextError ? new CommandError(error.message) : error;
  }
}

/** Each of thousands of connections is compared with the same few ends. */
function memoized<T>(read: (text: string) => T): (text: string) => T {
  const found = new Map<string, T>();
  return text => getOrMake(found, text, () => read(text));
}

/** Whether the filter means the pod of this key. */
function isPod(pod: string, asked: string, namespace: string | undefined): boolean {
  if (asked.includes('/')) return pod === asked;
  return namespace === undefined ? pod.endsWith(`/${asked}`) : pod === `${namespace}/${asked}`;
}

/** As options of the same command in the pod of an agent. Throws CommandError if an end cannot be read. */
export function filterWords(
  filter: EndFilter,
): readonly (readonly [option: string, value: string | number | undefined])[] {
  const { namespace, pod, from, to, port, protocol } = filter;
  for (const end of [pod, from, to]) if (end !== undefined) endNamed(end);
  return [
    ['--namespace', namespace],
    ['--pod', pod],
    ['--from', from],
    ['--to', to],
    ['--port', port],
    ['--protocol', protocol],
  ];
}

// Names in the filter that the agent does not know: a mistyped name finds nothing.

type Known = Pick<Awaited<ReturnType<AgentClient['state']>>[number], 'type' | 'key'>;

/**
 * The parts of the filter that the agent does not know: `pod shop/wbe`, `policy cnp:x`. Empty if the agent cannot say.
 */
export async function unknownOf(agent: Pick<AgentClient, 'state'>, filter: DropFilter): Promise<string[]> {
  const { namespace, policy } = filter;
  const pods = podsIn(filter);
  if (pods.length === 0 && (namespace ?? policy) === undefined) return [];
  // An answer that is right without it is not spoilt by an agent that has no time for more.
  const known = await agent.state().catch(() => []);
  return known.length === 0 ? [] : unknownAmong(known, filter, pods);
}

/** The ends that are pods by name. */
function podsIn({ pod, from, to }: EndFilter): readonly string[] {
  const ends = [pod, from, to].filter(end => end !== undefined);
  return [...new Set(ends.filter(end => endNamed(end).kind === 'pod'))];
}

function unknownAmong(
  known: readonly Known[],
  { namespace, policy }: DropFilter,
  pods: readonly string[],
): string[] {
  const keys = (type: string) => known.filter(object => object.type === type).map(({ key }) => key);
  const podKeys = keys('pod');
  const hasNamespace = [...keys('namespace'), ...podKeys].some(key => key.split('/')[0] === namespace);
  const hasPolicy = keys('policy').some(key => isCalledAnywhere(key as PolicyId, policy ?? ''));
  return [
    ...(namespace === undefined || hasNamespace ? [] : [`namespace ${namespace}`]),
    ...pods.filter(pod => !podKeys.some(key => isPod(key, pod, namespace))).map(pod => `pod ${pod}`),
    ...(policy === undefined || hasPolicy ? [] : [`policy ${policy}`]),
  ];
}
