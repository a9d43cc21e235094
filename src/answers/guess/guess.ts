/**
 * Connections that manifests name, for policies to begin with: what variables, arguments and ConfigMaps say of Services,
 * what leads clients in from outside, monitors, webhooks, and rights of the API. They are guesses: nobody has seen them.
 */

import type { Monitor, Reference, SaidText, Speaker } from '../../inputs/kube/decode/references.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Inventory } from '../../model/inventory.ts';
import { hasLabels, type Labels } from '../../model/labels.ts';
import type { Protocol } from '../../model/policy.ts';
import { matchesLabels } from '../../model/selector.ts';
import type { Entrance, Service, ServicePort } from '../../model/service.ts';
import { assumedText, Controllers } from '../entrances/controllers.ts';
import { isGranted } from '../entrances/granted.ts';
import { API_SERVER, apiServerEndpoints, apiServerService } from '../questions/apiserver.ts';
import { type ClusterView, namedPort, type ResolvedEndpoint } from '../questions/place.ts';
import {
  hostsIn,
  isAddress,
  isExternal,
  isLoopback,
  type SaidHost,
  saysHost,
  servicesNamed,
  USUAL_PORTS,
} from './hosts.ts';
import { type Member, membersOf, NAME_LABEL } from './members.ts';

/** `anyone` may be outside of the cluster. */
export type GuessEnd = Member | 'anyone' | 'api server' | 'dns';

export interface Guess {
  readonly from: GuessEnd;
  readonly to: GuessEnd;
  readonly protocol: Protocol;
  readonly port: number;
  /** Objects and fields that say so: `Deployment shop/web spec.template.spec.containers[0].env[0] (DB_HOST)`. */
  readonly why: readonly string[];
}

export interface Guesses {
  readonly members: readonly Member[];
  readonly guesses: readonly Guess[];
  /** Sentences on what is named and no guess, each with the objects and fields that name it. */
  readonly notGuessed: ReadonlyMap<string, ReadonlySet<string>>;
}

/** `controllers` are ends that serve Ingresses and routes. Throws FlowTextError where there is no such end. */
export function guessConnections(
  view: ClusterView,
  references: readonly Reference[],
  controllers: readonly string[] = [],
): Guesses {
  const found = new Guesser(view, references, controllers);
  found.guess();
  return {
    members: [...found.members.values()],
    guesses: found.guesses(),
    notGuessed: found.notGuessed,
  };
}

class Guesser {
  readonly members: Map<string, Member>;
  readonly notGuessed = new Map<string, Set<string>>();
  readonly #inventory: Inventory;
  readonly #references: readonly Reference[];
  readonly #controllers: Controllers;
  readonly #found = new Map<string, Omit<Guess, 'why'> & { readonly why: Set<string> }>();
  /** By the text: many pods may have one ConfigMap. */
  readonly #hosts = new Map<string, readonly SaidHost[]>();
  readonly #behind = new Map<Service, readonly Member[]>();

  constructor(view: ClusterView, references: readonly Reference[], controllers: readonly string[]) {
    this.members = membersOf(view.cluster, view.inventory);
    this.#inventory = view.inventory;
    this.#references = references;
    this.#controllers = new Controllers(view, controllers);
  }

  guesses(): Guess[] {
    return Array.from(this.#found.values(), guess => ({ ...guess, why: [...guess.why] }));
  }

  guess(): void {
    const configs = new Map(this.#of('texts').map(({ key, texts }) => [key, this.#configOf(texts)]));
    for (const speaker of this.#of('speaker')) this.#ofSpeaker(speaker, configs);
    this.#entrances();
    for (const monitor of this.#of('monitor')) this.#monitor(monitor);
    for (const { object, field, service, port } of this.#of('webhook')) {
      const called = this.#inventory.services.get(service);
      if (called === undefined) this.#skip(`${object} ${field}`, noService(service));
      else this.#toService('api server', called, port, `${object} ${field}`);
    }
    this.#callersOfApi();
    for (const member of this.members.values())
      for (const protocol of ['UDP', 'TCP'] as const)
        if (!member.pod.hostNetwork) this.#add(member, 'dns', protocol, 53, 'every pod looks up names');
  }

  #of<K extends Reference['kind']>(kind: K): Extract<Reference, { kind: K }>[] {
    return this.#references.filter((each): each is Extract<Reference, { kind: K }> => each.kind === kind);
  }

  #skip(where: string, why: string): void {
    getOrMake(this.notGuessed, why, () => new Set()).add(where);
  }

  #hostsOf(text: string): readonly SaidHost[] {
    return getOrMake(this.#hosts, text, () => hostsIn(text));
  }

  /** Once for all pods that have it. */
  #configOf(texts: readonly SaidText[]): Config {
    return {
      naming: texts.filter(({ text }) => this.#hostsOf(text).length > 0),
      byName: new Map(texts.map(each => [each.name, each])),
      plain: plainTexts(texts),
    };
  }

  #ofSpeaker(speaker: Speaker, configs: ReadonlyMap<string, Config>): void {
    const { object, texts } = speaker;
    const from = this.members.get(object);
    if (from === undefined) return;
    const taken = speaker.configMaps.flatMap(each => takenFrom(configs.get(each.key), each, object));
    const said = [plainTexts(texts), ...taken.map(({ plain }) => plain)];
    const own = texts.map(text => ({
      ...text,
      why: `${object} ${text.field}${text.name === '' ? '' : ` (${text.name})`}`,
    }));
    for (const { text, name, why } of [...own, ...taken.flatMap(({ naming }) => naming)])
      for (const host of this.#hostsOf(text)) this.#ofHost(from, host, { text, name, said, why });
  }

  #ofHost(from: Member, said: SaidHost, { text, name, said: others, why }: Said): void {
    const { host, port, scheme, isCertain } = said;
    if (isLoopback(host)) return;
    if (isAddress(host)) {
      if (isCertain) this.#skip(why, `${host} is an address, of which the manifests say nothing`);
      return;
    }
    const keys = servicesNamed(host, from.pod.namespace);
    const service = keys.map(key => this.#service(key)).find(each => each !== undefined);
    if (service === undefined) {
      if (isExternal(said)) this.#skip(why, `${host} is outside of the cluster`);
      else if (scheme !== undefined || host.includes('.svc')) this.#skip(why, noService(keys[0] ?? host));
      return;
    }
    if (!isCertain && !(text.trim() === host && saysHost(name))) return;
    const usual = scheme === undefined ? undefined : USUAL_PORTS[scheme];
    this.#toService(from, service, port ?? usual ?? portBeside(name, others), why);
  }

  #service(key: Service['key']): Service | undefined {
    const found = this.#inventory.services.get(key);
    return found ?? (key === API_SERVER ? apiServerService(this.#inventory) : undefined);
  }

  #toService(from: GuessEnd, service: Service, asked: number | string | undefined, why: string): void {
    if (service.key === API_SERVER) {
      this.#toApi(from, why);
      return;
    }
    const led = this.#ledTo(service, asked);
    if (typeof led === 'string') this.#skip(why, `Service ${service.key} ${led}`);
    else for (const { to, protocol, port } of led) this.#add(from, to, protocol, port, why);
  }

  /** What is behind the Service; or, as the rest of a sentence, why that is not known. */
  #ledTo(service: Service, asked: number | string | undefined): readonly LedTo[] | string {
    if (service.type === 'ExternalName')
      return `is another name of ${service.externalName ?? 'a host'}, outside of the cluster`;
    if (service.selector === undefined) return 'has no selector';
    const behind = this.#membersBehind(service);
    if (behind.length === 0) return 'selects nobody of the manifests';
    const ports = portsOf(service, asked);
    if (ports.length === 0) return `has no port ${asked}`;
    const led = behind.flatMap(to =>
      ports.flatMap(each => {
        const port = targetOf(to, each);
        return port === undefined ? [] : [{ to, protocol: each.protocol, port }];
      }),
    );
    return led.length > 0 ? led : `leads to port "${ports[0]!.target}", which ${behind[0]!.id} does not have`;
  }

  #membersBehind(service: Service): readonly Member[] {
    return getOrMake(this.#behind, service, () => {
      const { namespace, selector = {} } = service;
      return [...this.members.values()].filter(
        ({ pod }) => pod.namespace === namespace && hasLabels(pod.labels, selector),
      );
    });
  }

  #entrances(): void {
    const { services, entrances, routeGrants } = this.#inventory;
    for (const service of services.values())
      if (service.type === 'LoadBalancer' || service.type === 'NodePort')
        this.#toService('anyone', service, undefined, `Service ${service.key} spec.type (${service.type})`);
    for (const entrance of entrances)
      for (const { from, how } of this.#clientsOf(entrance))
        for (const backend of entrance.backends) {
          const { field, service: key, port, targetPort } = backend;
          const why = `${entrance.object} ${field}`;
          const service = services.get(key);
          if (!isGranted(backend, routeGrants)) this.#skip(why, notGranted(key));
          else if (service === undefined) this.#skip(why, noService(key));
          else this.#toService(from, service, port ?? namedOnly(targetPort), `${why}${how}`);
        }
  }

  /** Anybody, where nobody knows the pods that serve it: it is open to outside. */
  #clientsOf(entrance: Entrance): readonly { readonly from: GuessEnd; readonly how: string }[] {
    const serving = this.#controllers.serving(entrance);
    if ('unknown' in serving) return [{ from: 'anyone', how: `; ${serving.unknown}` }];
    return serving.controllers.flatMap(controller => {
      const how = controller.isAssumed ? `; ${assumedText(controller)}` : '';
      const known = this.members.get(controller.name);
      const ends = known ? [known] : controller.places.map(place => this.#memberAt(controller.name, place));
      return ends.map(from => {
        const isOnNode = from === undefined || from.pod.hostNetwork;
        return isOnNode ? { from: 'anyone' as const, how: ON_NODE } : { from, how };
      });
    });
  }

  /** Pods of which there is no object: by their labels. Undefined for what is on the network of a node. */
  #memberAt(name: string, { unassigned }: ResolvedEndpoint): Member | undefined {
    const pod = unassigned?.pod;
    if (pod === undefined) return undefined;
    const member = { id: `controller ${name}`, name, text: pod.key, pod, selector: pod.labels };
    return getOrMake(this.members, member.id, () => member);
  }

  #monitor({ object, of, namespaces, selector, ports }: Monitor): void {
    const scrapers = [...this.members.values()].filter(({ pod }) => scrapes(pod.labels));
    if (scrapers.length === 0) return void this.#skip(object, 'there is no Prometheus among the manifests');
    const isMeant = (namespace: string, labels: Labels) =>
      (namespaces?.includes(namespace) ?? true) && matchesLabels(selector, labels);
    const services = this.#of('service').flatMap(({ key, labels }) => {
      const service = this.#inventory.services.get(key);
      return service !== undefined && isMeant(service.namespace, labels) ? [service] : [];
    });
    const pods = [...this.members.values()].filter(({ pod }) => isMeant(pod.namespace, pod.labels));
    for (const from of scrapers)
      for (const { field, port } of ports) {
        const why = `${object} ${field}`;
        if (of === 'services') for (const service of services) this.#toService(from, service, port, why);
        else
          for (const to of pods) {
            const number = typeof port === 'number' ? port : namedPort(to.pod, port, 'TCP');
            if (number !== undefined) this.#add(from, to, 'TCP', number, why);
          }
      }
  }

  #callersOfApi(): void {
    const speakers = this.#of('speaker');
    for (const { object, accounts } of this.#of('binding'))
      for (const speaker of speakers) {
        const from = this.members.get(speaker.object);
        if (from !== undefined && accounts.includes(speaker.account))
          this.#toApi(from, `${object} subjects (${speaker.account}, of ${speaker.object})`);
      }
  }

  #toApi(from: GuessEnd, why: string): void {
    const ports = new Set([...apiServerEndpoints(this.#inventory).values()].flat());
    if (ports.size === 0) this.#skip(why, API_UNKNOWN);
    for (const port of ports) this.#add(from, 'api server', 'TCP', port, why);
  }

  #add(from: GuessEnd, to: GuessEnd, protocol: Protocol, port: number, why: string): void {
    if (from === 'api server' && apiServerEndpoints(this.#inventory).size === 0)
      return void this.#skip(why, API_UNKNOWN);
    for (const end of [from, to])
      if (typeof end !== 'string' && end.pod.hostNetwork)
        return void this.#skip(
          why,
          `${end.id} is on the network of its node, where policy does not select it`,
        );
    const key = `${endText(from)} ${endText(to)} ${protocol} ${port}`;
    const guess = getOrMake(this.#found, key, () => ({ from, to, protocol, port, why: new Set<string>() }));
    guess.why.add(why);
  }
}

/** The values of a ConfigMap. */
interface Config {
  /** Those that may name hosts. */
  readonly naming: readonly SaidText[];
  readonly byName: ReadonlyMap<string, SaidText>;
  readonly plain: PlainTexts;
}

/** Values by their plain names. */
type PlainTexts = ReadonlyMap<string, string>;

function plainTexts(texts: readonly Pick<SaidText, 'name' | 'text'>[]): PlainTexts {
  return new Map(texts.map(({ name, text }) => [plainName(name), text]));
}

/** What a container takes of a ConfigMap: all of it, or one value by a name of its own. */
function takenFrom(
  config: Config | undefined,
  { field, key, only, name: own }: Speaker['configMaps'][number],
  object: string,
) {
  const one = only === undefined ? undefined : config?.byName.get(only);
  if (config === undefined || (only !== undefined && one === undefined)) return [];
  const texts = one === undefined ? config.naming : [{ ...one, name: own ?? one.name }];
  const why = (of: string) => `ConfigMap ${key} ${of}, by ${object} ${field}`;
  return [
    {
      naming: texts.map(text => ({ ...text, why: why(text.field) })),
      plain: one === undefined ? config.plain : plainTexts(texts),
    },
  ];
}

const ON_NODE = '; what serves it is on the network of a node';

const API_UNKNOWN = 'the endpoints of the API server are not known (--api-server 172.18.0.2:6443 names them)';

/** A Route of OpenShift may name the port of the pods; by number it could be taken for that of the Service. */
function namedOnly(port: number | string | undefined): string | undefined {
  return typeof port === 'string' ? port : undefined;
}

interface LedTo {
  readonly to: Member;
  readonly protocol: Protocol;
  readonly port: number;
}

interface Said extends Pick<SaidText, 'text' | 'name'> {
  /** All values of the pod; the last ones count first. */
  readonly said: readonly PlainTexts[];
  readonly why: string;
}

export function endText(end: GuessEnd): string {
  return typeof end === 'string' ? end : end.id;
}

function notGranted(key: string): string {
  return `no ReferenceGrant of its namespace lets the route lead to Service ${key}`;
}

function noService(key: string): string {
  return `there is no Service ${key} among the manifests`;
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '');
}

/** `DB_PORT` beside `DB_HOST`. */
function portBeside(name: string, said: readonly PlainTexts[]): number | undefined {
  const base = plainName(name).replace(/(?:hostname|host|address|addr|server|service|svc|endpoint)$/, '');
  const text = said.findLast(each => each.has(`${base}port`))?.get(`${base}port`) ?? '';
  return /^[1-9]\d{0,4}$/.test(text) ? Number(text) : undefined;
}

/** A client of a headless Service chooses the port by itself. */
function portsOf({ ports, headless }: Service, asked: number | string | undefined): readonly ServicePort[] {
  if (asked === undefined) return ports;
  const found = ports.filter(
    ({ port, name, target }) =>
      port === asked || name === asked || (typeof asked === 'string' && target === asked),
  );
  if (!headless || typeof asked !== 'number') return found;
  return [{ name: '', protocol: found[0]?.protocol ?? 'TCP', port: asked, target: asked }];
}

function targetOf(to: Member, { target, protocol }: ServicePort): number | undefined {
  return typeof target === 'number' ? target : namedPort(to.pod, target, protocol);
}

function scrapes(labels: Labels): boolean {
  return labels[NAME_LABEL] === 'prometheus' || labels.app === 'prometheus';
}
