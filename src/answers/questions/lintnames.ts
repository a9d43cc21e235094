/** Warnings about rules by name that can be read, but probably do not do what their author wants. */
import { type Cluster, isSelectable, namespaceOf } from '../../model/cluster.ts';
import { patternsOfRule } from '../../model/domainpeers.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { Policy } from '../../model/policy.ts';
import type { Problem, WarningCode } from '../../model/problem.ts';
import { matchPod } from '../../model/selector.ts';
import type { Service } from '../../model/service.ts';
import { topWorkloads } from '../../model/workloadof.ts';
import { FlowTextError } from '../../semantics/flowtext.ts';
import { answer } from './answer.ts';
import { workloadText } from './endpoint.ts';
import type { ClusterView } from './place.ts';

export function lintNames(cluster: Cluster, inventory: Inventory): readonly Problem[] {
  const mayAsk = dnsAsker(cluster, inventory);
  return [...cluster.policies.values()].flatMap(policy => [
    ...namesIn(policy).flatMap(named => [
      ...serviceName(policy, named, inventory),
      ...publicName(policy, named),
    ]),
    ...withoutDns(policy, cluster, inventory, mayAsk),
  ]);
}

interface Named {
  readonly pattern: string;
  readonly field: string;
}

function namesIn({ egress = [] }: Policy): readonly Named[] {
  return egress.flatMap(rule =>
    patternsOfRule(rule).map(pattern => ({ pattern, field: `spec.${rule.path}.to` })),
  );
}

function warning(
  code: WarningCode,
  policy: Policy,
  field: string,
  message: string,
  effect: string,
): readonly Problem[] {
  return [{ severity: 'warning', code, object: policy.id, field, message, effect }];
}

/** Names of Services. The cluster's domain is assumed to be cluster.local, because manifests do not have it. */
const SERVICE_NAME = /^(?:\*\.|(?<name>[^.]+)\.)?(?:(?<namespace>[^.]+)\.)?svc(?:\.cluster\.local)?$/;

/** Policy sees a packet after its translation, but DNS answers with the address before it. */
function serviceName(policy: Policy, { pattern, field }: Named, inventory: Inventory): readonly Problem[] {
  const { name, namespace } = SERVICE_NAME.exec(pattern)?.groups ?? {};
  if (!SERVICE_NAME.test(pattern)) return [];
  const service: Service | undefined = inventory.services.get(`${namespace}/${name}`);
  if (service?.headless) return [];
  const message = `allows ${pattern}, ${service === undefined ? 'a name of Services' : `the name of Service ${service.key}`}`;
  const effect =
    'it matches no traffic to a Service with a cluster address: policy sees the address of the pod behind it; name the pods instead (headless Services match)';
  return warning('service-name', policy, field, message, effect);
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

function publicName(policy: Policy, { pattern, field }: Named): readonly Problem[] {
  const kind = sharedName(pattern);
  if (kind === undefined) return [];
  const [code, words, effect] = SHARED_WORDS[kind];
  return warning(code, policy, field, `allows ${pattern}, ${words}`, effect);
}

/** With more pods the check of a folder would take minutes. */
const MOST_SOURCES = 100;

type Asker = (source: string) => boolean;

function withoutDns(
  policy: Policy,
  cluster: Cluster,
  inventory: Inventory,
  mayAsk: Asker,
): readonly Problem[] {
  const [first] = namesIn(policy);
  if (first === undefined) return [];
  const silent = subjectsOf(policy, cluster, inventory)
    .slice(0, MOST_SOURCES)
    .filter(source => !mayAsk(source));
  if (silent.length === 0) return [];
  const more = silent.length === 1 ? '' : ` and ${silent.length - 1} more`;
  const message = `allows ${first.pattern} to ${silent[0]}${more}, and no rule lets it ask the cluster's DNS (UDP 53)`;
  return warning('no-dns', policy, first.field, message, 'it receives no DNS answer, so no name matches');
}

/** Pods, and workloads by their templates where they have none, as ends of a question. */
function subjectsOf({ subject }: Policy, cluster: Cluster, inventory: Inventory): string[] {
  const isMeant = (pod: Parameters<typeof matchPod>[1]) =>
    matchPod(subject, pod, namespaceOf(cluster, pod.namespace)) === 'yes';
  const pods = [...cluster.pods.values()].filter(pod => isSelectable(pod) && isMeant(pod));
  const workloads = topWorkloads(inventory).filter(
    ({ hostNetwork, ...each }) => !hostNetwork && isMeant(each),
  );
  return [
    ...pods.map(({ key }) => key),
    ...workloads.map(({ kind, namespace, name }) => workloadText(kind, namespace, name)),
  ];
}

const DNS_PORT = 53;
/** The usual places of DNS: the Service's pods in most clusters, and a cache on the node. */
const USUAL = ['kube-system/k8s-app=kube-dns:53/UDP', '169.254.20.10:53/UDP'];

const OF_MANIFESTS = { knowsInventory: true, defaultNamespace: 'default', unknownPods: 'allow' } as const;

/** Whether policy allows the pod to reach any possible DNS server. Each server is asked about once. */
function dnsAsker(cluster: Cluster, inventory: Inventory): Asker {
  const services = [...inventory.services.values()].filter(({ ports }) =>
    ports.some(({ port, protocol }) => port === DNS_PORT && protocol === 'UDP'),
  );
  const view: ClusterView = { cluster, inventory, ...OF_MANIFESTS };
  const targets = [...services.map(({ key }) => `svc/${key}:53/UDP`), ...USUAL];
  const known = new Map<string, boolean>();
  return from => {
    const found = known.get(from) ?? targets.some(to => isAllowed(view, from, to));
    known.set(from, found);
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
