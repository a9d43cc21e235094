/**
 * The desired state of a cluster as the agent that programmed these rules would compute it. The cluster does not
 * determine everything: the treatment of unknown pods, the interfaces and ports that link pods with their node, the
 * resolvers, the number of denials that are named, and what is committed ahead of policies that wait are options or
 * decisions of the agent. They are taken from the programmed rules and count as right.
 */
import { podLinksIn } from '../../compiler/attachedpods.ts';
import { compile } from '../../compiler/compile.ts';
import { denialLimitsIn, withDenialLimits } from '../../compiler/denied.ts';
import { hostPortsIn } from '../../compiler/hostports.ts';
import { nodeLinksIn } from '../../compiler/linkmatches.ts';
import { dnsQueueIn } from '../../compiler/namespeers.ts';
import { withPrepared } from '../../compiler/prepared.ts';
import { ruleCountersIn, withRuleCounters } from '../../compiler/rulecounters.ts';
import { unknownPodsIn } from '../../compiler/unknownpods.ts';
import { type Cluster, withNodeLinks } from '../../model/cluster.ts';
import { hostPortKey } from '../../model/hostport.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { PodLinks } from '../../model/podlinks.ts';
import type { QueueBy, Ruleset } from '../../nft/ruleset.ts';

export interface NodeRules {
  readonly cluster: Cluster;
  readonly node: string;
  /** How this kernel has answers wait, where it can. */
  readonly queue: QueueBy | undefined;
  /** Options of the agent, if they are known; otherwise the programmed rules show them. */
  readonly unknownPods?: UnknownPods;
  readonly podLinks?: PodLinks;
}

export function desiredAsProgrammed(programmed: Ruleset, rules: NodeRules): Ruleset {
  const { cluster, node, queue, unknownPods, podLinks } = rules;
  const mappings = hostPortsIn(programmed).map(mapping => [hostPortKey(mapping), mapping] as const);
  const desired = compile(
    { ...withNodeLinks(cluster, node, nodeLinksIn(programmed)), hostPorts: new Map(mappings) },
    node,
    unknownPods ?? unknownPodsIn(programmed),
    podLinks ?? podLinksIn(programmed),
    queue && dnsQueueIn(programmed, queue),
  );
  const limited = withDenialLimits(desired, denialLimitsIn(programmed));
  const kept = ruleCountersIn(programmed);
  return withPrepared(kept === undefined ? limited : withRuleCounters(limited, kept), programmed);
}
