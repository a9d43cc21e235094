/** Warnings about names: rules by name that probably do not do what their author wants, and DNS that is denied. */
import { addressBits } from '../../model/address.ts';
import { NAMESPACE_NAME_LABEL } from '../../model/cluster.ts';
import { patternsOfRule } from '../../model/domainpeers.ts';
import type { Peer, Policy, PortMatch, Rule } from '../../model/policy.ts';
import type { Problem, WarningCode } from '../../model/problem.ts';
import { type PodSelector, selectorText } from '../../model/selector.ts';
import type { Service } from '../../model/service.ts';
import { FlowTextError } from '../../semantics/flowtext.ts';
import { answer } from '../questions/answer.ts';
import { workloadText } from '../questions/endpoint.ts';
import type { ClusterView } from '../questions/place.ts';
import type { Candidate } from './candidates.ts';
import { type Facts, MOST_OF_POLICY, peersField, podSelectorsOf, podsOf, warning } from './facts.ts';
import { targetOf } from './ports.ts';

interface Named {
  readonly pattern: string;
  readonly field: string;
}

function namesIn({ egress = [] }: Policy): readonly Named[] {
  return egress.flatMap(rule =>
    patternsOfRule(rule).map(pattern => ({ pattern, field: peersField('egress', rule) })),
  );
}

/** Names of Services. The cluster's domain is assumed to be cluster.local, because manifests do not have it. */
const SERVICE_NAME = /^(?:\*\.|(?<name>[^.]+)\.)?(?:(?<namespace>[^.]+)\.)?svc(?:\.cluster\.local)?$/;

/** Policy sees a packet after its translation, but DNS answers with the address before it. */
export function serviceName(policy: Policy, { inventory }: Facts): readonly Problem[] {
  return namesIn(policy).flatMap(({ pattern, field }) => {
    const { name, namespace } = SERVICE_NAME.exec(pattern)?.groups ?? {};
    if (!SERVICE_NAME.test(pattern)) return [];
    const service: Service | undefined = inventory.services.get(`${namespace}/${name}`);
    if (service?.headless) return [];
    const message = `allows ${pattern}, ${service === undefined ? 'a name of Services' : `the name of Service ${service.key}`}`;
    const effect =
      'it matches no traffic to a Service with a cluster address: policy sees the address of the pod behind it; name the pods instead (headless Services match)';
    return [warning('service-name', policy.id, field, message, effect)];
  });
}

const SHARED_WORDS: Record<SharedName, readonly [WarningCode, string, string]> = {
  'any-address': [
    'public-wildcard',
    'below which anyone gets a name with an address of their choice',
    'a program in the pod can open any address by looking up its name',
  ],
  customers: [
    'public-wildcard',
    'below which every customer of it gets a name',
    'the pod reaches every host that anyone puts there; name only your own',
  ],
  registry: [
    'public-wildcard',
    'below which anyone may register a name',
    'the pod reaches every host that anyone puts there; name only those that you mean',
  ],
  'shared-address': [
    'shared-address',
    'whose addresses serve many others too',
    'the address is allowed, and so everything else that it serves',
  ],
};

/** public-wildcard and shared-address. */
export function publicName(policy: Policy): readonly Problem[] {
  return namesIn(policy).flatMap(({ pattern, field }) => {
    const kind = sharedName(pattern);
    if (kind === undefined) return [];
    const [code, words, effect] = SHARED_WORDS[kind];
    return [warning(code, policy.id, field, `allows ${pattern}, ${words}`, effect)];
  });
}

type Asker = (pod: Candidate) => boolean;

/** With more pods the check of a folder would take minutes. */
const MOST_SOURCES = 100;

/** What pods reach by name, and cannot because they may not ask DNS. Each pod is warned of once. */
export function noDns(facts: Facts): readonly Problem[] {
  const mayAsk = dnsAsker(facts);
  const asksSomebody = openersOf(facts);
  const known = new Set<string>();
  return facts.policies.flatMap(policy => {
    const need = needOf(policy, facts);
    if (need === undefined) return [];
    const silent = facts.candidates
      .selected(policy.subject)
      .slice(0, MOST_SOURCES)
      .filter(pod => (need.isService ? !known.has(pod.id) && !asksSomebody(pod) : !mayAsk(pod)));
    for (const { id } of silent) known.add(id);
    if (silent.length === 0) return [];
    const problem = withoutDns(policy, need, silent);
    const isPlain = need.isService && isInKubeSystem(facts);
    return [isPlain ? { ...problem, fix: { field: need.field, append: TO_DNS } } : problem];
  });
}

interface Need {
  /** `api.example.org`, `Service shop/api`. */
  readonly what: string;
  readonly field: string;
  /** Reached by the name of a Service or host that the policy does not name. */
  readonly isService: boolean;
}

function needOf(policy: Policy, facts: Facts): Need | undefined {
  const [named] = namesIn(policy);
  if (named !== undefined) return { what: named.pattern, field: named.field, isService: false };
  if (policy.kind !== 'NetworkPolicy') return undefined;
  for (const rule of policy.egress ?? []) {
    const what = reachedByName(rule, facts);
    if (what !== undefined) return { what, field: 'spec.egress', isService: true };
  }
  return undefined;
}

/** Ports by name are those of pods, so a rule that has no others reaches no host outside (N30). */
function reachedByName(rule: Rule, facts: Facts): string | undefined {
  const names = portNames(rule);
  if (rule.peers === 'any' || rule.peers.some(isEverywhere))
    return names === undefined ? 'hosts outside' : serviceOfPort(names, facts);
  for (const selector of podSelectorsOf(rule))
    for (const pod of facts.candidates.selected(selector))
      for (const { key } of facts.services.get(pod)) return `Service ${key}`;
  return undefined;
}

/** Undefined where the rule has other ports too. */
function portNames({ ports }: Rule): ReadonlySet<number | string> | undefined {
  if (ports === 'any') return undefined;
  const names = ports.flatMap(port => (port.kind === 'named' ? [port.name] : []));
  return names.length === ports.length ? new Set(names) : undefined;
}

/** A Service that leads to the ports that pods call so. */
function serviceOfPort(names: ReadonlySet<number | string>, { inventory }: Facts): string | undefined {
  for (const { key, ports } of inventory.services.values())
    if (ports.some(({ target }) => names.has(target))) return `Service ${key}`;
  return undefined;
}

function isEverywhere(peer: Peer): boolean {
  return peer.kind === 'network' && peer.cidr.prefix === 0;
}

function isWide(peer: Peer): boolean {
  return peer.kind === 'network' && peer.cidr.prefix < addressBits(peer.cidr.family);
}

function withoutDns(policy: Policy, { what, field, isService }: Need, silent: readonly Candidate[]): Problem {
  const more = silent.length === 1 ? '' : ` and ${silent.length - 1} more`;
  const ports = isService ? 'UDP and TCP 53' : 'UDP 53';
  const message = `lets ${sourceText(silent[0]!)}${more} reach ${what}, and no rule lets it ask the cluster's DNS (${ports})`;
  const effect = isService
    ? 'no name of a Service or host resolves: allow port 53 to the pods of DNS'
    : 'it receives no DNS answer, so no name matches';
  return warning('no-dns', policy.id, field, message, effect);
}

const IN_KUBE_SYSTEM = { matchLabels: { [NAMESPACE_NAME_LABEL]: 'kube-system' } };

/** Names of the Service of DNS, in Kubernetes and in distributions of it. */
const DNS_SERVICES = ['kube-dns', 'coredns', 'rke2-coredns-rke2-coredns', 'dns-default'];

/** Whether nothing says that DNS is elsewhere than pods `k8s-app=kube-dns` of kube-system that listen on port 53. */
function isInKubeSystem({ inventory, candidates }: Facts): boolean {
  const known = [...inventory.services.values()].filter(({ name }) => DNS_SERVICES.includes(name));
  return known.every(service => {
    const pods = podsOf(service, candidates);
    const targets = service.ports
      .filter(({ port }) => port === DNS_PORT)
      .flatMap(port => pods.flatMap(pod => targetOf(port, pod) ?? []));
    const isUsual = service.namespace === 'kube-system' && service.selector?.['k8s-app'] === 'kube-dns';
    return isUsual && targets.every(target => target === DNS_PORT);
  });
}

/** A rule of a NetworkPolicy. */
const TO_DNS = {
  to: [{ namespaceSelector: IN_KUBE_SYSTEM, podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }],
  ports: [
    { port: 53, protocol: 'UDP' },
    { port: 53, protocol: 'TCP' },
  ],
};

/** As an end of a question. */
function sourceText({ id }: Candidate): string {
  const [kind = '', key = ''] = id.split(' ');
  const [namespace = '', name = ''] = key.split('/');
  return kind === 'Pod' ? key : workloadText(kind, namespace, name);
}

/** Usual ports of DNS servers: of their Services, and of the pods behind these. */
const DNS_PORTS = [53, 1053, 5353, 8053, 9053];

/** Whether some rule lets a pod out to DNS: whoever is meant may be a server of which nothing is known. */
function openersOf({ policies, candidates, inventory }: Facts): Asker {
  const dns = [...inventory.services.values()].filter(({ ports }) =>
    ports.some(({ port }) => port === DNS_PORT),
  );
  const servers = [...USUAL_SERVERS, ...dns.flatMap(service => podsOf(service, candidates))];
  const isServer = (peer: Peer) =>
    peer.kind === 'pods' && servers.some(server => candidates.selects(peer.selector, server));
  const isForDns = ({ action, peers, ports }: Rule) =>
    action === 'accept' &&
    (ports === 'any'
      ? peers === 'any' || peers.some(peer => isWide(peer) || isServer(peer))
      : ports.some(isDnsPort));
  const openers = policies.filter(({ egress = [] }) => egress.some(isForDns));
  return pod => openers.some(({ subject }) => candidates.selects(subject, pod));
}

/** DNS of kubeadm and most others, and of OpenShift. */
const USUAL_SERVERS = [
  { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } },
  { namespace: 'openshift-dns', labels: { 'dns.operator.openshift.io/daemonset-dns': 'default' } },
];

function isDnsPort(port: PortMatch): boolean {
  if (port.kind === 'named') return port.name.includes('dns');
  return port.kind === 'protocol' || DNS_PORTS.some(each => port.first <= each && each <= port.last);
}

const DNS_PORT = 53;
/** The usual places of DNS: the Service's pods in most clusters, and a cache on the node. */
const USUAL = ['kube-system/k8s-app=kube-dns:53/UDP', '169.254.20.10:53/UDP'];

const OF_MANIFESTS = { knowsInventory: true, defaultNamespace: 'default', unknownPods: 'allow' } as const;

/** Whether policy allows the pod to reach any possible DNS server. Pods with the same labels are asked about once. */
function dnsAsker({ cluster, inventory }: Facts): Asker {
  const services = [...inventory.services.values()].filter(({ ports }) =>
    ports.some(({ port, protocol }) => port === DNS_PORT && protocol === 'UDP'),
  );
  const view: ClusterView = { cluster, inventory, ...OF_MANIFESTS };
  const targets = [...services.map(({ key }) => `svc/${key}:53/UDP`), ...USUAL];
  const known = new Map<string, boolean>();
  return pod => {
    const key = JSON.stringify([pod.namespace, pod.labels]);
    const found = known.get(key) ?? targets.some(to => isAllowed(view, sourceText(pod), to));
    known.set(key, found);
    return found;
  };
}

/** Whether the pod's own policies allow it; those of the resolver are not considered. */
function isAllowed(view: ClusterView, from: string, to: string): boolean {
  try {
    return answer(view, { from, to }).cases.some(({ verdict }) => verdict.egress.verdict === 'allow');
  } catch (error) {
    if (error instanceof FlowTextError) return false;
    throw error;
  }
}

/** Labels that pods of DNS have, whatever their key is. */
const OF_DNS = ['kube-dns', 'coredns', 'core-dns', 'node-local-dns'];

/** DNS by its label alone: whoever may create a pod somewhere can give it the label, and answer. */
export function dnsAnyone({ egress = [], id, kind }: Policy, facts: Facts): readonly Problem[] {
  const found: Problem[] = [];
  const isPlain = kind === 'NetworkPolicy' && isInKubeSystem(facts);
  for (const rule of egress)
    for (const [at, peer] of (rule.peers === 'any' ? [] : rule.peers).entries()) {
      if (rule.action !== 'accept' || peer.kind !== 'pods' || !isDnsAnywhere(peer.selector)) continue;
      if (found.length === MOST_OF_POLICY) return found;
      const message = `lets pods ${selectorText(peer.selector.pods)} of every namespace answer`;
      const effect = `whoever can give a pod this label hears what is asked, and answers: add namespaceSelector ${NAMESPACE_NAME_LABEL}: kube-system`;
      const problem = warning('dns-anyone', id, `${peersField('egress', rule)}[${at}]`, message, effect);
      const fix = { field: `${problem.field}.namespaceSelector`, set: IN_KUBE_SYSTEM };
      found.push(isPlain ? { ...problem, fix } : problem);
    }
  return found;
}

function isDnsAnywhere({ namespaces, pods }: PodSelector): boolean {
  if (namespaces.kind === 'name' || namespaces.selector.requirements.length > 0) return false;
  return pods.requirements.some(
    ({ operator, values }) => operator === 'In' && values.some(value => OF_DNS.includes(value)),
  );
}

/**
 * Domains below which anyone can register a name. It is a short list of those seen in policies, not a public suffix
 * list, which changes every week.
 */

/** Domains in which the name itself, or anyone who registers it, decides the address. */
const OF_ANY_ADDRESS = ['duckdns.org', 'dyndns.org', 'nip.io', 'no-ip.org', 'sslip.io', 'xip.io'];

/** With CoreDNS as kubeadm configures it (`pods insecure`), `10-0-0-1.shop.pod.cluster.local` is 10.0.0.1. */
const OF_PODS = /^(?:(?:[^.]+\.)?pod\.)?cluster\.local$/;

/** Hosting services, whose customers get a name and decide what it serves. */
const OF_CUSTOMERS = [
  'amazonaws.com',
  'appspot.com',
  'azurewebsites.net',
  'blob.core.windows.net',
  'cloudapp.azure.com',
  'digitaloceanspaces.com',
  'firebaseapp.com',
  'fly.dev',
  'github.io',
  'gitlab.io',
  'herokuapp.com',
  'netlify.app',
  'ngrok.io',
  'onrender.com',
  'pages.dev',
  'run.app',
  's3.amazonaws.com',
  'trycloudflare.com',
  'vercel.app',
  'web.app',
  'workers.dev',
];

/** Registries that sell names below two labels. */
const OF_REGISTRIES = [
  'ac.uk',
  'co.in',
  'co.jp',
  'co.kr',
  'co.nz',
  'co.uk',
  'co.za',
  'com.au',
  'com.br',
  'com.cn',
  'com.mx',
  'com.sg',
  'com.tr',
  'com.tw',
  'net.au',
  'org.uk',
];

/** Names that share their addresses with many other customers. */
const SHARED = [
  'akamaiedge.net',
  'akamaized.net',
  'azureedge.net',
  'b-cdn.net',
  'cdn.cloudflare.net',
  'cloudfront.net',
  'edgekey.net',
  'edgesuite.net',
  'fastly.net',
  'fastlylb.net',
  'github.io',
  'pages.dev',
  'workers.dev',
];

type SharedName = 'any-address' | 'customers' | 'registry' | 'shared-address';

/** The shared domain to which a pattern of `domainNames` belongs; undefined if it belongs to none. */
function sharedName(pattern: string): SharedName | undefined {
  const below = pattern.startsWith('*.') ? pattern.slice(2) : undefined;
  if (below !== undefined && (OF_ANY_ADDRESS.includes(below) || OF_PODS.test(below))) return 'any-address';
  if (below !== undefined && OF_CUSTOMERS.includes(below)) return 'customers';
  if (below !== undefined && OF_REGISTRIES.includes(below)) return 'registry';
  const name = below ?? pattern;
  return SHARED.some(suffix => name === suffix || name.endsWith(`.${suffix}`)) ? 'shared-address' : undefined;
}
