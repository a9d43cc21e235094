/** What this kernel can do, found out by asking it. Changes nothing. */
import { release } from 'node:os';
import { FAMILIES } from '../../model/address.ts';
import type { PodLinks } from '../../model/podlinks.ts';
import { KernelError } from '../../nft/kernel.ts';
import { type MissingFeature, NO_ACK_AT_END, NO_OWNERS } from '../../nft/missingfeature.ts';
import type { Op } from '../../nft/plan/op.ts';
import { TABLE_NAME, type TableFamily } from '../../nft/ruleset.ts';
import { sample, sampleOfBridges } from '../../nft/trace/sample.ts';
import { NLM_F } from '../wire/constants.ts';
import { errnoName } from '../wire/errno.ts';
import { Batch } from './batch.ts';
import { MSG, TABLE } from './constants.ts';
import { BatchEncoder } from './encode.ts';
import type { Exchange } from './exchange.ts';
import { OWNED } from './ownership.ts';
import { refusal } from './refusal.ts';

/** The oldest that the contract of Kernel was seen to hold on (docs/kernels.md). Older ones are not refused for it. */
export const OLDEST_TESTED = '6.1';

/** What of an exchange it takes. */
export type Asking = Pick<Exchange, 'nextSequence' | 'commitSync'>;

/** What we do without here. Throws KernelError where there are no rules to be made at all. */
export function probe(exchange: Asking): MissingFeature[] {
  return [
    ...(acknowledgesEnd(exchange) ? [] : [NO_ACK_AT_END]),
    ...(knowsOwners(exchange) ? [] : [NO_OWNERS]),
  ];
}

/** An empty batch: it is allowed or not, and its end is acknowledged or not. */
function acknowledgesEnd(exchange: Asking): boolean {
  const batch = new Batch();
  batch.begin(exchange.nextSequence, 0);
  batch.end('end');
  const { acknowledged, errors } = exchange.commitSync(batch);
  if (errors.length > 0) throw unusable(errnoName(errors[0]!.errno));
  return acknowledged;
}

/** A batch without an end is rolled back, but what is wrong with it is reported. */
function knowsOwners(exchange: Asking): boolean {
  const batch = new Batch();
  batch.begin(exchange.nextSequence, 0);
  batch.message(MSG.NEWTABLE, NLM_F.CREATE, 'ip', to => {
    to.string(TABLE.NAME, `${TABLE_NAME}-probe`);
    to.u32(TABLE.FLAGS, OWNED);
  });
  return exchange.commitSync(batch).errors.length === 0;
}

/**
 * Whether there can be rules of bridges. Asked with a base chain, empty and gone before the answer is here: to take it
 * away the kernel waits for all packets under way, some ten milliseconds.
 */
export function knowsBridges(exchange: Asking): boolean {
  const { errors } = tryOut(exchange, sampleOfBridges());
  // A table that is there, ours or another agent's, was taken.
  return errors.length === 0 || ['EEXIST', 'EPERM'].includes(errnoName(errors[0]!.errno));
}

/**
 * Throws KernelError, of one sentence, where this kernel does not take what our rules are made of. A table that exists
 * was taken by this kernel, so that there is nothing to ask. `podLinks` says whether pods are to be linked here.
 */
export function refuseIfUnfit(
  exchange: Asking,
  existing: readonly { readonly family: TableFamily }[],
  podLinks: PodLinks = 'others',
): void {
  const missing = FAMILIES.filter(family => existing.every(table => table.family !== family));
  const ops = sample(missing, podLinks === 'ours');
  if (ops.length === 0) return;
  const { errors, batch } = tryOut(exchange, ops);
  // Somebody puts our tables up at this moment: then they are taken.
  if (errors.length === 0 || errnoName(errors[0]!.errno) === 'EEXIST') return;
  throw unfit(refusal(errors, batch, { ops, tables: [] }), podLinks);
}

/** All but the end of a batch: nothing of it comes into force. */
function tryOut(exchange: Asking, ops: readonly Op[]) {
  const batch = new Batch();
  const encoder = new BatchEncoder(batch, {
    ops,
    firstSequence: exchange.nextSequence,
    expected: 0,
    ack: 'last',
    tableFlags: 0,
    tables: [],
    echo: false,
    additions: 'new',
  });
  for (const _ of ops) encoder.encode();
  return { errors: exchange.commitSync(batch).errors, batch };
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
