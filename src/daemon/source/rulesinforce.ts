/** What the rules in the kernel were made from, as far as they tell: before an agent replaces them. */
import { unknownPodsIn } from '../../compiler/unknownpods.ts';
import { openNftKernel } from '../../kernel/netlink/nftables/nft-kernel.ts';
import { type PolicyKind, policyLabel } from '../../model/policy.ts';
import type { Ruleset } from '../../nft/ruleset.ts';
import type { MadeFrom } from './startcondition.ts';

export async function readRulesInForce(): Promise<Ruleset> {
  const kernel = await openNftKernel();
  try {
    return (await kernel.dump()).ruleset;
  } finally {
    kernel.close();
  }
}

const CLUSTER_KINDS: readonly PolicyKind[] = [
  'ClusterNetworkPolicy',
  'AdminNetworkPolicy',
  'BaselineAdminNetworkPolicy',
];
const LABELS = CLUSTER_KINDS.map(kind => policyLabel({ kind, name: '' }));

/** Kinds of objects beside pods, namespaces and network policies. */
export function madeFrom(ruleset: Ruleset): MadeFrom {
  // A comment names some of many policies: where one is of the cluster, all of these kinds may be behind it.
  const ofCluster = [...commentsOf(ruleset)].some(comment => LABELS.some(label => comment.includes(label)));
  const deniesUnknownPods = unknownPodsIn(ruleset) === 'deny';
  return new Set<string>([
    ...(ofCluster ? CLUSTER_KINDS : []),
    ...(deniesUnknownPods ? ['Node'] : []),
    ...(asksForNamespaces(ruleset) ? ['Namespace'] : []),
  ]);
}

/** The comment of a set says whom it holds, but for a long list. */
function asksForNamespaces({ tables }: Ruleset): boolean {
  const sets = [...tables.values()].flatMap(table => [...table.sets.values()]);
  return sets.some(
    ({ comment = '' }) => comment.includes(' in namespaces ') || comment.length >= LONG_COMMENT,
  );
}

const LONG_COMMENT = 100;

/** Of rules, and of what maps decide by themselves, as by the port alone. */
function* commentsOf({ tables }: Ruleset): Generator<string> {
  for (const { chains, sets } of tables.values()) {
    for (const { rules } of chains.values()) for (const { comment = '' } of rules) yield comment;
    for (const { verdicts, elements } of sets.values())
      if (verdicts) for (const { comment = '' } of elements.values()) yield comment;
  }
}
