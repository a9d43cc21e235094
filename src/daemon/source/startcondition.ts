/**
 * Whether what was read of a cluster may replace the rules in force although a source cannot be read. One 403 must not
 * keep every policy from the kernel; but what is not known must not open what rules in force deny:
 *
 *     pods and network policies                  are waited for: without them there is nothing to put in force
 *     namespaces, nodes, and policies of the     are waited for where rules in force were made from them; else what
 *     whole cluster                              asks for them allows nothing, and denies all the same (N68)
 *
 * A source that is still being read is not lost: it is lost when it has reported so for some seconds.
 */
import type { Logger } from 'pino';
import { EVERYWHERE } from '../../compiler/group.ts';
import { unknownPodsIn } from '../../compiler/unknownpods.ts';
import type { SourceStatus } from '../../inputs/kube/watch/clusterfeed.ts';
import {
  CUSTOM_POLICIES,
  NAMESPACES,
  NETWORK_POLICIES,
  NODES,
  PODS,
} from '../../inputs/kube/watch/resource.ts';
import { openNftKernel } from '../../kernel/netlink/nftables/nft-kernel.ts';
import { aborted } from '../../lib/async/aborted.ts';
import type { Timing } from '../../lib/async/timing.ts';
import { errorText } from '../../lib/text/errortext.ts';
import { type PolicyKind, policyLabel } from '../../model/policy.ts';
import type { Ruleset } from '../../nft/ruleset.ts';

/**
 * The objects from which rules in force were made, apart from pods and network policies; empty if there are no rules.
 */
export type MadeFrom = ReadonlySet<string>;

export interface StartConditionOptions {
  /** Kinds of objects: `Node`, `AdminNetworkPolicy`. */
  readonly rulesInForce: () => Promise<MadeFrom>;
  readonly log: Pick<Logger, 'error'>;
  readonly timing: Pick<Timing, 'sleep'>;
}

const NEEDED = [NETWORK_POLICIES, PODS].map(({ kind }) => kind);
/** Kinds that can be done without, and the sources that may be lost for each. */
const OTHERS = new Map<string, readonly string[]>([
  [NAMESPACES.kind, [NAMESPACES.kind]],
  [NODES.kind, [NODES.kind]],
  ...CUSTOM_POLICIES.map(({ kind, plural }): [string, string[]] => [
    kind,
    [kind, `CustomResourceDefinition ${plural}`],
  ]),
]);
const POLL_MS = 500;
const LOST_FOR_POLLS = 6;

export class StartCondition {
  readonly #options: StartConditionOptions;
  readonly #states = new Map<string, SourceStatus['state']>();

  constructor(options: StartConditionOptions) {
    this.#options = options;
  }

  onSource({ source, state }: SourceStatus): void {
    this.#states.set(source, state);
  }

  /** Settles when the agent may start, at the latest when `synced` does, or at the signal. */
  async mayStart(synced: Promise<void>, stop: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const early = this.#lostEnough(AbortSignal.any([stop, ended.signal]));
    await Promise.race([synced, aborted(stop), early]);
    ended.abort();
    await early;
  }

  async #lostEnough(stop: AbortSignal): Promise<void> {
    const { log, timing } = this.#options;
    let loggedReason: string | undefined;
    for (let polls = 0; !stop.aborted; await timing.sleep(POLL_MS, stop)) {
      const missing = missingKinds(this.#states);
      polls = missing === undefined ? 0 : polls + 1;
      if (missing === undefined || polls < LOST_FOR_POLLS) continue;
      if (polls % LOST_FOR_POLLS !== 0) continue;
      const why = await this.#whyWait(missing);
      if (why === undefined) {
        log.error(
          { missing },
          `${missing.join(', ')} cannot be read: what is known is put in force, what is not known allows nothing`,
        );
        return;
      }
      if (why !== loggedReason) log.error({ missing }, why);
      loggedReason = why;
    }
    await aborted(stop);
  }

  async #whyWait(missing: readonly string[]): Promise<string | undefined> {
    try {
      const madeFrom = await this.#options.rulesInForce();
      const needed = missing.filter(kind => madeFrom.has(kind));
      if (needed.length === 0) return undefined;
      return `${needed.join(', ')} cannot be read, and rules in force were made from them: they stay as they are until they can`;
    } catch (error) {
      return `${missing.join(', ')} cannot be read, and the kernel does not say whether rules in force were made from them, which stay as they are: ${errorText(error)}`;
    }
  }
}

/** Kinds that cannot be read; nothing as long as one that is needed has not been read, or one is still being read. */
export function missingKinds(
  states: ReadonlyMap<string, SourceStatus['state']>,
): readonly string[] | undefined {
  const isRead = (source: string) => ['synced', 'recovered', 'absent'].includes(states.get(source) ?? '');
  if (!NEEDED.every(isRead)) return undefined;
  const unread = [...OTHERS].filter(([kind]) => !isRead(kind));
  const areLost = unread.every(([, sources]) => sources.some(source => states.get(source) === 'lost'));
  return areLost && unread.length > 0 ? unread.map(([kind]) => kind) : undefined;
}

// What the rules in the kernel were made from, read before an agent replaces them.

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

/** The kinds of objects from which the rules were made, other than pods, namespaces and network policies. */
export function madeFrom(ruleset: Ruleset): MadeFrom {
  // A comment names only some of many policies: if one of these is a cluster policy, any of the kinds may be behind it.
  const ofCluster = [...commentsOf(ruleset)].some(comment => LABELS.some(label => comment.includes(label)));
  const deniesUnknownPods = unknownPodsIn(ruleset) === 'deny';
  return new Set<string>([
    ...(ofCluster ? CLUSTER_KINDS : []),
    ...(deniesUnknownPods || hasSetOf(ruleset, EVERYWHERE) ? ['Node'] : []),
    ...(hasSetOf(ruleset, ' in namespaces ') ? ['Namespace'] : []),
  ]);
}

/** Whether there may be a set of such members: its comment names them, unless the list is long. */
function hasSetOf({ tables }: Ruleset, words: string): boolean {
  const sets = [...tables.values()].flatMap(table => [...table.sets.values()]);
  return sets.some(({ comment = '' }) => comment.includes(words) || comment.length >= LONG_COMMENT);
}

const LONG_COMMENT = 100;

/** Comments of rules, and of elements of verdict maps, which decide some packets alone. */
function* commentsOf({ tables }: Ruleset): Generator<string> {
  for (const { chains, sets } of tables.values()) {
    for (const { rules } of chains.values()) for (const { comment = '' } of rules) yield comment;
    for (const { verdicts, elements } of sets.values())
      if (verdicts) for (const { comment = '' } of elements.values()) yield comment;
  }
}
