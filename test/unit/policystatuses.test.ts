/** Each status that a policy may have is seen by everybody who asks. */
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { StatusKeeper } from '../../src/agent/status.ts';
import type { Inspection } from '../../src/answers/readback/inspect.ts';
import type { StatusResponse } from '../../src/api/rpc/messages.ts';
import { makeMetrics } from '../../src/api/rpc/metrics.ts';
import { statusMessage } from '../../src/api/rpc/sluice.ts';
import { inspectionLines, inspectionObject, statusesAbout } from '../../src/cli/inspect.ts';
import { policyLines, statusesOf } from '../../src/cli/policylines.ts';
import { statusLines } from '../../src/cli/status.ts';
import { ClusterState } from '../../src/model/cluster.ts';
import { POLICY_STATUSES } from '../../src/model/policystatus.ts';
import { wrapped } from '../../src/terminal/hang.ts';
import { HEALTHY_HOST } from '../support/agent/healthyhost.ts';
import { everyStatus, policiesAsRead } from '../support/agent/statuses.ts';
import { testView } from '../support/agent/view.ts';
import { wrongWith } from '../support/questions/schema.ts';

/** `over-budget NetworkPolicy a/over-budget`; there is one policy of each status, but of those that are suspected. */
const EXPECTED = [
  'pending NetworkPolicy a/pending',
  'isolating NetworkPolicy a/isolating',
  'suspected NetworkPolicy a/suspected',
  'suspected NetworkPolicy a/suspected-too',
  'quarantined NetworkPolicy a/quarantined',
  'over-budget NetworkPolicy a/over-budget',
  'held NetworkPolicy ending/held',
  'closed ClusterNetworkPolicy closed',
  'uncertain NetworkPolicy a/uncertain',
  'audited NetworkPolicy a/audited',
];

const INSPECTION: Inspection = {
  installed: true,
  pods: [],
  unknownPods: 'allow',
  totals: { chains: 1, sets: 0, elements: 0 },
};

function viewOfAll() {
  const { waiting, lasting } = everyStatus();
  const status = new StatusKeeper('one');
  status.policyStatuses(lasting);
  status.committing(waiting);
  const identity = { networkNamespace: 'net:[1]', cutsConnections: true };
  return testView({ identity, status, readHost: async () => HEALTHY_HOST });
}

const statusOfAll = (): Promise<StatusResponse> => statusMessage(viewOfAll());

/** The part of the lines that is about policies, as `status policy`. */
function shown(lines: readonly string[]): string[] {
  return lines.flatMap(styled => {
    const line = wrapped(stripVTControlCharacters(styled), undefined);
    const [, status, policy] = /^ {2}([\w-]+) +(\w+Policy [^ :]+): ./.exec(line) ?? [];
    return POLICY_STATUSES.some(kind => kind === status) ? [`${status} ${policy}`] : [];
  });
}

test('`sluice status` shows a policy of each status, and which they are', async () => {
  const status = await statusOfAll();
  expect(shown(statusLines(status, 0, true))).toEqual(EXPECTED);
  const short = statusLines(status, 0).map(line => wrapped(stripVTControlCharacters(line), undefined));
  expect(short.find(line => line.includes('suspected'))).toContain(
    'NetworkPolicy a/suspected, NetworkPolicy a/suspected-too: the kernel refused a batch',
  );
  expect(status.policies_in_all).toBe(EXPECTED.length);
});

test('`sluice inspect` shows them too, as lines and as JSON', async () => {
  const status = await statusOfAll();
  expect(shown(inspectionLines(INSPECTION, { missing: 'a test' }, true, status))).toEqual(EXPECTED);
  const object = inspectionObject(INSPECTION, { missing: 'a test' }, status.policies);
  const { policies } = object as Pick<StatusResponse, 'policies'>;
  expect(policies.map(each => `${each.status} ${each.policy}`).toSorted()).toEqual(EXPECTED.toSorted());
  expect(wrongWith(JSON.parse(JSON.stringify(object)))).toEqual([]);
});

test('`sluice inspect` of a namespace, a policy or a pod shows those that are about it', async () => {
  const status = await statusOfAll();
  const about = (what: string, sources: readonly string[] = []) => {
    const rules = sources.map(source => ({ verdict: 'drop' as const, source }));
    const pods = [{ pod: 'a/web', addresses: [], ingress: { chain: 'x', rules } }];
    return statusesAbout({ ...INSPECTION, pods }, status, [what]).policies.map(({ policy }) => policy);
  };
  expect(about('ending')).toEqual(['NetworkPolicy ending/held']);
  expect(about('NetworkPolicy a/pending')).toEqual(['NetworkPolicy a/pending']);
  expect(about('a/web', ['isolated by a/over-budget, a/fine', 'cnp:closed egress[0]'])).toEqual([
    'NetworkPolicy a/over-budget',
    'ClusterNetworkPolicy closed',
  ]);
});

test('manifests alone tell of policies that are not as they were written', () => {
  const cluster = new ClusterState();
  for (const value of policiesAsRead()) cluster.apply({ type: 'policy', key: value.id, value });
  const lines = policiesAsRead().map(({ id }) => id);
  expect(statusesOf(cluster).policies.map(({ policy }) => policy)).toEqual(lines);
});

test('the metric counts the policies of each status, and says 0 of those that none has', async () => {
  const { values } = await makeMetrics(viewOfAll()).getSingleMetric('sluice_policies')!.get();
  expect(Object.fromEntries(values.map(({ labels, value }) => [labels.status, value]))).toEqual({
    ...Object.fromEntries(POLICY_STATUSES.map(kind => [kind, 1])),
    suspected: 2,
  });
  const status = new StatusKeeper('one');
  const none = { ...viewOfAll(), status };
  const samples = await makeMetrics(none).getSingleMetric('sluice_policies')!.get();
  expect(samples.values.map(({ value }) => value)).toEqual(POLICY_STATUSES.map(() => 0));
});

test('`sluice status` of very many shows each kind, and a message that a client takes', async () => {
  const status = new StatusKeeper('one');
  const waiting = Array.from({ length: 10_000 }, (_, n) => ({
    id: `NetworkPolicy tenant-${n}/new` as const,
    kind: 'pending' as const,
    change: 'new' as const,
    sinceMs: 0,
  }));
  const quarantined = Array.from({ length: 10_000 }, (_, n) => ({
    id: `NetworkPolicy hostile/${n}` as const,
    kind: 'quarantined' as const,
    reason: 'no room' as const,
    detail: 'x'.repeat(400),
    keepsLastVersion: false,
  }));
  status.committing(waiting);
  status.policyStatuses([...quarantined, { id: 'ClusterNetworkPolicy all', kind: 'closed', reason: 'x' }]);
  const message = await statusMessage({ ...viewOfAll(), status });
  expect(new Set(message.policies.map(({ status: kind }) => kind))).toEqual(
    new Set(['pending', 'quarantined', 'closed']),
  );
  expect([message.policies.length, message.policies_in_all]).toEqual([500, 20_001]);
  expect(message.problems.at(-1)?.text).toBe('there are 8000 further problems');
  expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThan(4 * 1024 * 1024);
});

test('`sluice status` has a line for each reason of a status, and counts those of very many reasons', () => {
  const refused = (n: number) => ({
    policy: `NetworkPolicy a/${n}`,
    status: 'quarantined',
    reason: `reason ${Math.min(n, 6)}`,
  });
  const policies = Array.from({ length: 9 }, (_, n) => refused(n));
  const lines = policyLines({ policies, policies_in_all: 9 }).map(line =>
    wrapped(stripVTControlCharacters(line), undefined),
  );
  expect(lines.slice(1)).toEqual([
    '  quarantined  NetworkPolicy a/0: reason 0',
    '  quarantined  NetworkPolicy a/1: reason 1',
    '  quarantined  NetworkPolicy a/2: reason 2',
    '  quarantined  and 6 more for other reasons (-o wide has them)',
  ]);
});
