import { beforeAll, expect, test } from 'vitest';
import { type Shop, shop } from './support/shop.ts';
import { PORT } from './support/site.ts';
import { sluice } from './support/sluice.ts';

let place: Shop;
beforeAll(async () => {
  place = await shop('commands');
});

// As deployed: with the mounts of the DaemonSet's pod, and its two capabilities.
test('in the pod of an agent people are told why, what the kernel does, what stands, and how the node is', async () => {
  const { db, web, stranger, namespace } = place;
  const ends = async (wanted: number, ...words: string[]) => {
    const { code, stdout, stderr } = await sluice(db.node, ...words);
    expect(code, `sluice ${words.join(' ')}: ${stderr}${stdout}`).toBe(wanted);
    return stdout;
  };
  const ask = (...words: string[]) => ends(0, ...words);
  const denied = [`${namespace}/stranger`, `${namespace}/db:${PORT}`];
  const allowed = [`${namespace}/web`, `${namespace}/db:${PORT}`];

  const why = await ends(1, 'explain', ...denied);
  expect(why).toContain(
    `deny   ${denied[0]} (${stranger.address}) -> ${namespace}/db (${db.address}):${PORT}/TCP`,
  );
  expect(why).toMatch(new RegExp(`decided +NetworkPolicy ${namespace}/db`));
  expect(await ask('explain', ...allowed)).toContain(`allow  ${allowed[0]} (${web.address})`);

  const dropped = await ask('trace', ...denied);
  expect(dropped).toMatch(new RegExp(`^drop +${denied[0]} `));
  expect(dropped).toContain('agrees: it denies the connection');
  const passed = await ask('trace', ...allowed);
  expect(passed).toMatch(new RegExp(`^accept +${allowed[0]} `));
  expect(passed).toContain('agrees: it allows the connection');

  const standing = await ask('inspect');
  const [its] = standing.split('\n').filter(line => line.startsWith(`${namespace}/db  `));
  for (const address of db.addresses) expect(its).toContain(address);
  expect(standing).toMatch(/^equal: .*the agent's cluster/m);
  expect(await ask('status')).toMatch(new RegExp(`^${db.node} is ready`));
});
