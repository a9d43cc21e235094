/** The check of peers by name: are the answers of DNS heard that the node's pods get? */
import { type Check, verdict } from './check.ts';

export interface NamesFacts {
  /** Pods of this node that have rules by name. */
  readonly pods: number;
  /** Whether this kernel can have packets wait. */
  readonly canWait: boolean;
  readonly resolvers: readonly string[];
  /** Why nobody hears. */
  readonly error?: string;
  readonly counts?: {
    readonly seen: number;
    readonly learnt: number;
    readonly untaken: number;
    readonly evicted: number;
    readonly overruns: number;
    readonly addresses: number;
    readonly beating: boolean;
  };
}

export const NO_NAMES: NamesFacts = { pods: 0, canWait: true, resolvers: [] };

const NAME = 'names';
const NOTHING = 'rules by domain name match nothing';

/** A warning at most: names only ever allow, and everything else is in force. */
export function names({ pods, canWait, resolvers, error, counts }: NamesFacts): Check {
  if (pods === 0 && canWait) return verdict.ok(NAME, 'no pod of this node has a rule by domain name');
  if (!canWait) {
    const reason = `this kernel has neither nft_queue nor xt_NFQUEUE with nft_compat: ${NOTHING}`;
    return verdict.warn(
      NAME,
      reason,
      'load nft_queue, or use a kernel that has it, where policies name domains',
    );
  }
  if (resolvers.length === 0)
    return verdict.warn(
      NAME,
      `no resolver is known that pods ask: ${NOTHING}`,
      'run the agent with dnsPolicy ClusterFirstWithHostNet, or name the resolvers by --dns-servers',
    );
  if (error !== undefined)
    return verdict.warn(
      NAME,
      `answers are not heard (${error}): ${NOTHING} that is not known already`,
      remedyOf(error),
    );
  if (counts === undefined || !counts.beating)
    return verdict.warn(
      NAME,
      `answers do not wait, and are not learnt: ${NOTHING} new`,
      "see the agent's log",
    );
  const { seen, learnt, addresses, untaken, evicted, overruns } = counts;
  const text = `${pods} ${pods === 1 ? 'pod has' : 'pods have'} rules by name; of answers by ${resolvers.join(', ')} ${seen} were heard and ${learnt} learnt; ${addresses} addresses stand`;
  const lost = untaken + evicted + overruns;
  if (lost === 0) return verdict.ok(NAME, text);
  return verdict.ok(
    NAME,
    `${text}; ${untaken} not taken by the kernel, ${evicted} too many, ${overruns} not read in time`,
  );
}

function remedyOf(error: string): string {
  if (/EPERM|EACCES/.test(error)) return 'give the container NET_ADMIN and NET_RAW';
  return /EBUSY/.test(error)
    ? 'another program listens at this nfnetlink queue: end it, or have it use another number'
    : "see the agent's log";
}
