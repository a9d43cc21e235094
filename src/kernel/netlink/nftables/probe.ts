/** Determines the features of this kernel by trying them. Changes nothing. */
import { release } from 'node:os';
import { FAMILIES } from '../../../model/address.ts';
import type { PodLinks } from '../../../model/podlinks.ts';
import { KernelError } from '../../../nft/kernel.ts';
import {
  type MissingFeature,
  NO_BRIDGE_TABLES,
  NO_LAST,
  NO_LOGS,
  NO_OWNERS,
} from '../../../nft/missingfeature.ts';
import type { Op } from '../../../nft/plan/op.ts';
import { type Expr, QUEUE_FORMS, type QueueBy, TABLE_NAME, type TableFamily } from '../../../nft/ruleset.ts';
import {
  SAMPLE_OF_LAST,
  SAMPLE_OF_LOGS,
  sample,
  sampleOfBridges,
  sampleOfQueue,
} from '../../../nft/trace/sample.ts';
import { errnoName, NLM_F } from '../wire/constants.ts';
import type { Reply } from '../wire/messages.ts';
import { Batch } from './batch.ts';
import { CHAIN, MSG, RULE, TABLE } from './constants.ts';
import { BatchEncoder } from './encode.ts';
import type { Exchange } from './exchange.ts';
import { writeExpr } from './expressions.ts';
import { OWNED } from './ownership.ts';
import { refusal } from './refusal.ts';

/** The oldest that the contract of Kernel was seen to hold on (docs/kernels.md). Older ones are not refused for it. */
export const OLDEST_TESTED = '6.1';

/** Facts that are known before the probe. */
export interface Known {
  /** Families whose table of ours exists: this kernel took it, so that there is nothing to ask. */
  readonly existing: ReadonlySet<TableFamily>;
  /** How pods of this node are linked with it: the kernel must have the features that this needs. */
  readonly podLinks: PodLinks;
}

export interface Abilities {
  readonly missingFeatures: readonly MissingFeature[];
  /** The expression by which packets can wait for us; undefined where they cannot. */
  readonly queue: QueueBy | undefined;
}

/** An empty batch: it is allowed or not, and its end is acknowledged or not. Throws KernelError where it is not allowed. */
export async function acknowledgesEnd(exchange: ProbeExchange): Promise<boolean> {
  const batch = new Batch();
  batch.begin(exchange.nextSequence, 0);
  batch.end('end');
  const { acknowledged, errors } = await exchange.commit(batch);
  if (errors.length > 0) throw unusable(errnoName(errors[0]!.errno));
  return acknowledged;
}

/** Throws KernelError, of one sentence, where this kernel does not take what our rules are made of. */
export async function probeKernel(
  exchange: ProbeExchange,
  { existing, podLinks }: Known,
): Promise<Abilities> {
  const missing = FAMILIES.filter(family => !existing.has(family));
  const ours = sample(missing, podLinks === 'ours');
  const ops = [...ours, ...(existing.has('bridge') ? [] : sampleOfBridges())];
  const [native] = QUEUE_FORMS;
  const trial = await probe(exchange, ops, [
    writeOwnedTable,
    batch => writeProbeRules(batch, 'queue', sampleOfQueue(native)),
    batch => writeProbeRules(batch, 'log', SAMPLE_OF_LOGS),
    batch => writeProbeRules(batch, 'last', SAMPLE_OF_LAST),
  ]);
  refuseIfUnfit(trial, ops, ours.length, podLinks);
  const owners = ops.length;
  const [queue, logs, last] = [owners + 1, owners + 2, owners + 3];
  const hasOwners = trial.errorsOf(owners, queue).length === 0;
  return {
    missingFeatures: [
      ...(hasOwners ? [] : [NO_OWNERS]),
      ...(isTaken(trial.errorsOf(ours.length, owners)) ? [] : [NO_BRIDGE_TABLES]),
      ...(trial.errorsOf(logs, last).length === 0 ? [] : [NO_LOGS]),
      ...(trial.errorsOf(last, last + 1).length === 0 ? [] : [NO_LAST]),
    ],
    queue: trial.errorsOf(queue, logs).length === 0 ? native : await otherQueue(exchange),
  };
}

function writeOwnedTable(batch: Batch): void {
  batch.message(MSG.NEWTABLE, NLM_F.CREATE, 'ip', to => {
    to.string(TABLE.NAME, `${TABLE_NAME}-probe-owned`);
    to.u32(TABLE.FLAGS, OWNED);
  });
}

/** Asked only where it is wanted: to be asked a kernel loads what it is made of. */
async function otherQueue(exchange: ProbeExchange): Promise<QueueBy | undefined> {
  const [, ...others] = QUEUE_FORMS;
  for (const by of others) {
    const { errorsOf } = await probe(
      exchange,
      [],
      [batch => writeProbeRules(batch, 'queue', sampleOfQueue(by))],
    );
    if (errorsOf(0, 1).length === 0) return by;
  }
  return undefined;
}

/** A table that is there by now, ours or another agent's, was taken. */
function isTaken(errors: readonly Reply[]): boolean {
  return errors.length === 0 || ['EEXIST', 'EPERM'].includes(errnoName(errors[0]!.errno));
}

function refuseIfUnfit(trial: Probe, ops: readonly Op[], ours: number, podLinks: PodLinks): void {
  const errors = ours === 0 ? [] : trial.errorsOf(0, ours);
  // EEXIST means that another process is just creating our tables: the kernel accepts them.
  if (errors.length === 0 || errnoName(errors[0]!.errno) === 'EEXIST') return;
  throw unfit(refusal(errors, trial.batch, { ops, tables: [] }), podLinks);
}

function unfit(cause: KernelError, podLinks: PodLinks): KernelError {
  const more =
    podLinks === 'ours'
      ? ', CONFIG_NFT_CT, CONFIG_NFT_FIB_IPV4, CONFIG_NFT_FIB_IPV6, CONFIG_NFT_NAT and CONFIG_NFT_MASQ'
      : ' and CONFIG_NFT_CT';
  return new KernelError(
    cause.code,
    `Linux ${release()} does not take what Sluice's rules are made of (${cause.message}): what is known to do is Linux ${OLDEST_TESTED} or newer with CONFIG_NF_TABLES_IPV4, CONFIG_NF_TABLES_IPV6${more}; the rules in force stay`,
    { cause },
  );
}

/** Why there can be no rules here, in a sentence. */
export function unusable(code: string, cause?: unknown): KernelError {
  return new KernelError(code, `${code}: ${SENTENCES[code] ?? 'nf_tables cannot be used here'}`, { cause });
}

const NO_NFTABLES =
  'this kernel has no nf_tables (CONFIG_NF_TABLES, module nf_tables), so there is nothing to put rules into';

const SENTENCES: Readonly<Record<string, string>> = {
  EPERM:
    'this process may not use nftables: it needs CAP_NET_ADMIN in the network namespace (run it as root, or give the container NET_ADMIN)',
  EOPNOTSUPP: NO_NFTABLES,
  EPROTONOSUPPORT: NO_NFTABLES,
  EAFNOSUPPORT: 'this kernel has no netlink sockets, so there is nothing to put rules into',
};

// A rule in a table that does not exist, of both families: to see whether this kernel takes what it is made of.

/** `what` distinguishes the attempts in one batch. */
function writeProbeRules(batch: Batch, what: string, exprs: readonly Expr[]): void {
  const table = `${TABLE_NAME}-probe-${what}`;
  for (const family of FAMILIES) {
    batch.message(MSG.NEWTABLE, NLM_F.CREATE, family, to => to.string(TABLE.NAME, table));
    batch.message(MSG.NEWCHAIN, NLM_F.CREATE, family, to => {
      to.string(CHAIN.TABLE, table);
      to.string(CHAIN.NAME, 'rules');
    });
    batch.message(MSG.NEWRULE, NLM_F.CREATE | NLM_F.APPEND, family, to => {
      to.string(RULE.TABLE, table);
      to.string(RULE.CHAIN, 'rules');
      to.nest(RULE.EXPRESSIONS, () => {
        for (const expr of exprs) writeExpr(to, expr);
      });
    });
  }
}

// Operations that are sent to see whether the kernel accepts them: a batch without an end, which is rolled back, and
// whose errors are answered message by message. For the rollback the kernel waits for all packets in flight, some ten
// milliseconds, so all attempts are in one batch.

/** The part of an exchange that a probe needs. */
export type ProbeExchange = Pick<Exchange, 'nextSequence' | 'commit'>;

/** Writes messages that no operation of ours makes. */
type ProbeMessages = (batch: Batch) => void;

/** The steps of the batch are the operations, and behind them the questions. */
interface Probe {
  readonly batch: Batch;
  /** The errors of the operations from `from` up to `to`; of all of them, if the batch was refused as a whole. */
  errorsOf(from: number, to: number): readonly Reply[];
}

async function probe(
  exchange: ProbeExchange,
  ops: readonly Op[],
  questions: readonly ProbeMessages[],
): Promise<Probe> {
  const batch = new Batch();
  writeOps(batch, ops, exchange.nextSequence);
  questions.forEach((write, index) => {
    batch.beginStep(ops.length + index);
    write(batch);
  });
  const { errors } = await exchange.commit(batch);
  const errorsOf = (from: number, to: number) =>
    errors.filter(({ sequence }) => isIn(batch.stepOf(sequence), from, to));
  return { batch, errorsOf };
}

function isIn(step: number | undefined, from: number, to: number): boolean {
  return step === undefined || (step >= from && step < to);
}

function writeOps(batch: Batch, ops: readonly Op[], firstSequence: number): void {
  const encoder = new BatchEncoder(batch, {
    ops,
    firstSequence,
    expected: 0,
    ack: 'last',
    tableFlags: 0,
    tables: [],
    echo: false,
    additions: 'new',
  });
  for (const _ of ops) encoder.encode();
}
