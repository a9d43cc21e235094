/** The connections that a change would cut, for people: on a terminal and in a pull request. */
import { plural } from '../../terminal/plural.ts';
import { wrap } from '../../terminal/wrap.ts';
import { escaped } from '../matrix/markdown.ts';
import type { Cut, Cuts } from './cuts.ts';

export function cutLines(cuts: Cuts | undefined, width: number): string[] {
  if (cuts === undefined) return [];
  const each = cuts.cuts.flatMap(cut => [`  ${cutText(cut)}`, ...wrap(`    ${cut.reason}`, width, 6)]);
  return ['', heading(cuts), ...each, ...deniedBeforeText(cuts).flatMap(text => wrap(text, width, 0))];
}

export function cutMarkdown(cuts: Cuts | undefined): string[] {
  if (cuts === undefined) return [];
  const each = cuts.cuts.map(cut => `- ${escaped(cutText(cut))}: ${escaped(cut.reason)}`);
  const title = heading(cuts);
  const left = deniedBeforeText(cuts).flatMap(text => ['', text]);
  return ['', `${title[0]!.toUpperCase()}${title.slice(1)}`, '', ...each, ...left];
}

function heading({ isOpenNow, cuts }: Cuts): string {
  const what = isOpenNow ? 'connection that is open now' : 'recorded connection';
  if (cuts.length === 0) return `no ${what} would be cut`;
  const count = cuts.reduce((sum, { count }) => sum + count, 0);
  const ones = isOpenNow ? 'that are open now' : 'recorded';
  const named = isOpenNow
    ? `${plural(count, 'connection')} ${ones}`
    : `${plural(count, `${ones} connection`)}`;
  return `${named} would be cut:`;
}

/** `guest/visitor -> shop/web  10.0.0.1 -> 10.0.0.2:80/TCP  2 connections`. */
function cutText({ from, to, flow, count }: Cut): string {
  const names = flow.startsWith(`${from} -> ${to}:`) ? '' : `${from} -> ${to}  `;
  return `${names}${flow}${count === 1 ? '' : `  (${plural(count, 'connection')})`}`;
}

function deniedBeforeText({ deniedBefore, isOpenNow }: Cuts): string[] {
  if (deniedBefore === 0) return [];
  const why = isOpenNow ? ': opened by a domain name, or by packets that no policy judged' : '';
  return [`${plural(deniedBefore, 'connection')} left out, which the old policies deny${why}`];
}
