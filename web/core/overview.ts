/** Policies with whom they mean, pods that are not there yet, and the words of the cluster that the editor completes. */
import { coverageOf } from '../../src/answers/coverage/coverage.ts';
import { Candidates } from '../../src/answers/lint/candidates.ts';
import { exposureTexts } from '../../src/answers/reach/rows.ts';
import type { MatrixView } from '../../src/answers/reach/view.ts';
import type { LoadedCluster } from '../../src/inputs/files/load.ts';
import { getOrMake } from '../../src/lib/collections/getormake.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import { comparePolicies, type Policy, type Rule } from '../../src/model/policy.ts';
import { podSelectorText } from '../../src/model/selector.ts';
import { topWorkloads, workloadOf } from '../../src/model/workloadof.ts';
import { peerText, portText } from '../../src/semantics/reason.ts';
import type { Overview, PolicyView, Rule as RuleView, Vocabulary } from './protocol.ts';

export function overviewOf(loaded: LoadedCluster, view: MatrixView): Omit<Overview, 'ways' | 'wayNotes'> {
  const { cluster, inventory } = loaded;
  const means = whomOf(loaded);
  const all = [...cluster.policies.values(), ...cluster.audited.values()].toSorted(comparePolicies);
  const { workloads } = coverageOf(cluster, inventory, () => true);
  const exposures = exposureTexts(view);
  const isAlone = (each: (typeof workloads)[number]) =>
    each.ingress.by === undefined && each.egress.by === undefined;
  return {
    policies: TIERS.flatMap(tier => all.filter(policy => policy.tier === tier)).map(policy =>
      policyView(policy, means, loaded),
    ),
    withoutPolicy: workloads.filter(isAlone).map(({ workload }) => workload),
    exposures: exposures.slice(0, MOST_EXPOSURES),
    moreExposures: Math.max(0, exposures.length - MOST_EXPOSURES),
    vocabulary: vocabularyOf(loaded),
  };
}

/** More of them take longer to hand over than all else. */
const MOST_EXPOSURES = 200;

const TIERS = ['admin', 'networkpolicy', 'baseline'] as const;

type Whom = (selector: Policy['subject']) => readonly string[];

/** The workloads that a selector selects, by the names that the matrix has. */
function whomOf({ cluster, inventory }: LoadedCluster): Whom {
  const candidates = new Candidates(cluster, inventory);
  const workloads = new Map<string, string>();
  for (const pod of cluster.pods.values()) workloads.set(`Pod ${pod.key}`, workloadOf(inventory, pod).id);
  return selector =>
    [...new Set(candidates.selected(selector).map(({ id }) => workloads.get(id) ?? id))].sort();
}

function policyView(policy: Policy, whom: Whom, { placeOf }: LoadedCluster): PolicyView {
  const { id, kind, name, tier, order, audited, subject, ingress, egress } = policy;
  return {
    id,
    kind,
    name,
    tier,
    order,
    ...(audited && { audited }),
    subject: podSelectorText(subject),
    selects: whom(subject),
    ...(ingress && { ingress: ingress.map(rule => ruleView(rule, whom)) }),
    ...(egress && { egress: egress.map(rule => ruleView(rule, whom)) }),
    place: placeOf(id),
  };
}

function ruleView({ path, name, action, peers, ports }: Rule, whom: Whom): RuleView {
  const selectors =
    peers === 'any' ? [] : peers.flatMap(peer => (peer.kind === 'pods' ? [peer.selector] : []));
  return {
    path,
    ...(name && { name }),
    action,
    peers: peers === 'any' ? [peerText('any')] : peers.map(peerText),
    whom: [...new Set(selectors.flatMap(whom))].sort(),
    ports: ports === 'any' ? [portText('any')] : ports.map(portText),
  };
}

function vocabularyOf({ cluster, inventory }: LoadedCluster): Vocabulary {
  const pods = [...cluster.pods.values(), ...topWorkloads(inventory)];
  const ports = pods.flatMap(({ ports }) => ports.flatMap(({ name, port }) => [name, String(port)]));
  return {
    namespaces: [
      ...new Set([...cluster.namespaces.keys(), ...pods.map(({ namespace }) => namespace)]),
    ].sort(),
    podLabels: labelsOf(pods),
    namespaceLabels: labelsOf([...cluster.namespaces.values()]),
    ports: [...new Set([...ports, ...portsOfRules(cluster)])].filter(port => port !== '').sort(),
  };
}

function labelsOf(
  all: readonly { readonly labels: Readonly<Record<string, string>> }[],
): Vocabulary['podLabels'] {
  const found = new Map<string, Set<string>>();
  for (const { labels } of all)
    for (const [key, value] of Object.entries(labels)) getOrMake(found, key, () => new Set()).add(value);
  return Object.fromEntries([...found].map(([key, values]) => [key, [...values].sort()]));
}

function portsOfRules({ policies }: Cluster): string[] {
  const rules = [...policies.values()].flatMap(({ ingress = [], egress = [] }) => [...ingress, ...egress]);
  return rules.flatMap(({ ports }) =>
    ports === 'any'
      ? []
      : ports.flatMap(port =>
          port.kind === 'range' ? String(port.first) : port.kind === 'named' ? port.name : [],
        ),
  );
}
