/** The pods that `sluice inspect` is asked about: by a workload, a Service, labels or an address, as `explain` takes them. */

import { type NamedEndpoint, parseEndpoint } from '../answers/questions/endpoint.ts';
import type { ClusterView } from '../answers/questions/place.ts';
import { placesOf } from '../answers/questions/places.ts';
import { serviceNamed } from '../answers/questions/services.ts';
import { shortNameOf, targetsOf } from '../answers/questions/targets.ts';
import { firstOf } from '../lib/text/firstof.ts';
import { plural } from '../lib/text/plural.ts';
import { addressOwners } from '../model/addressowners.ts';
import type { Pod } from '../model/cluster.ts';
import { FlowTextError } from '../semantics/flowtext.ts';
import { podsOf, podsWith } from './traceends.ts';

export interface Inspected {
  /** Names that the node itself looks up: of pods, namespaces and policies. */
  readonly names: readonly string[];
  /** The nodes of the pods; absent where it may be any node. */
  readonly nodes?: readonly string[];
  /** Which pods are meant, unless one is named. */
  readonly note?: string;
}

/** A name of each is in the command that a node runs. */
const MOST_PODS = 40;
const MOST_NAMED = 5;

/** Throws FlowTextError if nothing has that name, or no pod of it runs. */
export function inspectedBy(view: ClusterView, text: string): Inspected {
  const pods = isEnd(text) ? podsMeant(view, parseEndpoint(text)) : undefined;
  if (pods === undefined) return { names: [text] };
  const running = pods.filter(({ node }) => node !== '').sort((a, b) => (a.key < b.key ? -1 : 1));
  const shown = running.slice(0, MOST_PODS);
  if (shown.length === 0) throw new FlowTextError(`"${text}" has no pod that runs`);
  const names = shown.map(({ key }) => key);
  const nodes = [...new Set(shown.map(({ node }) => node))];
  if (names.length === 1 && names[0] === text) return { names, nodes };
  const more = shown.length === running.length ? '' : `; the first ${shown.length} are shown`;
  return {
    names,
    nodes,
    note: `${text} means ${plural(running.length, 'pod')}: ${firstOf(names, MOST_NAMED)}${more}`,
  };
}

/** Not the name of a namespace, nor of a policy: `shop`, `NetworkPolicy shop/web`, `cnp:platform`. */
export function isEnd(text: string): boolean {
  return !/\s|^(cnp|anp|banp):/.test(text) && /[/=.:[]/.test(text);
}

/** Undefined where it may be the label of a policy (`shop/default-deny`), or a pod that has no node yet. */
function podsMeant(view: ClusterView, end: NamedEndpoint): readonly Pod[] | undefined {
  const { cluster, defaultNamespace } = view;
  const { name, text } = end;
  if (name.kind === 'service' || shortNameOf(view, end) !== undefined) return podsBehind(view, end);
  switch (name.kind) {
    case 'pod': {
      const pod = cluster.pods.get(`${name.namespace ?? defaultNamespace}/${name.name}`);
      if (pod !== undefined) return pod.node === '' ? undefined : [pod];
      return unlessAbsent(() => podsOf(placesOf(view, name)));
    }
    case 'workload':
      return podsOf(placesOf(view, name));
    case 'labels':
      return podsWith(view, name.namespace ?? defaultNamespace, name.labels);
    case 'address': {
      const pod = addressOwners(cluster).get(name.address);
      if (pod === undefined) throw new FlowTextError(`"${text}": no known pod has that address`);
      return [pod];
    }
    default:
      throw new FlowTextError(
        `"${text}" is no pod: sluice inspect shows the rules of pods (--node NAME: of a node)`,
      );
  }
}

function unlessAbsent<T>(find: () => T): T | undefined {
  try {
    return find();
  } catch (error) {
    if (error instanceof FlowTextError) return undefined;
    throw error;
  }
}

/** On any of its ports, where none is named. */
function podsBehind(view: ClusterView, end: NamedEndpoint): readonly Pod[] {
  const short = end.name.kind === 'service' ? end.name : shortNameOf(view, end)!;
  const { ports } = serviceNamed(view, short);
  const ends =
    end.port === undefined && ports.length > 0
      ? ports.map(({ port, protocol }) => ({ ...end, port: String(port), protocol }))
      : [end];
  const targets = ends.flatMap(each => targetsOf(view, each).targets);
  return [...new Set(targets.flatMap(({ endpoint }) => endpoint.pod ?? []))];
}
