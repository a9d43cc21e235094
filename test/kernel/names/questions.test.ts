/** What is said of peers by name while packets go by: explain, trace, inspect and status, of a running agent. */
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { sluice } from '../../support/agent/sluice.ts';
import { hearingGround } from './hearingground.ts';

/** What was told at first holds until the last question, however slow the machine is. */
const FLOOR_SECONDS = '3600';

const ground = hearingGround({
  names: ['*.t.example', 'exact1.example'],
  agent: ['--dns-floor', FLOOR_SECONDS],
});
beforeAll(async () => {
  expect((await ground.visit({ names: ['n7.t.example'] })).connected).toHaveLength(1);
});

/** In the node, as root there would. */
function asked(...words: string[]) {
  const { status, stdout, stderr } = inNamespace(ground.nodePath, () => sluice(...words));
  return { status, text: stdout + stderr };
}

const byAgent = () => ['--socket', join(ground.folder, 'sluice.sock')];
const byManifests = () => ['--manifests', join(ground.folder, 'm'), '--node', 'n1'];
const HELD = / to shop\/web: 10\.1\.0\.53 answered so \d+ s ago, and it holds for /;
const line = (text: string) => text.replaceAll(/\s+/g, ' ');

test('explain of a name says who told it, and of an address under which name it is allowed', () => {
  const name = asked('explain', 'shop/web@4', 'N7.t.example.:80', ...byAgent());
  expect(name.status, name.text).toBe(0);
  expect(name.text).toContain('allows domain *.t.example on any port');
  expect(name.text).toContain('allowed now, for 10.98.0.7 for ');
  const address = asked('explain', 'shop/web', '10.98.0.7:80', ...byAgent());
  expect(line(name.text)).toMatch(new RegExp(`n7.t.example is 10.98.0.7${HELD.source}`));
  expect(line(address.text)).toMatch(new RegExp(`10.98.0.7 is n7.t.example${HELD.source}`));
  const json = JSON.parse(asked('explain', 'shop/web', '10.98.0.7:80', ...byAgent(), '-o', 'json').text);
  expect(json.told).toMatchObject([
    { pod: 'shop/web', name: 'n7.t.example', address: '10.98.0.7', from: '10.1.0.53' },
  ]);
  expect(line(address.text)).toContain('policy would allow it'); // Of all Services the agent knows none.
  const other = asked('explain', 'shop/web', '10.98.0.8:80', ...byAgent());
  expect(other.status).not.toBe(0);
  expect(other.text).toContain('shop/web had received a DNS answer that *.t.example is 10.98.0.8');
});

test('trace agrees with policy about an address that a name allows, and takes the name', () => {
  for (const source of [byAgent(), byManifests()]) {
    const allowed = asked('trace', 'shop/web', '10.98.0.7:80', ...source);
    expect(allowed, allowed.text).toMatchObject({ status: 0, text: expect.stringContaining('accept') });
    const denied = asked('trace', 'shop/web', '10.98.0.8:80', ...source);
    expect(denied, denied.text).toMatchObject({ status: 0, text: expect.stringContaining('drop') });
  }
  const named = asked('trace', 'shop/web', 'n7.t.example:80', ...byAgent());
  expect(named, named.text).toMatchObject({
    status: 0,
    text: expect.stringContaining('n7.t.example is 10.98.0.7 to shop/web'),
  });
  expect(asked('trace', 'shop/web', 'n9.t.example:80', ...byAgent()).text).toContain(
    'shop/web has received no DNS answer for n9.t.example that holds now',
  );
  expect(asked('trace', 'shop/web', 'n7.t.example:80', ...byManifests()).text).toContain(
    'rules have addresses only',
  );
});

test('inspect shows what each pod was told, and finds no difference', () => {
  for (const source of [byAgent(), byManifests()]) {
    const { status, text } = asked('inspect', ...source);
    expect(text).toMatch(/names +.*\*\.t\.example.*: 10\.98\.0\.7 \((at most )?\d+ min( \d+ s)?( more)?\)/);
    expect(text).toContain('equal');
    expect(status, text).toBe(0);
  }
});

test('status says what was heard, and a dump answers later', () => {
  const { text } = asked('status', ...byAgent());
  expect(text).toMatch(
    /ok +names +\d pods have rules by name; of the answers of \S+, 10\.96\.0\.10, fd00:96::10, \d+ were read/,
  );
  const dump = asked('inspect', 'dump', ...byAgent());
  ground.write('../dump.json', dump.text);
  const later = asked('explain', 'shop/web', '10.98.0.7:80', '--dump', join(ground.folder, 'dump.json'));
  expect(line(later.text)).toMatch(new RegExp(`10.98.0.7 is n7.t.example${HELD.source}`));
});
