import { describe, expect, test } from 'vitest';
import type { PodNetwork } from '../attach/podnetwork.ts';
import { NetworkError } from '../error.ts';
import { answerCni, type CniParts, type NetworkUnavailable } from './cni.ts';

const REQUEST = {
  command: 'ADD',
  container_id: 'box',
  netns: '/run/netns/x',
  ifname: 'eth0',
  args: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web',
  config: '{"cniVersion":"1.1.0"}',
};
const admission = { admit: async () => {}, adopt: () => {}, withdraw: () => {} };

function refusing(code: 'exhausted' | 'unavailable' | 'conflict' | 'invalid'): CniParts {
  const attach = async () => {
    throw new NetworkError(code, 'because');
  };
  return { admission, network: { attach, detach: async () => {} } as unknown as PodNetwork };
}

async function answer(
  change: Partial<typeof REQUEST>,
  parts: CniParts | undefined = refusing('exhausted'),
  unavailable: readonly NetworkUnavailable[] = [],
) {
  const { output, failed } = await answerCni(parts, { ...REQUEST, ...change }, async () => unavailable);
  return { failed, ...(output === '' ? {} : JSON.parse(output)) };
}

describe('answerCni() names what is wrong by the code of the specification', () => {
  test.each([
    ['no JSON', { config: 'garbage' }, 6, /no JSON/],
    ['no object', { config: '7' }, 6, /no JSON object/],
    ['another version', { config: '{"cniVersion":"9.9.9"}' }, 1, /9\.9\.9/],
    ['another verb', { command: 'FLY' }, 4, /CNI_COMMAND "FLY"/],
    ['no sandbox', { container_id: '' }, 4, /^CNI_CONTAINERID: /],
    ['no interface', { ifname: '' }, 4, /^CNI_IFNAME: /],
    ['no namespace', { netns: '' }, 4, /^CNI_NETNS: /],
    ['no pod', { args: '' }, 4, /^CNI_ARGS: /],
    ['no list of ports', { config: '{"runtimeConfig":{"portMappings":7}}' }, 7, /./],
    ['no port', { config: '{"runtimeConfig":{"portMappings":[{"hostPort":1}]}}' }, 7, /./],
    ['null as a port', { config: '{"runtimeConfig":{"portMappings":[null]}}' }, 7, /./],
    ['no address', { config: '{"prevResult":{"ips":[{"address":"x"}]}}' }, 7, /prevResult/],
    ['no addresses', { config: '{"prevResult":{"ips":7}}' }, 7, /./],
    ['a number as the result before', { config: '{"prevResult":5}' }, 7, /prevResult 5 is no JSON object/],
    ['zero as the result before', { config: '{"prevResult":0}' }, 7, /prevResult 0 is no JSON object/],
    ['a text as the result before', { config: '{"prevResult":"x"}' }, 7, /prevResult "x" is no/],
    ['a list as the result before', { config: '{"prevResult":[]}' }, 7, /prevResult \[\] is no/],
    ['a number as the result to CHECK', { command: 'CHECK', config: '{"prevResult":5}' }, 7, /prevResult 5/],
    ['a pattern as interface', { ifname: 'eth%d' }, 4, /^CNI_IFNAME: interface "eth%d" is no name/],
    ['no list to GC', { command: 'GC', config: '{"cni.dev/valid-attachments":7}' }, 7, /valid-attachments/],
    [
      'an attachment of no sandbox to GC',
      { command: 'GC', config: '{"cni.dev/valid-attachments":[{"ifname":"eth0"}]}' },
      7,
      /id ""/,
    ],
    ['a list of nothing to GC', { command: 'GC', config: '{"cni.dev/valid-attachments":[null]}' }, 7, /./],
  ])('%s', async (_, change, code, msg) => {
    expect(await answer(change)).toMatchObject({ failed: true, code, msg: expect.stringMatching(msg) });
  });

  test.each([
    ['exhausted', 11],
    ['unavailable', 11],
    ['conflict', 100],
    ['invalid', 4],
  ] as const)('what the network finds %s', async (found, code) => {
    expect(await answer({}, refusing(found))).toMatchObject({ code, msg: 'because', cniVersion: '1.1.0' });
  });
});

test('GC without a list, or with none, takes what we know to be dead, and not all', async () => {
  const collected: string[] = [];
  const network = {
    collect: async () => void collected.push('dead'),
    collectAllBut: async (valid: readonly object[]) => void collected.push(`all but ${valid.length}`),
  } as unknown as PodNetwork;
  const gc = (config: object) =>
    answer({ command: 'GC', config: JSON.stringify(config) }, { admission, network });
  for (const config of [{}, { 'cni.dev/valid-attachments': null }, { 'cni.dev/valid-attachments': [] }])
    expect(await gc(config)).toEqual({ failed: false });
  expect(collected).toEqual(['dead', 'dead', 'all but 0']);
});

describe('STATUS', () => {
  const status = (unavailable: readonly NetworkUnavailable[]) =>
    answer({ command: 'STATUS' }, { admission }, unavailable);

  test('is silent while nothing is in the way', async () => {
    expect(await status([])).toEqual({ failed: false });
  });

  test('says by its code whether pods that run are cut off too, and why', async () => {
    const exhausted = { name: 'pod-addresses', reason: 'all 6 addresses are in use' };
    const closed = { name: 'ip-forward', reason: 'net.ipv4.ip_forward is 0' };
    expect(await status([exhausted])).toMatchObject({
      code: 50,
      msg: 'pod-addresses: all 6 addresses are in use',
    });
    expect(await status([exhausted, closed])).toMatchObject({ code: 51 });
  });
});

test('an agent without a pod network says so, and has nothing to take away', async () => {
  const nobody = (command: string) =>
    answerCni(undefined, { ...REQUEST, command }, async () => []).then(({ output }) => output);
  expect(await nobody('ADD')).toContain('"code":7');
  expect(await nobody('STATUS')).toContain('"code":50');
  expect(await nobody('DEL')).toBe('');
});
