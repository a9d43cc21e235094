/** What the page shows of random clusters is what `sluice matrix -o json` and `explain -o json` say of them. */
import fc from 'fast-check';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { EditModel } from '../../src/answers/edit/editmodel.ts';
import { ask } from '../../src/answers/questions/ask.ts';
import { answerObject } from '../../src/answers/questions/explanation.ts';
import { endText, matrixObject, rowsOf } from '../../src/answers/reach/rows.ts';
import { type Manifests, manifestsArbitrary } from '../support/arbitrary/manifests.ts';
import { runs, SEED } from '../support/seed.ts';
import { openManifests, sharedSite } from './support/browser.ts';

const CLUSTERS = runs(1_000, 25);

const shared = sharedSite();

test('the list of the page has the connections of the matrix, and an explanation has the verdict and the walk', async () => {
  const { page, wrong } = shared.window();
  let connections = 0;
  for (const [i, manifests] of fc.sample(manifestsArbitrary, { numRuns: CLUSTERS, seed: SEED }).entries()) {
    const files = filesOf(manifests, i);
    await openManifests(page, files);
    const expected = expectedOf(files);
    const shown = await listShown(page, i);
    expect(shown).toEqual(expected.connections);
    connections += shown.length;
    await compareExplanation(page, files, shown, i);
  }
  expect(connections).toBeGreaterThan(CLUSTERS * 20);
  expect(wrong).toEqual([]);
}, 3_600_000);

function filesOf({ world, policies, others }: Manifests, i: number): readonly (readonly [string, string])[] {
  const items = [...world, ...policies, ...others];
  return [[`cluster-${i}.json`, JSON.stringify({ apiVersion: 'v1', kind: 'List', items })]];
}

function modelOf(files: readonly (readonly [string, string])[]): EditModel {
  const model = new EditModel();
  model.open(new Map(files));
  return model;
}

interface MatrixPrinted {
  readonly ends: readonly {
    readonly kind: string;
    readonly members: readonly string[];
    readonly parts: Readonly<Record<string, string>>;
  }[];
  readonly connections: readonly {
    readonly from: number;
    readonly to: number;
    readonly ipv4: Printed;
    readonly ipv6: Printed;
  }[];
}

type Printed = { readonly text: string } | null;

/** `shop/web -> shop/db: TCP 80`, by the JSON alone. */
function expectedOf(files: readonly (readonly [string, string])[]): {
  readonly connections: readonly string[];
} {
  const view = modelOf(files).matrix();
  const printed = JSON.parse(
    JSON.stringify(
      matrixObject(
        view,
        rowsOf(view, () => true),
        [],
      ),
    ),
  ) as MatrixPrinted;
  expect(endText(view.ends[0]!)).not.toBe('');
  const names = (end: number) => {
    const { kind, members, parts } = printed.ends[end]!;
    return members.map(member => {
      const name = kind === 'workload' ? member.replace(/^\S+ /, '') : member;
      return parts[member] === undefined ? name : `${name} (${parts[member]})`;
    });
  };
  const all = printed.connections.flatMap(({ from, to, ipv4, ipv6 }) =>
    names(from).flatMap(a => names(to).map(b => `${a} -> ${b}: ${textOf(ipv4, ipv6)}`)),
  );
  return { connections: all.sort() };
}

function textOf(ipv4: Printed, ipv6: Printed): string {
  if (ipv4 === null || ipv6 === null || ipv4.text === ipv6.text) return (ipv4 ?? ipv6)!.text;
  return `IPv4 ${ipv4.text} | IPv6 ${ipv6.text}`;
}

/** The rows of the list, once it is of this cluster: its link names no other file. */
async function listShown(page: Page, i: number): Promise<readonly string[]> {
  if (i === 0) await page.getByRole('button', { name: 'List', exact: true }).click();
  await page.locator(`[data-opened="cluster-${i}.json"] .list`).waitFor();
  for (;;) {
    const more = page.locator('.list > button');
    if ((await more.count()) === 0) break;
    await more.click();
  }
  const rows = await page.evaluate<string[]>(
    `[...document.querySelectorAll('.list tbody tr')].map(({ cells: [from, to, what] }) => from.textContent + ' -> ' + to.textContent + ': ' + what.textContent)`,
  );
  return rows.sort();
}

async function compareExplanation(
  page: Page,
  files: readonly (readonly [string, string])[],
  shown: readonly string[],
  i: number,
): Promise<void> {
  if (shown.length === 0) return;
  await page
    .locator('.list tbody tr button')
    .nth((i * 7) % shown.length)
    .click();
  const why = page.locator('.why');
  await why.locator('.verdict').waitFor();
  const command = await why.locator('code').last().innerText();
  const [from = '', to = ''] = wordsOf(command).slice(2);
  const { cluster, inventory } = modelOf(files).now;
  const view = {
    cluster,
    inventory,
    knowsInventory: true,
    defaultNamespace: 'default',
    unknownPods: 'allow',
  } as const;
  const [result] = ask(view, [{ from, to }]);
  const answer = answerObject(result!, view, []) as Answer;
  expect([command, await why.locator('.verdict').innerText()]).toEqual([command, WORDS[answer.verdict]]);
  expect(await why.locator('.reason').innerText()).toBe(answer.reason);
  const stops = [answer.egress, answer.ingress].flatMap(way => way?.stops ?? []);
  const listed = await page.evaluate<string[]>(
    `[...document.querySelectorAll('.why .stop')].map(each => each.querySelector('b').textContent + ' ' + (each.querySelector('code')?.textContent ?? ''))`,
  );
  expect(listed).toEqual(stops.map(({ policy, rule = '' }) => `${policy.replace(/^\S+ /, '')} ${rule}`));
  await why.getByRole('button', { name: 'Close' }).click();
}

/** As a shell takes it apart. */
function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''));
}

interface Answer {
  readonly verdict: 'allow' | 'deny' | 'undecided';
  readonly reason: string;
  readonly egress?: { readonly stops: readonly { readonly policy: string; readonly rule?: string }[] };
  readonly ingress?: { readonly stops: readonly { readonly policy: string; readonly rule?: string }[] };
}

const WORDS = { allow: '✓ allowed', deny: '✕ denied', undecided: '? undecided' } as const;
