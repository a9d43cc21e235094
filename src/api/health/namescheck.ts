/** The check of peers by name: are the DNS answers of the node's pods read? */
import { ageText } from './agentchecks.ts';
import { type Check, finding } from './check.ts';

export interface DnsFacts {
  /** Pods of this node that have rules by name. */
  readonly pods: number;
  /** Whether a policy of the cluster has rules by name. */
  readonly isNaming: boolean;
  /** Whether this kernel can have packets wait. */
  readonly canWait: boolean;
  readonly resolvers: readonly string[];
  /** Why answers are not read. */
  readonly error?: string;
  readonly counts?: {
    readonly seen: number;
    readonly learnt: number;
    readonly overBudget: number;
    readonly untaken: number;
    readonly evicted: number;
    readonly overruns: number;
    readonly addresses: number;
    readonly isQueueing: boolean;
  };
  /** How long the thread has been silent; it sends a message every second. */
  readonly silentMs?: number;
  /** How many addresses the node keeps. */
  readonly most: number;
}

export const NO_NAMES: DnsFacts = { pods: 0, isNaming: false, canWait: true, resolvers: [], most: 0 };

const SILENT_MS = 5_000;

const NAME = 'names';
const NOTHING = 'rules by domain name match nothing';

/** Fails if rules by name can never match; otherwise it warns at most, because all other rules are in force. */
export function names(facts: DnsFacts): Check {
  const { pods, isNaming, canWait, counts } = facts;
  if (!canWait) return finding[isNaming ? 'fail' : 'warn'](NAME, ...NO_QUEUE);
  if (pods === 0) return finding.ok(NAME, 'no pod of this node has a rule by domain name');
  const wrong = lacksResolver(facts) ?? isNotReading(facts);
  return wrong === undefined ? working(facts, counts!) : finding.warn(NAME, ...wrong);
}

type Wrong = readonly [reason: string, remedy: string];

const NO_QUEUE: Wrong = [
  `this kernel has neither nft_queue nor xt_NFQUEUE with nft_compat: ${NOTHING}`,
  'load nft_queue, or use a kernel that has it, where policies name domains',
];

function lacksResolver({ resolvers }: DnsFacts): Wrong | undefined {
  if (resolvers.length === 0)
    return [
      `no resolver is known that pods ask: ${NOTHING}`,
      'run the agent with dnsPolicy ClusterFirstWithHostNet, or name the resolvers by --dns-servers',
    ];
  return undefined;
}

function isNotReading({ error, counts, silentMs = 0 }: DnsFacts): Wrong | undefined {
  if (error !== undefined)
    return [`DNS answers are not read (${error}): ${NOTHING} that is not known already`, remedyOf(error)];
  if (counts === undefined || !counts.isQueueing)
    return [`answers do not wait, and are not learnt: ${NOTHING} new`, "see the agent's log"];
  if (silentMs > SILENT_MS)
    return [
      `the answer thread has said nothing for ${ageText(silentMs)}: answers do not wait, and ${NOTHING} new`,
      "see the agent's log; the agent can be restarted, and the rules in force stay",
    ];
  return undefined;
}

/** The finding while answers are read, with counts of answers that were not. */
function working({ pods, resolvers, most }: DnsFacts, counts: NonNullable<DnsFacts['counts']>): Check {
  const { seen, learnt, addresses, overBudget, untaken, evicted, overruns } = counts;
  const text = `${pods} ${pods === 1 ? 'pod has' : 'pods have'} rules by name; of the answers of ${resolvers.join(', ')}, ${seen} were read and ${learnt} learnt; ${addresses} addresses are allowed`;
  const beside = [
    [untaken, 'were not taken by the kernel'],
    [evicted, 'went because there were too many'],
    [overBudget, 'went on unread because their pod or its namespace had more than its share'],
    [overruns, 'times answers went on because they were not read in time'],
  ] as const;
  const what = beside.filter(([count]) => count > 0).map(([count, words]) => `; ${count} ${words}`);
  if (most === 0 || addresses < most) return finding.ok(NAME, text + what.join(''));
  return finding.warn(
    NAME,
    `${text}, which is the limit: each new address replaces the oldest one of the pod that has most${what.join('')}`,
    'narrow the wildcards of domainNames: sluice inspect shows which pod has so many',
  );
}

function remedyOf(error: string): string {
  if (/EPERM|EACCES/.test(error)) return 'give the container NET_ADMIN and NET_RAW';
  return /EBUSY/.test(error)
    ? 'another program listens at this nfnetlink queue: end it, or have it use another number'
    : "see the agent's log";
}
