/** Policies of which each status of the union has become something, made by the sources and the admission that really make it. */
import { Admission } from '../../../src/agent/admission/admission.ts';
import { readManifest } from '../../../src/inputs/files/manifest.ts';
import { NodesNotSynced } from '../../../src/inputs/kube/watch/clusterfeed.ts';
import { TerminatingNamespaces } from '../../../src/inputs/kube/watch/terminatingnamespaces.ts';
import type { ClusterEvent } from '../../../src/model/cluster.ts';
import { NamespaceBudget } from '../../../src/model/namespacebudget.ts';
import type { Policy, PolicyId } from '../../../src/model/policy.ts';
import type { LastingStatus, WaitingPolicy } from '../../../src/model/policystatus.ts';
import { allowPort, changeOf, ingressPolicy, podEvent, policyEvent, tenantPod } from './tenants.ts';

const large = (name: `${string}/${string}`, ports: number) =>
  ingressPolicy(
    name,
    Array.from({ length: ports }, (_, n) => allowPort(n + 1)),
  );

function read(name: string, spec: string, annotations = '{}'): readonly ClusterEvent[] {
  const text = `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${name}, namespace: a, annotations: ${annotations} }, spec: ${spec} }`;
  return readManifest(text, 'test').objects!.flatMap(({ event }) => event ?? []);
}

const DENIES_NODES: Policy = {
  id: 'ClusterNetworkPolicy closed',
  kind: 'ClusterNetworkPolicy',
  name: 'closed',
  tier: 'admin',
  order: 1,
  subject: { namespaces: { kind: 'name', name: 'a' }, pods: { requirements: [] } },
  egress: [
    {
      path: 'egress[0]',
      action: 'deny',
      peers: [{ kind: 'nodes', selector: { requirements: [] } }],
      ports: 'any',
    },
  ],
};

function held(): readonly ClusterEvent[] {
  const terminating = new TerminatingNamespaces();
  const policy = policyEvent(ingressPolicy('ending/held', [allowPort(80)]));
  terminating.pass([podEvent(tenantPod('ending', 1)), policy]);
  terminating.setTerminating('ending', true);
  return terminating.pass([{ type: 'policy', key: policy.value.id }]);
}

/** Policies in the form that sources deliver. */
export function policiesAsRead(): readonly Policy[] {
  const events = [
    ...new NamespaceBudget({ policies: 0, entries: 0, selectors: 0 }).pass([
      policyEvent(ingressPolicy('a/over-budget', [])),
    ]),
    ...held(),
    ...new NodesNotSynced().pass([policyEvent(DENIES_NODES)]),
    ...read('uncertain', '{ podSelector: { matchExpressions: [{ key: x, operator: Like }] } }'),
    ...read('audited', '{ podSelector: {} }', '{ sluice.dev/enforcement: audit }'),
  ];
  return events.flatMap(event => (event.type === 'policy' && event.value ? [event.value] : []));
}

/** One policy for each status, which its name is; of those that wait the first has waited since 0. */
export function everyStatus(): { waiting: readonly WaitingPolicy[]; lasting: readonly LastingStatus[] } {
  const admission = new Admission();
  const [edited, suspected, other] = [
    large('a/pending', 500),
    large('a/suspected', 1),
    large('a/suspected-too', 1),
  ];
  const policies = new Map<PolicyId, Policy>([[edited.id, edited]]);
  const all = [
    large('a/pending', 400),
    large('a/isolating', 400),
    suspected,
    other,
    large('a/fine', 2),
    ...policiesAsRead(),
  ];
  for (const policy of all) admission.enqueue(changeOf(policy), policies.get(policy.id), 0);
  for (const { id, value } of admission.take(policies, 0, false, () => false)) policies.set(id, value!);
  admission.refused({ reason: 'EINVAL', named: [suspected.id, other.id] }, policies, 0);
  admission.committed(policies, 0, 0);
  admission.flushed([], [large('a/quarantined', 3)], policies, 0);
  return { waiting: admission.waitingStatuses(), lasting: admission.lastingStatuses() };
}
