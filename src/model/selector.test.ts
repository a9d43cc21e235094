import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../test/support/seed.ts';
import { matchesMany } from './manyrequirements.ts';
import { type Labels, matchesLabels, type Operator, podSelectorText, selectorText } from './selector.ts';

const one = (key: string, operator: Operator, ...values: string[]) => ({
  requirements: [{ key, operator, values }],
});

describe('matchesLabels()', () => {
  test.each<[string, ReturnType<typeof one>, Labels, boolean]>([
    ['In holds for a listed value', one('a', 'In', '1', '2'), { a: '2' }, true],
    ['In does not hold for another value', one('a', 'In', '1'), { a: '2' }, false],
    ['N55: In does not hold without the key', one('a', 'In', '1'), {}, false],
    ['N57: In of the empty value does not hold without the key', one('a', 'In', ''), {}, false],
    ['N57: In of the empty value holds for it', one('a', 'In', ''), { a: '' }, true],
    ['NotIn does not hold for a listed value', one('a', 'NotIn', '1'), { a: '1' }, false],
    ['N56: NotIn holds without the key', one('a', 'NotIn', '1'), {}, true],
    ['Exists holds for the empty value', one('a', 'Exists'), { a: '' }, true],
    ['DoesNotExist does not hold for the empty value', one('a', 'DoesNotExist'), { a: '' }, false],
    ['a key that every object inherits is no label', one('constructor', 'Exists'), {}, false],
    [
      'such a key is a label where it is one',
      one('constructor', 'In', 'x'),
      { constructor: 'x' } as never,
      true,
    ],
  ])('%s', (_, selector, labels, expected) => expect(matchesLabels(selector, labels)).toBe(expected));

  test('N58: no requirement selects everything', () =>
    expect(matchesLabels({ requirements: [] }, {})).toBe(true));

  test('N55: all requirements must hold', () => {
    const both = { requirements: [...one('a', 'Exists').requirements, ...one('b', 'Exists').requirements] };
    expect(matchesLabels(both, { a: '1', b: '2' })).toBe(true);
    expect(matchesLabels(both, { a: '1' })).toBe(false);
  });
});

test('selectorText() writes what kubectl reads', () => {
  const requirements = [
    ...one('app', 'In', 'web').requirements,
    ...one('tier', 'In', 'a', 'b').requirements,
    ...one('env', 'NotIn', 'dev').requirements,
    ...one('x', 'Exists').requirements,
    ...one('y', 'DoesNotExist').requirements,
  ];
  expect(selectorText({ requirements })).toBe('app=web,tier in (a, b),env!=dev,x,!y');
  expect(podSelectorText({ namespaces: { kind: 'name', name: 'shop' }, pods: one('app', 'In', 'web') })).toBe(
    'pods app=web in namespace shop',
  );
});

test('matchesMany() says of any selector what its requirements say one by one', () => {
  const word = fc.constantFrom('a', 'b', 'constructor');
  const requirement = fc.record({
    key: word,
    operator: fc.constantFrom<Operator>('In', 'NotIn', 'Exists', 'DoesNotExist'),
    values: fc.array(word, { minLength: 1, maxLength: 2 }),
  });
  const labels = fc.array(fc.tuple(word, word)).map(pairs => Object.fromEntries(pairs));
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 4 }), labels, (requirements, labels) => {
      const oneByOne = requirements.every(requirement =>
        matchesLabels({ requirements: [requirement] }, labels),
      );
      expect(matchesMany({ requirements }, labels)).toBe(oneByOne);
    }),
    { numRuns: runs(2_000) },
  );
});
