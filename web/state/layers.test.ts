import { expect, test } from 'vitest';
import { layersAround, MOST_ARROWS } from './layers.ts';

/** `a>b` for each arrow; in capital letters it is no workload, and NET is the internet. */
function around(at: string, ...arrows: readonly string[]) {
  const pairs = arrows.map(arrow => arrow.split('>') as [string, string]);
  const names = [...new Set([at, ...pairs.flat()])];
  const found = layersAround({
    at: 0,
    linksOf: (row, way) =>
      pairs
        .filter(([from, to]) => names[row] === (way === 'in' ? to : from))
        .map(([from, to]) => ({ row: names.indexOf(way === 'in' ? from : to), text: 'all', sign: '' })),
    kindOf: row =>
      names[row] === 'NET' ? 'internet' : names[row] === names[row]!.toUpperCase() ? 'other' : 'workload',
  });
  if ('tooMany' in found) return found.tooMany;
  return {
    columns: found.columns.map(column => column.map(row => names[row]).join(' ')),
    arrows: found.arrows.map(({ from, to }) => `${names[from]}>${names[to]}`),
    isCut: found.isCut,
  };
}

test('a column for each step: who may reach it, who may reach those, and the same the other way', () => {
  expect(around('api', 'web>api', 'api>db', 'NET>web', 'db>dns', 'jobs>api')).toEqual({
    columns: ['NET', 'web jobs', 'api', 'db', 'dns'],
    arrows: ['web>api', 'jobs>api', 'api>db', 'NET>web', 'db>dns'],
    isCut: false,
  });
});

test('an arrow leads one column on: none goes back, within a column, or through the internet', () => {
  expect(
    around('api', 'web>api', 'jobs>api', 'web>jobs', 'api>NET', 'NET>web', 'api>api2', 'api2>NET'),
  ).toEqual({
    columns: ['NET', 'web jobs', 'api', 'NET api2'],
    arrows: ['web>api', 'jobs>api', 'api>NET', 'api>api2', 'NET>web'],
    isCut: false,
  });
});

test('nodes and networks are in the first step alone', () => {
  expect(around('api', 'NODE>api', 'web>api', 'NODE>web', 'NODE>jobs', 'jobs>web')).toEqual({
    columns: ['jobs', 'NODE web', 'api'],
    arrows: ['NODE>api', 'web>api', 'jobs>web'],
    isCut: false,
  });
  expect(around('api', 'web>api', 'NODE>web')).toMatchObject({ columns: ['web', 'api'] });
});

test('ends that reach one another do not go round for ever', () => {
  expect(around('a', 'a>b', 'b>c', 'c>a')).toEqual({
    columns: ['b', 'c', 'a', 'b', 'c'],
    arrows: ['c>a', 'a>b', 'b>c', 'b>c'],
    isCut: false,
  });
});

const many = (count: number, arrow: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => arrow(i));

test('steps with more arrows than an eye can follow are left out, and of the first step their number stays', () => {
  expect(around('db', ...many(MOST_ARROWS, i => `w${i}>db`), 'net>w1')).toMatchObject({ isCut: true });
  expect(around('db', 'web>db', ...many(MOST_ARROWS, i => `w${i}>web`))).toEqual({
    columns: ['web', 'db'],
    arrows: ['web>db'],
    isCut: true,
  });
  expect(around('db', ...many(MOST_ARROWS, i => `w${i}>db`), 'db>dns')).toBe(MOST_ARROWS + 1);
});
