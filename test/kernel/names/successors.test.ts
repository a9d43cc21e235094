/** An address of a pod is given to another one: what the first was told by DNS is not open to the second. */
import { expect, test } from 'vitest';
import { clusterText, HOSTS, SLOW } from '../../support/names/ground.ts';
import { hearingGround } from './hearingground.ts';

const ground = hearingGround();

const WEB = 'metadata: { name: web, namespace: shop,';
const successor = (name: string, uid: string) =>
  `metadata: { name: ${name}, namespace: shop, uid: ${uid}, creationTimestamp: '${new Date(Date.now() + 1_000).toISOString()}',`;

function rename(name: string, uid: string): void {
  ground.write('cluster.yaml', clusterText(1).replace(WEB, successor(name, uid)));
}

/** With the rules of the first: it may ask, and go to what it is told. */
const told = async (name: string) => (await ground.visit({ names: [name] })).connected.length === 1;

const isOpen = async (peer: string) =>
  (await ground.visit({ names: [peer], patienceMs: 300 * SLOW })).connected.length === 1;

test(
  'while no agent runs: a pod of another name, and then one of the same name',
  async () => {
    expect(await told('n1.t.example')).toBe(true);
    await ground.agent!.kill();
    rename('web-2', 'u2');
    await ground.startAgent();
    await ground.readingAnswers();
    await ground.until(() => !ground.isLearnt('10.98.0.1'));
    expect(await isOpen('10.98.0.1')).toBe(false);
    expect(await told('n2.t.example')).toBe(true);
    await ground.agent!.kill();
    rename('web-2', 'u3');
    await ground.startAgent();
    await ground.readingAnswers();
    await ground.until(() => !ground.isLearnt('10.98.0.2'));
    expect(await isOpen('10.98.0.2')).toBe(false);
  },
  300_000 * SLOW,
);

test(
  'while no agent runs a pod ends, and another has its address when one does',
  async () => {
    expect(await told('n3.t.example')).toBe(true);
    await ground.agent!.kill();
    const all = clusterText(1);
    ground.write(
      'cluster.yaml',
      all.replace(/apiVersion: v1\nkind: Pod\nmetadata: { name: web,(?:.*\n)*?---\n/, ''),
    );
    await ground.startAgent();
    await ground.until(() => ground.agent!.output.includes('reading DNS answers'));
    ground.write('cluster.yaml', all); // when it was created nobody knows
    await ground.agent!.inForce(2);
    expect(await isOpen('10.98.0.3')).toBe(false);
    expect(await told('n4.t.example')).toBe(true);
  },
  300_000 * SLOW,
);

test(
  'in one round a pod ends, and another of its name begins, or of its address alone',
  async () => {
    await ground.agent!.kill();
    rename('web', 'u4');
    await ground.startAgent();
    await ground.readingAnswers();
    const followers = [
      ['web', 'u5'],
      ['web', 'u6'],
      ['web-7', 'u7'],
    ] as const;
    for (const [i, [name, uid]] of followers.entries()) {
      expect(await told(`n${10 + i}.t.example`)).toBe(true);
      rename(name, uid);
      await ground.until(() => !ground.isLearnt(`10.98.0.${10 + i}`));
      expect(await isOpen(`10.98.0.${10 + i}`)).toBe(false);
    }
  },
  300_000 * SLOW,
);

test(
  'a pod ends whose address leads nowhere since: what it was told is forgotten all the same',
  async () => {
    await ground.agent!.kill();
    rename('web', 'u9');
    await ground.startAgent();
    await ground.readingAnswers();
    expect(await told('n20.t.example')).toBe(true);
    const ways = ['-4', '-6'].map((family, i) => [family, HOSTS.web[i]!] as const);
    const before = ways.map(([family, to]) =>
      ground.exec(ground.nodePath, 'ip', family, 'route', 'show', to).trim().split(/\s+/),
    );
    for (const [family, to] of ways)
      ground.exec(ground.nodePath, 'ip', family, 'route', 'replace', 'blackhole', to);
    rename('web', 'u10');
    await ground.until(() => !ground.isLearnt('10.98.0.20'));
    for (const [i, [family, to]] of ways.entries()) {
      ground.exec(ground.nodePath, 'ip', family, 'route', 'flush', to);
      ground.exec(ground.nodePath, 'ip', family, 'route', 'add', ...before[i]!);
    }
    expect(await isOpen('10.98.0.20')).toBe(false);
    expect(await told('n21.t.example')).toBe(true);
  },
  300_000 * SLOW,
);
