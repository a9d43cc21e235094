/** What everybody who is answered may see of the agent. */

import { agentView } from '../../api/rpc/agentview.ts';
import type { AgentView } from '../../api/rpc/view.ts';
import { ownNetworkNamespace } from '../../kernel/host/networknamespace.ts';
import { openConntrack } from '../../kernel/netlink/conntrack/conntrack.ts';
import { type AgentCommandOptions, cutsConnections } from '../options.ts';
import type { Pipeline } from '../pipeline.ts';
import { podWays } from '../pods/podways.ts';
import { nodeReader } from './readnode.ts';

export async function openAgentView(options: AgentCommandOptions, pipeline: Pipeline): Promise<AgentView> {
  const { enforcement, gate, podNetwork } = pipeline;
  return agentView({
    identity: {
      networkNamespace: await ownNetworkNamespace(),
      cutsConnections: cutsConnections(options),
    },
    keeper: enforcement.status,
    agent: enforcement.agent,
    readHost: nodeReader(),
    readPodWays: podWays,
    starts: () => gate.status(),
    pods: podNetwork,
    kernel: enforcement.kernelFeatures,
    names: { status: () => enforcement.answers.status(), facts: () => enforcement.answers.latest() },
    denials: enforcement.denials,
    flows: enforcement.flows,
    counts: enforcement.counts,
    audits: enforcement.audits,
    openConntrack,
  });
}
