/**
 * Decodes messages about our tables to a Ruleset. Answers of a dump and messages of a batch have the same layout.
 * Foreign contents must not make it fail; they become parts that no plan of ours wants.
 */

import { keyLength } from '../../../nft/fieldbytes.ts';
import { chainsEqual, ruleEqual, setsEqual } from '../../../nft/plan/equal.ts';
import {
  type BaseHook,
  type Chain,
  type NftRule,
  type NftSet,
  type Ruleset,
  TABLE_NAME,
  type Table,
  type TableFamily,
} from '../../../nft/ruleset.ts';
import {
  eachAttribute,
  readAttributes,
  readString,
  readU32,
  readU64,
  type Span,
} from '../wire/attributes.ts';
import type { Message } from '../wire/messages.ts';
import {
  CHAIN,
  CHAIN_F_BINDING,
  CHAIN_POLICY,
  DATA_VERDICT_TYPE,
  ELEMENTS,
  HOOK,
  HOOK_NUMBER,
  LIST_ELEM,
  MSG,
  NFPROTO,
  RULE,
  SET,
  SET_DESC_SIZE,
  SET_F,
  TABLE,
  TABLE_F,
  UDATA,
} from './constants.ts';
import { ElementsReader } from './elements.ts';
import { readExpr } from './expressions.ts';
import { fieldsOfType } from './keys.ts';
import { readComment } from './userdata.ts';

interface TableDraft {
  readonly flags: number;
  readonly sets: Map<string, ElementsReader>;
  readonly chains: Map<string, ChainDraft>;
  readonly known: Table | undefined;
}

type ChainDraft = Omit<Chain, 'rules'> & { readonly rules: NftRule[] };

const FAMILY_OF = new Map(Object.entries(NFPROTO).map(([family, number]) => [number, family as TableFamily]));
const HOOKS = Object.keys(HOOK_NUMBER) as BaseHook['hook'][]; // by number

/**
 * Takes messages in any order in which referenced objects come before those that refer to them. What is as in `known`
 * becomes the same object: nothing stays in memory twice, and a plan has little to compare.
 */
export class RulesetReader {
  readonly #tables = new Map<TableFamily, TableDraft>();
  readonly #known: Ruleset | undefined;

  constructor(known?: Ruleset) {
    this.#known = known;
  }

  read(message: Message): void {
    const family = FAMILY_OF.get(message.nfproto);
    if (family === undefined) return;
    const attributes = readAttributes(message.attributes);
    switch (message.type) {
      case MSG.NEWTABLE:
        this.#readTable(family, attributes);
        break;
      case MSG.NEWCHAIN:
        this.#readChain(family, attributes);
        break;
      case MSG.NEWSET:
        this.#readSet(family, attributes);
        break;
      case MSG.NEWRULE:
        this.#readRule(family, attributes);
        break;
      case MSG.NEWSETELEM:
        this.#readElements(family, attributes);
    }
  }

  /** NFTA_TABLE_FLAGS of every table of ours that was read. */
  flags(): ReadonlyMap<TableFamily, number> {
    return new Map([...this.#tables].map(([family, { flags }]) => [family, flags]));
  }

  /** The sets whose elements can be read. */
  sets(): { family: TableFamily; name: string; isDynamic: boolean }[] {
    return [...this.#tables].flatMap(([family, { sets }]) =>
      [...sets]
        .filter(([, set]) => set.legible)
        .map(([name, set]) => ({ family, name, isDynamic: set.isDynamic })),
    );
  }

  /** All elements of this set were read. Answers whether they have to be read again (see ElementsReader). */
  settle(family: TableFamily, name: string): boolean {
    return this.#tables.get(family)!.sets.get(name)!.settle();
  }

  ruleset(): Ruleset {
    return { tables: new Map([...this.#tables].map(([family, draft]) => [family, finished(draft)])) };
  }

  #readTable(family: TableFamily, attributes: Attributes): void {
    if (text(attributes, TABLE.NAME) !== TABLE_NAME) return;
    this.#tables.set(family, {
      flags: number(attributes, TABLE.FLAGS) ?? 0,
      sets: new Map(),
      chains: new Map(),
      known: this.#known?.tables.get(family),
    });
  }

  #readChain(family: TableFamily, attributes: Attributes): void {
    const table = this.#table(family, attributes, CHAIN.TABLE);
    const name = text(attributes, CHAIN.NAME);
    // `jump { … }` of a foreign rule: the kernel creates and deletes this chain with the rule.
    const bound = ((number(attributes, CHAIN.FLAGS) ?? 0) & CHAIN_F_BINDING) !== 0;
    if (table === undefined || name === undefined || bound) return;
    const hook = readHook(attributes);
    table.chains.set(name, hook === undefined ? { name, rules: [] } : { name, hook, rules: [] });
  }

  #readSet(family: TableFamily, attributes: Attributes): void {
    const table = this.#table(family, attributes, SET.TABLE);
    // `{ 80, 443 }` of a foreign rule: the kernel creates and deletes this set with the rule.
    const anonymous = ((number(attributes, SET.FLAGS) ?? 0) & SET_F.ANONYMOUS) !== 0;
    if (table === undefined || anonymous) return;
    const set = readSet(attributes);
    // Packets change the elements of a dynamic set.
    const known = set.dynamic === undefined ? table.known?.sets.get(set.name) : undefined;
    table.sets.set(set.name, new ElementsReader(set, known?.elements));
  }

  #readRule(family: TableFamily, attributes: Attributes): void {
    const chain = text(attributes, RULE.CHAIN) ?? '';
    const table = this.#table(family, attributes, RULE.TABLE);
    const rules = table?.chains.get(chain)?.rules;
    if (rules === undefined) return;
    const rule = readRule(attributes);
    const known = table?.known?.chains.get(chain)?.rules[rules.length];
    rules.push(known !== undefined && ruleEqual(rule, known) ? known : rule);
  }

  #readElements(family: TableFamily, attributes: Attributes): void {
    const set = text(attributes, ELEMENTS.SET);
    const list = attributes.get(ELEMENTS.ELEMENTS);
    if (list !== undefined)
      this.#table(family, attributes, ELEMENTS.TABLE)
        ?.sets.get(set ?? '')
        ?.read(list);
  }

  #table(family: TableFamily, attributes: Attributes, type: number): TableDraft | undefined {
    return text(attributes, type) === TABLE_NAME ? this.#tables.get(family) : undefined;
  }
}

type Attributes = ReadonlyMap<number, Span>;

function finished({ flags, sets, chains, known }: TableDraft): Table {
  const isDormant = (flags & TABLE_F.DORMANT) !== 0;
  return {
    sets: new Map([...sets].map(([name, set]) => [name, sharing(set.finished(), known?.sets, sameSets)])),
    chains: new Map(
      [...(isDormant ? unhooked(chains) : chains)].map(([name, chain]) => [
        name,
        sharing(chain, known?.chains, chainsEqual),
      ]),
    ),
  };
}

/** The reserved size is what a plan asks the kernel for. */
function sameSets(a: NftSet, b: NftSet): boolean {
  return a.size === b.size && setsEqual(a, b);
}

/** The known part of that name if it is equal, or this one. */
function sharing<T extends { readonly name: string }>(
  part: T,
  known: ReadonlyMap<string, T> | undefined,
  equal: (a: T, b: T) => boolean,
): T {
  const former = known?.get(part.name);
  return former !== undefined && equal(part, former) ? former : part;
}

/** The chains of a dormant table, without hooks: the kernel does not call them, so a plan must see them as unhooked. */
function unhooked(chains: TableDraft['chains']): Table['chains'] {
  return new Map([...chains].map(([name, { hook: _, ...chain }]) => [name, chain]));
}

function readHook(attributes: Attributes): BaseHook | undefined {
  const nest = attributes.get(CHAIN.HOOK);
  if (nest === undefined) return undefined;
  const hook = readAttributes(nest);
  const type = text(attributes, CHAIN.TYPE);
  return {
    ...((type === 'nat' || type === 'route') && { type }),
    hook: HOOKS[number(hook, HOOK.NUM) ?? 0]!,
    priority: (number(hook, HOOK.PRIORITY) ?? 0) | 0, // signed
    policy: number(attributes, CHAIN.POLICY) === CHAIN_POLICY.drop ? 'drop' : 'accept',
  };
}

function readRule(attributes: Attributes): NftRule {
  const exprs = [];
  const list = attributes.get(RULE.EXPRESSIONS);
  if (list !== undefined) for (const element of elementsOf(list)) exprs.push(readExpr(element));
  const userdata = attributes.get(RULE.USERDATA);
  const comment = userdata && readComment(userdata, UDATA.RULE_COMMENT);
  return comment === undefined ? { exprs } : { exprs, comment };
}

/** The members of a list: attributes that all have the type LIST_ELEM. */
function elementsOf({ bytes, start, end }: Span): Span[] {
  const elements: Span[] = [];
  eachAttribute(bytes, start, end, (type, from, to) => {
    if (type === LIST_ELEM) elements.push({ bytes, start: from, end: to });
  });
  return elements;
}

function number(attributes: Attributes, type: number): number | undefined {
  const span = attributes.get(type);
  return span && readU32(span);
}

function text(attributes: Attributes, type: number): string | undefined {
  const span = attributes.get(type);
  return span && readString(span);
}

/**
 * A set or map without its elements, as NEWSET describes it. A set that we would never make (constants, marks, ranges in
 * a concatenation) has no key fields.
 */
function readSet(attributes: Attributes): NftSet {
  const flags = number(attributes, SET.FLAGS) ?? 0;
  const desc = attributes.get(SET.DESC);
  const size = desc && number(readAttributes(desc), SET_DESC_SIZE);
  const userdata = attributes.get(SET.USERDATA);
  const comment = userdata && readComment(userdata, UDATA.SET_COMMENT);
  const name = attributes.get(SET.NAME);
  const data = dataOf(attributes, flags);
  const dynamic = dynamicOf(attributes, flags, size);
  return {
    name: name === undefined ? '' : readString(name),
    key: keyOf(attributes, flags, data),
    verdicts: number(attributes, SET.DATA_TYPE) === DATA_VERDICT_TYPE,
    ...(data !== undefined && data.length > 0 && { data }),
    interval: (flags & SET_F.INTERVAL) !== 0,
    ...(dynamic !== undefined && { dynamic }),
    ...(comment !== undefined && { comment }),
    ...(size !== undefined && { size }),
    elements: new Map(),
  };
}

const DYNAMIC = SET_F.EVAL | SET_F.TIMEOUT;

function dynamicOf(attributes: Attributes, flags: number, size: number | undefined): NftSet['dynamic'] {
  if ((flags & DYNAMIC) !== DYNAMIC || size === undefined) return undefined;
  const timeout = attributes.get(SET.TIMEOUT);
  return timeout === undefined ? { size } : { size, timeoutMs: readU64(timeout) };
}

/** The fields of a map to data, none where they are not ours; undefined of a set or a verdict map. */
function dataOf(attributes: Attributes, flags: number): NftSet['data'] {
  const type = number(attributes, SET.DATA_TYPE);
  if ((flags & SET_F.MAP) === 0 || type === DATA_VERDICT_TYPE) return undefined;
  const data = fieldsOfType(type ?? 0);
  return data.length > 0 && number(attributes, SET.DATA_LEN) === keyLength(data) ? data : [];
}

function keyOf(attributes: Attributes, flags: number, data: NftSet['data']): NftSet['key'] {
  const key = fieldsOfType(number(attributes, SET.KEY_TYPE) ?? 0);
  const ours =
    ((flags & ~(SET_F.INTERVAL | SET_F.MAP)) === 0 || flags === DYNAMIC) &&
    data?.length !== 0 &&
    ((flags & SET_F.INTERVAL) === 0 || key.length === 1) &&
    number(attributes, SET.KEY_LEN) === keyLength(key);
  return ours ? key : [];
}
