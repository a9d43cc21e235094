/** A ruleset as text that `nft -f` loads, with sets first. */
import {
  type BaseHook,
  type Chain,
  type ElementKey,
  type ElementValue,
  type NftSet,
  type Ruleset,
  TABLE_FAMILIES,
  TABLE_NAME,
  type Table,
  type TableFamily,
} from '../ruleset.ts';
import { formatRule, formatVerdict, quote } from './rule.ts';
import { timeText } from './time.ts';

export { formatRule };

/** Ends with a newline, unless there are no tables. */
export function formatRuleset({ tables }: Ruleset): string {
  return TABLE_FAMILIES.flatMap(family => {
    const table = tables.get(family);
    return table === undefined ? [] : [formatTable(family, table)];
  }).join('\n');
}

function formatTable(family: TableFamily, { sets, chains }: Table): string {
  const parts = [
    ...Array.from(sets.values(), formatSet),
    ...Array.from(chains.values(), chain => formatChain(family, chain)),
  ];
  return `table ${family} ${TABLE_NAME} {\n${parts.map(indent).join('\n')}}\n`;
}

function formatSet(set: NftSet): string {
  const { name, key, verdicts, data, interval, dynamic, comment, size = dynamic?.size } = set;
  const leadsTo = verdicts ? 'verdict' : data?.join(' . ');
  const type = key.length === 0 ? '# a key that is not ours' : `type ${key.join(' . ')}`;
  const lines = [
    leadsTo === undefined ? type : `${type} : ${leadsTo}`,
    ...(size === undefined ? [] : [`size ${size}`]),
    ...(interval ? ['flags interval'] : []),
    ...(dynamic === undefined ? [] : ['flags dynamic,timeout']),
    ...(dynamic?.timeoutMs === undefined ? [] : [`timeout ${timeText(dynamic.timeoutMs)}`]),
    ...(comment === undefined ? [] : [`comment ${quote(comment)}`]),
    ...elementLines(set),
  ];
  return block(`${leadsTo === undefined ? 'set' : 'map'} ${name}`, lines);
}

const LINE_LENGTH = 100;

/** On one line if they fit; otherwise one on each line. */
function elementLines({ elements }: NftSet): string[] {
  if (elements.size === 0) return [];
  const texts = Array.from(elements, formatElement);
  const line = `elements = { ${texts.join(', ')} }`;
  if (line.length <= LINE_LENGTH) return [line];
  return ['elements = {', ...texts.map((text, i) => `\t${text}${i < texts.length - 1 ? ',' : ''}`), '}'];
}

function formatElement([key, value]: readonly [ElementKey, ElementValue]): string {
  const { verdict, data, comment, leftMs } = value;
  const timed = leftMs === undefined ? key : `${key} expires ${timeText(leftMs)}`;
  const commented = comment === undefined ? timed : `${timed} comment ${quote(comment)}`;
  const leadsTo = verdict === undefined ? data : formatVerdict(verdict);
  return leadsTo === undefined ? commented : `${commented} : ${leadsTo}`;
}

export function formatChain(family: TableFamily, { name, hook, rules }: Chain): string {
  return block(`chain ${name}`, [
    ...(hook === undefined ? [] : [hookText(hook)]),
    ...rules.map(rule => formatRule(family, rule)),
  ]);
}

function hookText({ type, hook, priority, policy }: BaseHook): string {
  const place = `${type ?? 'filter'} hook ${hook} priority ${PRIORITY_NAMES[priority] ?? priority}`;
  return `type ${place}; policy ${policy};`;
}

/** The names of priorities that nft accepts at every hook of the IP families. */
const PRIORITY_NAMES: Readonly<Record<number, string>> = { [-300]: 'raw', [-150]: 'mangle', 0: 'filter' };

function block(head: string, lines: readonly string[]): string {
  return `${head} {\n${lines.map(line => `\t${line}\n`).join('')}}\n`;
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '\t');
}
