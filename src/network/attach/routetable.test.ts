import { expect, test } from 'vitest';
import type { Route } from '../../kernel/netlink/route/rtnetlink.ts';
import { RouteTable } from './nodeinterfaces.ts';

class Site {
  dumps = 0;
  changed = false;
  fails = false;
  nowMs = 0;
  readonly table = new RouteTable({
    dump: async () => {
      this.dumps++;
      if (this.fails) throw new Error('EINTR');
      return [] as Route[];
    },
    hasChanged: () => this.changed,
    now: () => this.nowMs,
  });
}

test('routes() are read once while nothing changes, and answered as the same array', async () => {
  const site = new Site();
  const first = await site.table.routes();
  expect(await site.table.routes()).toBe(first);
  expect(site.dumps).toBe(1);
});

test('routes() are read again after a change', async () => {
  const site = new Site();
  const first = await site.table.routes();
  site.changed = true;
  expect(await site.table.routes()).not.toBe(first);
  site.changed = false;
  await site.table.routes();
  expect(site.dumps).toBe(2);
});

test('a change while routes() are read is not missed by the next', async () => {
  const site = new Site();
  const first = site.table.routes();
  site.changed = true;
  const second = site.table.routes();
  expect(await second).not.toBe(await first);
});

test('routes() are read again after five minutes, changed or not', async () => {
  const site = new Site();
  await site.table.routes();
  site.nowMs = 299_999;
  await site.table.routes();
  expect(site.dumps).toBe(1);
  site.nowMs = 300_000;
  await site.table.routes();
  expect(site.dumps).toBe(2);
});

test('routes() that could not be read are read again', async () => {
  const site = new Site();
  site.fails = true;
  await expect(site.table.routes()).rejects.toThrow('EINTR');
  site.fails = false;
  expect(await site.table.routes()).toEqual([]);
});
