/** What this kernel can do, found out by asking it. Changes nothing. */
import { KernelError } from '../nft/kernel.ts';
import { TABLE_NAME } from '../nft/ruleset.ts';
import { type AckOn, Batch } from './batch.ts';
import { errnoName } from './errno.ts';
import type { Exchange } from './exchange.ts';
import { MSG, NLM_F, TABLE } from './nftables.ts';
import { OWNED } from './ownership.ts';

export interface Abilities {
  readonly ack: AckOn;
  /** NFTA_TABLE_FLAGS for our tables. */
  readonly tableFlags: number;
}

/** Throws KernelError where there are no rules to be made at all. */
export function probe(exchange: Exchange): Abilities {
  return { ack: probeAck(exchange), tableFlags: probeOwner(exchange) ? OWNED : 0 };
}

/** An empty batch: it is allowed or not, and its end is acknowledged or not. */
function probeAck(exchange: Exchange): AckOn {
  const batch = new Batch();
  batch.begin(exchange.nextSequence, 0);
  batch.end('end');
  const { acknowledged, errors } = exchange.commitHere(batch);
  if (errors.length > 0) throw unusable(errnoName(errors[0]!.errno));
  return acknowledged ? 'end' : 'last';
}

/** A batch without an end is rolled back, but what is wrong with it is told. */
function probeOwner(exchange: Exchange): boolean {
  const batch = new Batch();
  batch.begin(exchange.nextSequence, 0);
  batch.message(MSG.NEWTABLE, NLM_F.CREATE, 'ip', to => {
    to.string(TABLE.NAME, `${TABLE_NAME}-probe`);
    to.u32(TABLE.FLAGS, OWNED);
  });
  return exchange.commitHere(batch).errors.length === 0;
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
