/**
 * Which pods serve an Ingress or a route: by option, by the labels of well-known controllers, by the IngressClass or the Gateway,
 * by a namespace's usual name. Where the manifests have no such pods, those that the controller usually has are assumed.
 */
import { getOrMake } from '../../lib/collections/getormake.ts';
import { hasLabels, type Labels } from '../../model/labels.ts';
import type { Entrance, EntranceClass } from '../../model/service.ts';
import { podsByWorkload, topWorkloads, workloadOf } from '../../model/workloadof.ts';
import { FlowTextError } from '../../semantics/flowtext.ts';
import { parseEndpoint } from '../questions/endpoint.ts';
import { type ClusterView, podOf, type ResolvedEndpoint } from '../questions/place.ts';
import { placesOf } from '../questions/places.ts';
import {
  controllerCalled,
  controllerOfClass,
  controllerWith,
  isOutsideController,
  type KnownController,
  ROUTER,
} from './knowncontrollers.ts';

export interface Controller {
  /** `Deployment ingress-nginx/controller`; of assumed pods `ingress-nginx`. */
  readonly name: string;
  readonly places: readonly ResolvedEndpoint[];
  readonly known?: KnownController | undefined;
  /** There are no such pods: these are as they usually are. */
  readonly isAssumed?: true;
}

/** Those that serve it, or why it is not known who does. */
export type Serving = { readonly controllers: readonly Controller[] } | Unknown;

const OPTION = '--ingress-controller';

/** The answer for each Ingress and route of a cluster. */
export class Controllers {
  readonly #view: ClusterView;
  readonly #named: readonly Controller[];
  readonly #classes: ReadonlyMap<string, EntranceClass>;
  readonly #workloads: readonly MaybeController[];
  readonly #made = new Map<string, Controller>();

  /** `named` are ends as `explain` knows them. Throws FlowTextError where there is no such end. */
  constructor(view: ClusterView, named: readonly string[]) {
    this.#view = view;
    this.#named = named.map(text => controllerNamed(view, text));
    const { entranceClasses } = view.inventory;
    this.#classes = new Map(entranceClasses.map(each => [`${each.kind} ${each.name}`, each]));
    this.#workloads = mayBeControllers(view);
  }

  /** Those that are named count where they are of the kind that is meant, or where no pods of that kind are there. */
  serving(entrance: Entrance): Serving {
    const meant = this.#meantBy(entrance);
    const fitting = this.#named.filter(({ known }) => 'known' in meant && known === meant.known);
    if (fitting.length > 0) return { controllers: fitting };
    const found = 'unknown' in meant ? [] : this.#podsOf(meant);
    if (found.length > 0) return { controllers: found };
    if (this.#named.length > 0) return { controllers: this.#named };
    if ('unknown' in meant) return meant;
    return 'known' in meant ? { controllers: [this.#assumed(meant.known)] } : UNKNOWN;
  }

  #meantBy({ servedBy }: Entrance): Meant {
    switch (servedBy.kind) {
      case 'router':
        return { known: ROUTER };
      case 'class':
        return this.#byClass(servedBy.name);
      case 'gateways':
        return this.#byGateways(servedBy.keys);
    }
  }

  #byClass(name: string | undefined): Meant {
    const found =
      name === undefined
        ? [...this.#classes.values()].find(({ isDefault }) => isDefault)
        : this.#classes.get(`IngressClass ${name}`);
    if (found !== undefined)
      return meantByClass(found.controller ?? found.name, controllerOfClass(found.name));
    if (name !== undefined) return meantByClass(name, controllerOfClass(name));
    const [known, ...others] = new Set(this.#workloads.flatMap(each => each.known ?? []));
    return known === undefined || others.length > 0 ? UNKNOWN : { known };
  }

  /** Many implementations run pods for each Gateway, with its name as a label. */
  #byGateways(keys: readonly string[]): Meant {
    const own = this.#workloads.filter(each => keys.some(key => isOfGateway(each, key)));
    if (own.length > 0) return { workloads: own };
    for (const key of keys) {
      const name = this.#classes.get(`Gateway ${key}`)?.class;
      if (name === undefined) continue;
      const { controller = name } = this.#classes.get(`GatewayClass ${name}`) ?? {};
      return meantByClass(controller, controllerOfClass(name));
    }
    return UNKNOWN;
  }

  /** By their labels; without these, whatever runs in a namespace of the controller. */
  #podsOf(meant: Exclude<Meant, Unknown>): readonly Controller[] {
    const all = this.#workloads;
    const labelled =
      'workloads' in meant ? meant.workloads : all.filter(({ known }) => known === meant.known);
    const isNear = ({ namespace, known }: MaybeController) =>
      'known' in meant && known === undefined && namespace === meant.known.namespaces[0];
    const found = labelled.length > 0 ? labelled : all.filter(isNear);
    return found.map(each => this.#of(each)).filter(({ places }) => places.length > 0);
  }

  #of({ id, known }: MaybeController): Controller {
    return getOrMake(this.#made, id, () => ({
      name: id,
      places: placesOrNone(this.#view, nameOf(id)),
      known,
    }));
  }

  #assumed(known: KnownController): Controller {
    const [namespace, labels] = [known.namespaces[0]!, known.pods[0]!];
    return getOrMake(this.#made, known.name, () => {
      const places = placesOf(this.#view, { kind: 'labels', namespace, labels });
      return { name: known.name, places, known, isAssumed: true };
    });
  }
}

/** A controller that is known, its pods themselves, or why it has none. */
type Meant =
  | { readonly known: KnownController }
  | { readonly workloads: readonly MaybeController[] }
  | Unknown;

/** A sentence without its subject. */
interface Unknown {
  readonly unknown: string;
}

const UNKNOWN: Unknown = { unknown: `which pods serve it is not known: name them by ${OPTION}` };

function meantByClass(controller: string, byName: KnownController | undefined): Meant {
  const known = controllerCalled(controller) ?? byName;
  if (known !== undefined) return { known };
  if (!isOutsideController(controller)) return UNKNOWN;
  const unknown = `${controller} makes a load balancer outside of the cluster: ask for the addresses that it comes with`;
  return { unknown };
}

/** The note on what is assumed. */
export function assumedText({ known }: Controller): string {
  const { name, namespaces, pods } = known!;
  const labels = Object.entries(pods[0]!).map(label => label.join('='));
  return `there is no pod of ${name}: assumed are pods ${labels.join(',')} in namespace ${namespaces[0]} (${OPTION} names others)`;
}

// Pods and workloads that may be a controller.

interface MaybeController {
  /** `Deployment shop/web`, `Pod shop/web`. */
  readonly id: string;
  readonly namespace: string;
  readonly labels: Labels;
  readonly known: KnownController | undefined;
}

function mayBeControllers({ cluster, inventory }: ClusterView): readonly MaybeController[] {
  const pods = podsByWorkload(cluster, inventory);
  const found = [
    ...[...pods].map(([id, [pod]]) => ({ id, namespace: pod!.namespace, labels: pod!.labels })),
    ...topWorkloads(inventory).filter(({ id }) => !pods.has(id)),
  ];
  return found
    .filter(({ id }) => !/^(Cron)?Job /.test(id))
    .map(({ id, namespace, labels }) => ({ id, namespace, labels, known: controllerWith(labels) }));
}

function isOfGateway({ namespace, labels }: MaybeController, key: string): boolean {
  const [own = '', name = ''] = key.split('/');
  return (
    (namespace === own && hasLabels(labels, { 'gateway.networking.k8s.io/gateway-name': name })) ||
    hasLabels(labels, {
      'gateway.envoyproxy.io/owning-gateway-namespace': own,
      'gateway.envoyproxy.io/owning-gateway-name': name,
    })
  );
}

/** A pod whose address another one has by now is nobody. */
function placesOrNone(view: ClusterView, name: Parameters<typeof placesOf>[1]): readonly ResolvedEndpoint[] {
  try {
    return placesOf(view, name);
  } catch (error) {
    if (error instanceof FlowTextError) return [];
    throw error;
  }
}

function nameOf(id: string) {
  const [kind = '', key = ''] = id.split(' ');
  const [namespace = '', name = ''] = key.split('/');
  if (kind === 'Pod') return { kind: 'pod', namespace, name } as const;
  return { kind: 'workload', workload: kind, namespace, name } as const;
}

/** `ingress-nginx/controller` is a pod or a workload of that name. */
function controllerNamed(view: ClusterView, text: string): Controller {
  const { name, port } = parseEndpoint(text);
  if (port !== undefined || name.kind === 'service' || name.kind === 'domain')
    throw new FlowTextError(
      `"${text}": ${OPTION} takes a pod, a workload or labels, as ingress-nginx/app=controller`,
    );
  const key = name.kind === 'pod' ? `${name.namespace ?? view.defaultNamespace}/${name.name}` : undefined;
  const workload = topWorkloads(view.inventory).find(each => `${each.namespace}/${each.name}` === key);
  const isPod = [...view.cluster.pods.keys()].some(each => each === key);
  const places = placesOf(view, workload === undefined || isPod ? name : nameOf(workload.id));
  const [place] = places;
  const pod = place && podOf(place);
  const labels = workload?.labels ?? pod?.labels;
  const ofPod = pod && view.cluster.pods.has(pod.key) ? workloadOf(view.inventory, pod).id : undefined;
  return {
    name: place?.workload ?? ofPod ?? text,
    places,
    known: labels && controllerWith(labels),
  };
}
