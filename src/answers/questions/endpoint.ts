/**
 * The ends of a connection as people name them:
 *
 *   end    = host [ "@4" | "@6" ] [ ":" port ] [ "/" protocol ]      only a destination has port and protocol
 *   host   = [ namespace "/" ] pod                            or the one workload of that name, or the Service
 *          | [ namespace "/" ] kind "/" name        deploy/web, shop/sts/db, svc/api, node/worker-1, shop/rollout/web
 *          | "svc/" name "." namespace              svc/kubernetes.default: the API server
 *          | [ namespace "/" ] label { "," label }  shop/app=web,tier=front: a pod that is not there yet
 *          | address | "[" address "]" | "internet" | DNS name
 *
 * A kind may be written as kubectl prints it (deployment.apps/web), and a DNS name may be one of this cluster: of a
 * Service (api.shop.svc), of a pod behind one (db-0.db.shop.svc), of an address (10-0-0-7.shop.pod).
 */
import { type Address, type Family, familyOf, parseAddress } from '../../model/address.ts';
import { endsInNumber, MOST_NAME } from '../../model/domainname.ts';
import type { Labels } from '../../model/labels.ts';
import type { ServiceKey } from '../../model/service.ts';
import { whyUnjudged } from '../../model/unjudged.ts';
import type { WorkloadKind } from '../../model/workload.ts';
import { FlowTextError } from '../../semantics/flowtext.ts';

interface InNamespace {
  /** Absent: the one that the question is asked in. */
  readonly namespace?: string;
}

export interface ServiceName extends InNamespace {
  readonly kind: 'service';
  readonly name: string;
  /** The pod behind the Service that the name means; absent: any of its endpoints. */
  readonly endpoint?: string;
}

export type EndpointName =
  | (InNamespace & { readonly kind: 'pod'; readonly name: string })
  | (InNamespace & { readonly kind: 'workload'; readonly workload: WorkloadKind; readonly name: string })
  | ServiceName
  | (InNamespace & { readonly kind: 'labels'; readonly labels: Labels })
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'address'; readonly address: Address }
  | { readonly kind: 'internet' }
  | { readonly kind: 'domain'; readonly name: string };

export interface NamedEndpoint {
  readonly text: string;
  readonly name: EndpointName;
  /** The address family, if the text names one. */
  readonly family?: Family;
  readonly port?: string;
  readonly protocol?: string;
}

/** Throws FlowTextError. */
export function parseEndpoint(text: string): NamedEndpoint {
  const literal = V4.exec(text) ?? BRACKETED.exec(text) ?? V6.exec(text);
  return literal === null ? parseNamed(text) : parseLiteral(text, literal.groups!);
}

const PORT = '(?::(?<port>[^:/]*))?';
const PROTOCOL = '(?:/(?<protocol>[^/]*))?';
const V4 = new RegExp(`^(?<address>\\d+(?:\\.\\d+){3})${PORT}${PROTOCOL}$`);
const BRACKETED = new RegExp(`^\\[(?<address>[^\\]]*)\\]${PORT}${PROTOCOL}$`);
const V6 = new RegExp(`^(?<address>[^/=]*:[^/=]*:[^/=]*)${PROTOCOL}$`);
const WITH_PORT = /^(?<host>[^:@]+)(?:@(?<family>[46]))?:(?<port>[^:/]*)(?:\/(?<protocol>[^/]*))?$/;
const WITHOUT_PORT =
  /^(?<host>[^:@]+?)(?:@(?<family>[46]))?(?:\/(?<protocol>tcp|udp|sctp|icmp|icmpv6|(?<=\/[^/]+\/)\d+))?$/i;

type Groups = Readonly<Record<string, string | undefined>>;

function parseLiteral(text: string, groups: Groups): NamedEndpoint {
  const address = parseAddress(groups.address!);
  if (address === undefined) throw new FlowTextError(`"${text}": "${groups.address}" is not an address`);
  const unjudged = whyUnjudged(address);
  if (unjudged !== undefined) throw new FlowTextError(`"${text}": ${unjudged}`);
  return { ...tail(text, groups), name: { kind: 'address', address }, family: familyOf(address) };
}

function parseNamed(text: string): NamedEndpoint {
  const { groups } = WITH_PORT.exec(text) ?? WITHOUT_PORT.exec(text) ?? {};
  const name = groups && hostName(groups.host!);
  if (name === undefined) throw new FlowTextError(`"${text}" is ${WHAT_IT_MAY_BE}`);
  const { family } = groups!;
  return { ...tail(text, groups!), name, ...(family && { family: family === '4' ? 'ip' : 'ip6' }) };
}

const WHAT_IT_MAY_BE =
  'no pod, workload, Service, node, address, DNS name or labels: see sluice explain --help';

function tail(text: string, { port, protocol }: Groups) {
  return { text, ...(port !== undefined && { port }), ...(protocol !== undefined && { protocol }) };
}

function hostName(host: string): EndpointName | undefined {
  if (host === 'internet') return { kind: 'internet' };
  if (host.includes('=')) return labelsName(host);
  const parts = host.split('/');
  if (parts.some(part => part === '')) return undefined;
  if (parts.length === 1) return plainName(host);
  return parts.length <= 3 ? pathName(parts) : undefined;
}

const SERVICE_DOMAIN = /^(?:(?<endpoint>[^.]+)\.)?(?<name>[^.]+)\.(?<namespace>[^.]+)\.svc(?:\..*)?$/i;
const POD_DOMAIN = /^(?<dashed>[\da-f-]+)\.[^.]+\.pod(?:\..*)?$/i;

/** A name with a dot is one of the DNS: a pod of such a name needs its namespace. */
function plainName(host: string): EndpointName {
  if (!host.includes('.')) return { kind: 'pod', name: host };
  const address = dashedAddress(POD_DOMAIN.exec(host)?.groups?.dashed ?? '');
  if (address !== undefined) return { kind: 'address', address };
  return serviceName(SERVICE_DOMAIN.exec(host.toLowerCase())) ?? domainName(host);
}

function dashedAddress(text: string): Address | undefined {
  return parseAddress(text.replaceAll('-', '.')) ?? parseAddress(text.replaceAll('-', ':'));
}

function serviceName(match: RegExpExecArray | null): ServiceName | undefined {
  const { endpoint, name, namespace } = match?.groups ?? {};
  if (name === undefined) return undefined;
  return { kind: 'service', name, namespace: namespace!, ...(endpoint !== undefined && { endpoint }) };
}

/** `svc/api.shop`: no Service has a dot in its name. */
const DOTTED = /^(?<name>[^.]+)\.(?<namespace>[^.]+)(?:\.svc(?:\..*)?)?$/;

const SHORT_DOMAIN = /^(?:(?<endpoint>[^.]+)\.)?(?<name>[^.]+)\.(?<namespace>[^.]+)$/;

/**
 * The Service that `api.shop` or the pod that `db-0.db.shop` names in a pod, whose resolver first appends
 * svc.cluster.local.
 */
export function shortServiceName(domain: string): ServiceName | undefined {
  return serviceName(SHORT_DOMAIN.exec(domain));
}

/** A host name in lower case and without the last dot, as policy compares it (C38). */
function domainName(host: string): EndpointName {
  const name = host.toLowerCase().replace(/\.$/, '');
  const ascii = isAscii(name) ? name : inAscii(name);
  if (ascii !== name && ascii !== '')
    throw new FlowTextError(`"${host}": in DNS, and so in policies, this name is written ${ascii}`);
  if (name.startsWith('*.')) throw new FlowTextError(`"${host}": ask for one name, as www${name.slice(1)}`);
  if (name.length > MOST_NAME || endsInNumber(name) || !name.split('.').every(label => LABEL.test(label)))
    throw new FlowTextError(`"${host}" is no name of the DNS, and no address`);
  return { kind: 'domain', name };
}

/** Letters of the DNS' own are any; those that no name of a policy can have need no answer. */
const LABEL = /^[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?$/;
const isAscii = (text: string) => [...text].every(letter => letter.codePointAt(0)! < 128);

/** Empty where it is none. */
function inAscii(name: string): string {
  try {
    return new URL(`http://${name}`).hostname;
  } catch {
    return '';
  }
}

/**
 * `kind/name`, `namespace/kind/name`, `kind/namespace/name`, `namespace/pod`. A kind that Kubernetes does not have is one
 * between two names; whether there are workloads of it is for places.ts to say.
 */
function pathName(parts: readonly string[]): EndpointName | undefined {
  const [a = '', b = '', c] = parts;
  const [first, second] = [kindOf(a), kindOf(b)];
  if (c === undefined) return first === undefined ? podName(a, b) : kindName(first, b);
  if (second !== undefined) return kindName(second, c, a);
  return first === undefined ? kindName(wordOf(b), c, a) : kindName(first, c, b);
}

function wordOf(kind: string): string {
  return kind.toLowerCase().replace(/\..*/, '');
}

/** Whether people name a kind so: by itself, in the plural, or by its short name. */
export function isNameOfKind(word: string, kind: string): boolean {
  const [asked, known] = [wordOf(word), kind.toLowerCase()];
  return [known, `${known}s`, SHORT[kind]].includes(asked);
}

/** No namespace has a capital letter or a dot: `Deployment` and `deployment.apps` are kinds. */
function kindOf(word: string): NamedKind | undefined {
  return KINDS[word.toLowerCase().replace(GROUP, '')];
}

const GROUP = /\.(?:v\d\w*\.)?(?:apps|batch)$/;

function podName(namespace: string, name: string): EndpointName {
  return { kind: 'pod', namespace, name };
}

type NamedKind = WorkloadKind | 'Pod' | 'Service' | 'Node';

function kindName(kind: NamedKind, name: string, namespace?: string): EndpointName {
  const where = namespace === undefined ? {} : { namespace };
  if (kind === 'Node') return { kind: 'node', name };
  if (kind === 'Pod') return { kind: 'pod', name, ...where };
  if (kind === 'Service')
    return serviceName(namespace ? null : DOTTED.exec(name)) ?? { kind: 'service', name, ...where };
  return { kind: 'workload', workload: kind, name, ...where };
}

/** kubectl's names of the kinds, short, singular and plural. */
const KINDS: Readonly<Record<string, NamedKind | undefined>> = Object.assign(
  Object.create(null),
  ...(
    [
      ['Pod', 'po', 'pod', 'pods'],
      ['Service', 'svc', 'service', 'services'],
      ['Node', 'no', 'node', 'nodes'],
      ['Deployment', 'deploy', 'deployment', 'deployments'],
      ['StatefulSet', 'sts', 'statefulset', 'statefulsets'],
      ['DaemonSet', 'ds', 'daemonset', 'daemonsets'],
      ['ReplicaSet', 'rs', 'replicaset', 'replicasets'],
      ['ReplicationController', 'rc', 'replicationcontroller', 'replicationcontrollers'],
      ['Job', 'job', 'jobs'],
      ['CronJob', 'cj', 'cronjob', 'cronjobs'],
    ] as const
  ).map(([kind, ...names]) => Object.fromEntries(names.map(name => [name, kind]))),
);

const SHORT: Readonly<Record<WorkloadKind, string | undefined>> = {
  Deployment: 'deploy',
  StatefulSet: 'sts',
  DaemonSet: 'ds',
  ReplicaSet: 'rs',
  ReplicationController: 'rc',
  Job: 'job',
  CronJob: 'cronjob',
  DeploymentConfig: 'dc',
  Service: 'ksvc', // of Knative: those of Kubernetes are no workloads
  VirtualMachine: 'vm',
};

/** `shop/deploy/web`: reads back as the same workload. */
export function workloadText(kind: WorkloadKind, namespace: string, name: string): `${string}/${string}` {
  return `${namespace}/${SHORT[kind] ?? kind.toLowerCase()}/${name}`;
}

/** `svc/api.shop`, for `shop/api`. */
export function serviceText(key: ServiceKey): string {
  return `svc/${key.split('/').reverse().join('.')}`;
}

const LABELS = /^(?:(?<namespace>[^/=.,]+)\/)?(?<labels>[^=,]+=[^=,]*(?:,[^=,]+=[^=,]*)*)$/;

function labelsName(host: string): EndpointName | undefined {
  const { namespace, labels } = LABELS.exec(host)?.groups ?? {};
  if (labels === undefined) return undefined;
  const entries = labels.split(',').map(label => label.split('=') as [string, string]);
  return { kind: 'labels', labels: Object.fromEntries(entries), ...(namespace && { namespace }) };
}
