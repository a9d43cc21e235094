/** Selects the denials that the user asks for. */

import { type EndpointName, parseEndpoint } from '../../answers/questions/endpoint.ts';
import type { AgentClient } from '../../api/rpc/client.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import { hasLabels } from '../../model/labels.ts';
import type { PolicyId } from '../../model/policy.ts';
import { isCalledAnywhere } from '../../model/policyname.ts';
import { workloadId } from '../../model/workload.ts';
import { workloadByLabels } from '../../model/workloadbylabels.ts';
import { type Denial, type DenialEnd, deniersOf } from '../../observe/denials/denial.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { orCommandError } from '../orcommanderror.ts';

/** One value, or several of which one is enough; `!web` is all but web. */
type Asked = string | readonly string[];

export interface EndFilter {
  /** The namespace of the source or of the destination; a single one is also that of names that say none. */
  readonly namespace?: Asked;
  /** The namespace is that of names alone. */
  readonly allNamespaces?: boolean;
  /** The source or the destination, as `from` and `to` name one. */
  readonly pod?: Asked;
  /**
   * `web`, `shop/web` (a pod, or the pods of a workload), `shop/deploy/web`, `app=web`, `node/n1`, an address, or a domain name:
   * a name of a pod alone is of any namespace, or of the one that -n names.
   */
  readonly from?: Asked;
  readonly to?: Asked;
  readonly port?: Asked;
  /** `TCP`, or a number. */
  readonly protocol?: Asked;
}

export interface DropFilter extends EndFilter {
  /** `shop/web`, `web`, `NetworkPolicy shop/web`, `cnp:platform`. */
  readonly policy?: Asked;
}

const NOT = '!';

function valuesOf(asked: Asked | undefined): readonly string[] {
  return asked === undefined ? [] : typeof asked === 'string' ? [asked] : asked;
}

/** The values without what says that they are not meant. */
function namesOf(asked: Asked | undefined): readonly string[] {
  return valuesOf(asked).map(value => (value.startsWith(NOT) ? value.slice(NOT.length) : value));
}

/** The value, where it is one and a positive one. */
function onlyOne(asked: Asked | undefined): string | undefined {
  const [value, ...others] = valuesOf(asked);
  return others.length > 0 || value?.startsWith(NOT) ? undefined : value;
}

/** Whether one of the values that are meant matches, if there is any, and none of the others. */
function accepts(asked: Asked | undefined, matches: (value: string) => boolean): boolean {
  const values = valuesOf(asked);
  const meant = values.filter(value => !value.startsWith(NOT));
  return (
    (meant.length === 0 || meant.some(matches)) &&
    !values.some(value => value.startsWith(NOT) && matches(value.slice(NOT.length)))
  );
}

type Connection = Pick<Denial, 'from' | 'to' | 'protocol' | 'port' | 'names'>;

export function isWanted(denial: Denial, { policy, ...ends }: DropFilter): boolean {
  return (
    isBetween(denial, ends) &&
    accepts(policy, asked => deniersOf(denial.cause).some(id => isCalledAnywhere(id, asked)))
  );
}

export function isBetween(connection: Connection, filter: EndFilter): boolean {
  const { from, to, protocol, port, names = [] } = connection;
  const namespace = onlyOne(filter.namespace);
  const isFrom = (asked: string) => isEnd(from, asked, namespace);
  const isTo = (asked: string) => isEnd(to, asked, namespace, names);
  return (
    accepts(filter.allNamespaces ? undefined : filter.namespace, asked =>
      [from, to].some(end => end.pod?.startsWith(`${asked}/`) === true),
    ) &&
    accepts(filter.port, asked => asked === String(port)) &&
    accepts(filter.protocol, asked => asked.toUpperCase() === String(protocol)) &&
    accepts(filter.pod, asked => isFrom(asked) || isTo(asked)) &&
    accepts(filter.from, isFrom) &&
    accepts(filter.to, isTo)
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
  // Lists show a workload without its kind.
  const madeBy = workloadByLabels({ namespace: own, name: podName, labels });
  switch (name.kind) {
    case 'address':
      return address === name.address;
    case 'node':
      return pod === undefined && node === name.name;
    case 'pod':
      return (
        isThere(name.namespace) &&
        (podName === name.name || madeBy?.slice(madeBy.indexOf('/') + 1) === name.name)
      );
    case 'workload':
      return isThere(name.namespace) && madeBy === workloadId(name.workload, own, name.name);
    case 'labels':
      return isThere(name.namespace) && hasLabels(labels, name.labels);
    case 'domain':
      return names.includes(name.name) || (isThere() && podName === asked);
  }
}

type WantedEnd = Exclude<EndpointName, { kind: 'service' | 'internet' }>;

/** The ends that connections have. Without a port: that is an option of its own. */
const endNamed = memoized((asked: string): WantedEnd => {
  const { name, port, protocol } = orCommandError(() => parseEndpoint(asked));
  if (port !== undefined || protocol !== undefined)
    throw new CommandError(`"${asked}": --port and --protocol have them`);
  if (name.kind === 'service' || name.kind === 'internet')
    throw new CommandError(`"${asked}": name a pod, a workload, labels, a node, an address or a domain name`);
  return name;
});

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

/**
 * As options of the same command in the pod of an agent: those with one positive value, which older agents know. The
 * prompt looks at all of them again. Throws CommandError if an end cannot be read.
 */
export function filterWords(filter: DropFilter): string[] {
  const { pod, from, to, port, protocol, policy } = filter;
  for (const end of [pod, from, to].flatMap(namesOf)) endNamed(end);
  const namespace = filter.allNamespaces ? undefined : filter.namespace;
  const given = Object.entries({ namespace, pod, from, to, port, protocol, policy });
  return given.flatMap(([option, asked]) => {
    const value = onlyOne(asked);
    return value === undefined ? [] : [`--${option}=${value}`];
  });
}

// Names in the filter that the agent does not know: a mistyped name finds nothing.

type Known = Pick<Awaited<ReturnType<AgentClient['state']>>[number], 'type' | 'key'>;

/**
 * The parts of the filter that the agent does not know: `pod shop/wbe`, `policy cnp:x`. Empty if the agent cannot say.
 */
export async function unknownOf(agent: Pick<AgentClient, 'state'>, filter: DropFilter): Promise<string[]> {
  const { namespace, policy } = filter;
  const pods = podsIn(filter);
  if (pods.length + namesOf(namespace).length + namesOf(policy).length === 0) return [];
  // An answer that is right without it is not spoilt by an agent that has no time for more.
  const known = await agent.state().catch(() => []);
  return known.length === 0 ? [] : unknownAmong(known, filter, pods);
}

/** The ends that are pods by name. */
function podsIn({ pod, from, to }: EndFilter): readonly string[] {
  const ends = [pod, from, to].flatMap(namesOf);
  return [...new Set(ends.filter(end => endNamed(end).kind === 'pod'))];
}

function unknownAmong(
  known: readonly Known[],
  { namespace, policy }: DropFilter,
  pods: readonly string[],
): string[] {
  const keys = (type: string) => known.filter(object => object.type === type).map(({ key }) => key);
  const podKeys = keys('pod');
  const namespaces = new Set([...keys('namespace'), ...podKeys].map(key => key.split('/')[0]));
  const policies = keys('policy') as PolicyId[];
  const isPodKnown = (pod: string) => podKeys.some(key => isPod(key, pod, onlyOne(namespace)));
  const missing = (kind: string, names: readonly string[], isKnown: (name: string) => boolean) =>
    names.filter(name => !isKnown(name)).map(name => `${kind} ${name}`);
  return [
    ...missing('namespace', namesOf(namespace), name => namespaces.has(name)),
    ...missing('pod', pods, isPodKnown),
    ...missing('policy', namesOf(policy), name => policies.some(id => isCalledAnywhere(id, name))),
  ];
}
