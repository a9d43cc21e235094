import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Elements, MEMBER } from '../ruleset.ts';
import { changedKeys, MemberHistory } from './history.ts';

const KEYS = ['a', 'b', 'c', 'd', 'e'];

/** Adds the key if it is missing, and deletes it otherwise. */
function toggle(history: MemberHistory, key: string): void {
  if (history.has(key)) history.delete(key);
  else history.add(key);
}

/** All content of a version, read in every way that its interface has. */
function everything(elements: Elements): unknown {
  const visited: [string, unknown][] = [];
  elements.forEach((value, key) => {
    visited.push([key, value]);
  });
  return {
    size: elements.size,
    entries: [...elements].sort(),
    keys: [...elements.keys()].sort(),
    values: [...elements.values()],
    visited: visited.sort(),
    asked: KEYS.map(key => [key, elements.has(key), elements.get(key)]),
  };
}

function mapOf(elements: Elements): Elements {
  return new Map(elements);
}

const togglesArbitrary = fc.array(fc.array(fc.constantFrom(...KEYS), { maxLength: 6 }), { maxLength: 6 });

describe('MemberHistory', () => {
  test('every version stays what it was, whatever came after it', () => {
    fc.assert(
      fc.property(togglesArbitrary, changes => {
        const history = new MemberHistory();
        const versions: [Elements, Elements][] = [];
        for (const keys of changes) {
          for (const key of keys) toggle(history, key);
          const now = history.now();
          versions.push([now, mapOf(now)]);
        }
        for (const [version, then] of versions) expect(everything(version)).toEqual(everything(then));
      }),
    );
  });

  test('has the members that were added and not deleted since', () => {
    const history = new MemberHistory();
    history.add('a');
    history.add('b');
    history.delete('a');
    expect([...history.now()]).toEqual([['b', MEMBER]]);
  });

  test('tells the same object until a member changes, and another one after', () => {
    const history = new MemberHistory();
    history.add('a');
    const now = history.now();
    expect(history.now()).toBe(now);
    history.add('b');
    expect(history.now()).not.toBe(now);
  });
});

describe('changedKeys()', () => {
  test('names every key that differs, and only keys that were touched', () => {
    fc.assert(
      fc.property(togglesArbitrary, togglesArbitrary, (before, after) => {
        const history = new MemberHistory();
        for (const keys of before) for (const key of keys) toggle(history, key);
        const older = history.now();
        const then = mapOf(older);
        for (const keys of after) {
          for (const key of keys) toggle(history, key);
          history.now();
        }
        const newer = history.now();
        const changed = new Set(changedKeys(older, newer));
        for (const key of KEYS) {
          if (then.has(key) !== newer.has(key)) expect(changed).toContain(key);
          if (!after.flat().includes(key)) expect(changed).not.toContain(key);
        }
      }),
    );
  });

  test('knows nothing of two sets of which the one did not become the other', () => {
    const [one, other] = [new MemberHistory(), new MemberHistory()];
    expect(changedKeys(one.now(), other.now())).toBeUndefined();
    expect(changedKeys(one.now(), new Map())).toBeUndefined();
    const older = one.now();
    one.add('a');
    expect(changedKeys(one.now(), older)).toBeUndefined();
  });
});
