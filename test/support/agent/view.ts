/** The view of an agent that a test serves: what the test does not give is an agent without the feature. */
import type { StatusKeeper } from '../../../src/agent/status.ts';
import { NO_DENIALS, NOTHING_MISSING } from '../../../src/api/health/agentchecks.ts';
import { NO_NAMES } from '../../../src/api/health/namescheck.ts';
import { NO_GATE } from '../../../src/api/health/startchecks.ts';
import { type NodeReaders, nodeView } from '../../../src/api/rpc/nodeview.ts';
import type { AgentView, NodeView } from '../../../src/api/rpc/view.ts';
import { NO_FLOWS } from '../../../src/observe/flows/source.ts';

interface GivenView extends Partial<Omit<AgentView, keyof NodeView>>, Partial<NodeReaders> {
  readonly status: StatusKeeper;
  readonly identity: NodeReaders['identity'];
  readonly readHost: NodeReaders['readHost'];
}

export function testView({
  identity,
  readHost,
  readPodLinks,
  openConntrack,
  memoryLimits,
  ...given
}: GivenView): AgentView {
  const agent = { ...WITHOUT, ...given };
  const node = nodeView(agent, {
    identity,
    readHost,
    readPodLinks: readPodLinks ?? (async () => ({ podRoutes: { unreadable: 'not read yet' } })),
    openConntrack: openConntrack ?? (() => ({ read: async () => undefined, close: () => undefined })),
    memoryLimits: memoryLimits ?? (() => ({ heapLimit: 384 * 2 ** 20 })),
  });
  return { ...agent, ...node };
}

const WITHOUT: Omit<AgentView, keyof NodeView | 'status'> = {
  agent: { requestResync: () => undefined, podsInForce: new Map() },
  kernelFeatures: NOTHING_MISSING,
  gate: {
    status: () => NO_GATE,
    counts: { inTime: 0, late: 0, withoutAddress: 0 },
    takeWaits: () => [],
  },
  dns: {
    status: () => NO_NAMES,
    latest: async () => undefined,
    totals: () => ({ restarts: 0, waitBucketsUs: [50, 1_000] }),
  },
  denials: { facts: async () => NO_DENIALS, denials: () => [], follow: () => () => undefined },
  flows: NO_FLOWS,
  audits: { totals: [], unjudged: 0 },
};
