import { expect, test } from 'vitest';
import { LabelSets } from './suggest.ts';

const sets = (...labels: Record<string, string>[]) =>
  new LabelSets({ flows: [], silent: labels.map(each => ({ namespace: 'shop', labels: each })) });

test('a selector means no pod that has these labels and others beside', () => {
  const known = sets(
    { app: 'web' },
    { app: 'web', tier: 'x' },
    { app: 'web', role: 'canary', tier: 'y' },
    { app: 'db' },
  );
  expect(known.selector('shop', { app: 'web' })).toEqual({
    matchLabels: { app: 'web' },
    matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }],
  });
  expect(known.selector('shop', { app: 'db' })).toEqual({ matchLabels: { app: 'db' } });
  expect(known.selector('other', { app: 'web' })).toEqual({ matchLabels: { app: 'web' } });
});

test('pods without labels are those that have none of the others', () => {
  expect(sets({}, { app: 'web' }, { name: 'x' }).selector('shop', {})).toEqual({
    matchExpressions: [
      { key: 'app', operator: 'DoesNotExist' },
      { key: 'name', operator: 'DoesNotExist' },
    ],
  });
});
