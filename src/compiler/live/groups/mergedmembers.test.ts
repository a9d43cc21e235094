import { expect, test } from 'vitest';
import { Builder } from '../../builder.ts';
import { ClassBuilder } from '../../parts.ts';
import type { LiveGroups } from './groups.ts';
import { MergedMembers } from './mergedmembers.ts';

const MEMBERS = 7;

/** Groups with the same number of members each, which count how often they are asked for it. */
function countedGroups() {
  const counted = { changes: 0, asked: 0, members: MEMBERS, groups: undefined as unknown as LiveGroups };
  counted.groups = {
    get changes() {
      return counted.changes;
    },
    sizeOf() {
      counted.asked++;
      return counted.members;
    },
  } as unknown as LiveGroups;
  return counted;
}

/** A part with one merged set and one set of a single peer. */
function part(n: number) {
  const made = new Builder('ip');
  const namespaces = { kind: 'name', name: `n${n}` } as const;
  const peer = (key: string) => ({
    kind: 'pods' as const,
    selector: { namespaces, pods: { requirements: [{ key, operator: 'Exists' as const, values: [] }] } },
  });
  made.group({ kind: 'peers', peers: [peer('a'), peer('b')] });
  made.group({ kind: 'peers', peers: [peer('c')] });
  return { key: `${n}`, name: `from-${n}`, policies: [], made };
}

const parts = Array.from({ length: 16 }, (_, n) => part(n));
const classes = Array.from({ length: 100 }, () => {
  const builder = new ClassBuilder('ip');
  for (const one of parts) builder.shared.add(one);
  return builder;
});

test('however many classes have a part, its sets are counted once', () => {
  const counted = countedGroups();
  const merged = new MergedMembers(counted.groups);
  for (let change = 0; change < 10; change++)
    for (const builder of classes) expect(merged.count(builder)).toBe(parts.length * MEMBERS);
  expect(counted.asked).toBe(parts.length);
});

test('they are counted again when members have changed too often', () => {
  const counted = countedGroups();
  const merged = new MergedMembers(counted.groups);
  const [builder] = classes as [ClassBuilder];
  merged.count(builder);
  Object.assign(counted, { changes: 1_000, members: 3 * MEMBERS });
  expect(merged.count(builder)).toBe(parts.length * MEMBERS);
  counted.changes++;
  expect(merged.count(builder)).toBe(parts.length * 3 * MEMBERS);
});
