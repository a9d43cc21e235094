/** Every statement that is cited has a line in the pages of statements, and every line's proof is there and names it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import {
  CLUSTER_TIERS,
  NETWORK_POLICY,
  UPSTREAM_NETPOL,
  UPSTREAM_TIERS,
} from '../support/scenarios/statements.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGES = ['docs/semantics.md', 'test/kernel/wishes.md', 'test/scenarios/upstream.md'];
const TEXT = PAGES.map(page => readFileSync(join(ROOT, page), 'utf8')).join('');

interface Line {
  readonly number: string;
  readonly text: string;
  readonly proofs: readonly string[];
}

const lines = PAGES.flatMap(linesOf);

/** `| N1 | … | … | [proof](../test/…) |` */
function linesOf(page: string): Line[] {
  const rows = readFileSync(join(ROOT, page), 'utf8').matchAll(
    /^\| ((?:[NCEK]|4\.)\d+) \| (.*) \| ([^|]*) \|$/gm,
  );
  return [...rows].map(([, number, text, last]) => ({
    number: number!,
    text: text!,
    proofs: [...last!.matchAll(/\]\(([^)]+)\)/g)].map(([, path]) => join(dirname(page), path!)),
  }));
}

const known = new Set(lines.map(({ number }) => number));

const files = ['src', 'bench', 'test'].flatMap(folder =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(file => /\.(ts|yaml|md)$/.test(file) && !file.includes('node_modules'))
    .map(file => join(folder, file)),
);

/** Numbers of the letters anywhere; of section 4 in comments and at the beginning of titles only. */
function citedIn(text: string): string[] {
  const lettered = [...text.matchAll(/(?<![\w.:/'-])[NCEK][1-9]\d?(?![\w.'-])/g)].map(([number]) => number);
  const comments = [...text.matchAll(/(?:\/\/|\/?\*|#).*|(?<=')[^'\n]*?(?=: )/g)].join('\n');
  const section4 = [...comments.matchAll(/(?<![\w.=-])4\.\d{1,2}(?=[:),; ]|$)/gm)].map(([number]) => number);
  return [...lettered, ...section4];
}

const cited = new Map<string, string>(
  files.flatMap(file => citedIn(readFileSync(join(ROOT, file), 'utf8')).map(number => [number, file])),
);

test('every number that src and test cite has a line', () => {
  expect(cited.size).toBeGreaterThan(180);
  expect([...cited].filter(([number]) => !known.has(number))).toEqual([]);
});

test('every statement has one line, in order', () => {
  const of = (letter: string) =>
    lines.flatMap(({ number }) => (number.startsWith(letter) && !number.includes('.') ? [number] : []));
  expect(of('N')).toEqual(NETWORK_POLICY);
  expect(of('C')).toEqual(CLUSTER_TIERS);
  expect(of('E')).toEqual(UPSTREAM_NETPOL);
  expect(lines).toHaveLength(known.size);
  expect(UPSTREAM_TIERS.filter(name => !TEXT.includes(`${name}: [`))).toEqual([]);
});

test('every line has a proof that exists and names it, or says why there is none', () => {
  const wrong = lines.flatMap(({ number, text, proofs }) => {
    if (proofs.length === 0) return TEXT.includes(`${text} | none`) ? [] : [`${number} has no proof`];
    // A choice of section 4 is proven by the statements that it became.
    const names = number.startsWith('4.') ? [number, ...text.matchAll(/\b[NC]\d+/g)].map(String) : [number];
    return proofs.flatMap(path => {
      if (!existsSync(join(ROOT, path))) return [`${number}: there is no ${path}`];
      const proof = readFileSync(join(ROOT, path), 'utf8');
      return names.some(name => new RegExp(`\\b${name.replace('.', '\\.')}\\b`).test(proof))
        ? []
        : [`${number}: ${path} does not name it`];
    });
  });
  expect(wrong).toEqual([]);
});
