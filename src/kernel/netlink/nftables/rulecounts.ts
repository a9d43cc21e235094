/** Reads the counters of the rules of our tables, rule by rule: of all chains, or of some. */
import { EventLoopYield } from '../../../lib/async/eventloopyield.ts';
import { FAMILIES, type Family } from '../../../model/address.ts';
import type { RuleCount } from '../../../nft/rulecount.ts';
import { type NftVerdict, TABLE_NAME } from '../../../nft/ruleset.ts';
import {
  eachAttribute,
  readAttributes,
  readString,
  readU32,
  readU64,
  type Span,
} from '../wire/attributes.ts';
import { Conversation, untilWhole } from '../wire/conversation.ts';
import type { Message } from '../wire/messages.ts';
import { NetlinkSocket } from '../wire/socket.ts';
import { COUNTER, EXPR, LAST, LIST_ELEM, MSG, NETLINK_NETFILTER, NFPROTO, RULE, UDATA } from './constants.ts';
import { Exchange, NotFound } from './exchange.ts';
import { readExpr } from './expressions.ts';
import { asking } from './othertables.ts';
import { readComment } from './userdata.ts';

export interface ChainOf {
  readonly family: Family;
  readonly chain: string;
}

/** A chain; without a chain name, the whole table. */
type Place = Pick<ChainOf, 'family'> & Partial<ChainOf>;

/**
 * Reads in the network namespace in which it was opened. Reading some chains never waits for a reading of all rules,
 * because a commit waits for the former.
 */
export class RuleCountReader {
  readonly #all = openLine();
  readonly #some = openLine();

  /** Throws SocketError, KernelError. */
  all(): Promise<RuleCount[]> {
    const places = FAMILIES.map(family => ({ family }));
    return this.#all.inTurn(exchange => untilWhole(() => readRuleCounts(exchange, places)));
  }

  /** A chain that does not exist has no counts. Throws Interrupted if another process commits all the time. */
  of(chains: readonly ChainOf[]): Promise<RuleCount[]> {
    return this.#some.inTurn(exchange => untilWhole(() => readRuleCounts(exchange, chains), SOME_ATTEMPTS));
  }

  close(): void {
    this.#all.close();
    this.#some.close();
  }
}

const SOME_ATTEMPTS = 3;

function openLine() {
  const conversation = new Conversation(new NetlinkSocket(NETLINK_NETFILTER));
  const exchange = new Exchange(conversation);
  return {
    inTurn: <T>(work: (exchange: Exchange) => Promise<T>) => conversation.inTurn(() => work(exchange)),
    close: () => conversation.close(),
  };
}

/** Counts of whole tables and of chains. A chain that does not exist has counted nothing. Throws SocketError, Interrupted. */
async function readRuleCounts(exchange: Exchange, places: readonly Place[]): Promise<RuleCount[]> {
  const slices = new EventLoopYield();
  const found: RuleCount[] = [];
  for (const place of places) await dump(exchange, place, found, slices);
  return found;
}

async function dump(
  exchange: Exchange,
  { family, chain }: Place,
  found: RuleCount[],
  slices: EventLoopYield,
): Promise<void> {
  const request = {
    type: MSG.GETRULE,
    nfproto: NFPROTO[family],
    attributes: (to: { string(type: number, text: string): void }) => {
      to.string(RULE.TABLE, TABLE_NAME);
      if (chain !== undefined) to.string(RULE.CHAIN, chain);
    },
  };
  const visit = (message: Message) => {
    const count = readCount(family, message);
    // Old kernels do not choose by chain.
    if (count !== undefined && (chain === undefined || count.chain === chain)) found.push(count);
  };
  await exchange.dump(request, slices, visit).catch(error => {
    if (!(error instanceof NotFound)) throw error;
  });
}

/** Undefined where the rule counts nothing, or ends in no verdict. */
function readCount(family: Family, { attributes }: Message): RuleCount | undefined {
  const rule = readAttributes(attributes);
  const [chain, handle, list, userdata] = [RULE.CHAIN, RULE.HANDLE, RULE.EXPRESSIONS, RULE.USERDATA].map(
    type => rule.get(type),
  );
  const { packets, lastMsAgo, verdict } = list === undefined ? {} : readExprs(list);
  if (chain === undefined || handle === undefined || packets === undefined || verdict === undefined)
    return undefined;
  const comment = (userdata && readComment(userdata, UDATA.RULE_COMMENT)) ?? '';
  const count = { family, chain: readString(chain), handle: readU64(handle), comment, verdict, packets };
  return lastMsAgo === undefined ? count : { ...count, lastMsAgo };
}

interface Found {
  packets?: number;
  lastMsAgo?: number;
  verdict?: NftVerdict;
}

function readExprs({ bytes, start, end }: Span): Found {
  const found: Found = {};
  eachAttribute(bytes, start, end, (type, from, to) => {
    if (type === LIST_ELEM) readInto(found, { bytes, start: from, end: to });
  });
  return found;
}

function readInto(found: Found, span: Span): void {
  const attributes = readAttributes(span);
  const [name, data] = [attributes.get(EXPR.NAME), attributes.get(EXPR.DATA)];
  const kind = name === undefined ? '' : readString(name);
  const state = data && (kind === 'counter' || kind === 'last') ? readAttributes(data) : undefined;
  if (kind === 'counter') {
    const packets = state?.get(COUNTER.PACKETS);
    if (packets !== undefined) found.packets = readU64(packets);
  } else if (kind === 'last') {
    const [set, ms] = [state?.get(LAST.SET), state?.get(LAST.MSECS)];
    if (set !== undefined && ms !== undefined && readU32(set) !== 0) found.lastMsAgo = readU64(ms);
  } else if (kind === 'immediate') {
    const expr = readExpr(span);
    if (expr.kind === 'verdict') found.verdict = expr.verdict;
  }
}

/**
 * Packets that the rules of a chain of ours have counted, of both families together: those rules that count, in their
 * order; empty where there is no such chain. Throws SocketError, KernelError.
 */
export async function readCounters(chain: string): Promise<readonly number[]> {
  const places = FAMILIES.map(family => ({ family, chain }));
  const counts = await asking(exchange => untilWhole(() => readRuleCounts(exchange, places)));
  const sums: number[] = [];
  for (const family of FAMILIES)
    for (const [i, { packets }] of counts.filter(count => count.family === family).entries())
      sums[i] = (sums[i] ?? 0) + packets;
  return sums;
}
