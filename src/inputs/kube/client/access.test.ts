import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findAccess, inClusterAccess } from './findaccess.ts';
import { kubeconfigAccess } from './kubeconfig.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-access-'));
});

afterEach(() => rm(folder, { recursive: true }));

async function kubeconfig(user: object, cluster: object = {}): Promise<string> {
  const file = join(folder, 'config');
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server: 'https://k8s.example:6443/', ...cluster } }],
    users: [{ name: 'u', user }],
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

test.each<[string, object, object]>([
  ['a token', { token: 'secret' }, { headers: { Authorization: 'Bearer secret' } }],
  ['a password', { username: 'a', password: 'b' }, { headers: { Authorization: `Basic ${base64('a:b')}` } }],
  [
    'a client certificate',
    { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') },
    { cert: 'CERT', key: 'KEY' },
  ],
  [
    'a plugin',
    {
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: 'echo',
        args: ['{"status":{"token":"from-plugin"}}'],
      },
    },
    { headers: { Authorization: 'Bearer from-plugin' } },
  ],
])('kubeconfigAccess() reads %s', async (_, user, expected) => {
  const file = await kubeconfig(user, { 'certificate-authority-data': base64('CA') });
  const access = await kubeconfigAccess(file)();
  expect(access).toMatchObject({ server: 'https://k8s.example:6443', ca: 'CA', ...expected });
});

test('kubeconfigAccess() reads the file that a token is in, anew each time', async () => {
  const read = kubeconfigAccess(await kubeconfig({ token: 'old', tokenFile: 'token' }));
  await writeFile(join(folder, 'token'), 'first\n');
  expect((await read()).headers).toEqual({ Authorization: 'Bearer first' });
  await writeFile(join(folder, 'token'), 'second\n');
  expect((await read()).headers).toEqual({ Authorization: 'Bearer second' });
});

test('kubeconfigAccess() does not go without the token whose file is missing', async () => {
  const read = kubeconfigAccess(await kubeconfig({ tokenFile: 'token' }));
  await expect(read()).rejects.toThrow(/the kubeconfig cannot be used: .*no such file.*token/);
});

test('kubeconfigAccess() reads what a cluster says of its certificate and its proxy', async () => {
  const file = await kubeconfig(
    {},
    { 'insecure-skip-tls-verify': true, 'tls-server-name': 'kubernetes', 'proxy-url': 'http://proxy:3128' },
  );
  expect(await kubeconfigAccess(file)()).toMatchObject({
    rejectUnauthorized: false,
    servername: 'kubernetes',
    proxy: 'http://proxy:3128',
  });
});

test.each([
  ['a server', {}, { server: 'x\x1b[2J\r\n' }, 'a server that is no URL'],
  ['a server without a scheme', {}, { server: 'k8s.example' }, 'a server that is no URL'],
  ['a proxy', {}, { 'proxy-url': 'http://\x1b[2J' }, 'a proxy-url that is no URL'],
  ['a proxy of another kind', {}, { 'proxy-url': 'socks5://proxy:1080' }, 'a proxy-url that is no URL'],
  ['a token', { token: 'secret\r\nx: y' }, {}, 'a token that no header of HTTP can have'],
])('kubeconfigAccess() refuses %s that no request can be made with', async (_, user, cluster, why) => {
  const loading = kubeconfigAccess(await kubeconfig(user, cluster))();
  await expect(loading).rejects.toThrow(new RegExp(`^the kubeconfig cannot be used: the .* has ${why}`));
  await expect(loading).rejects.not.toThrow('secret');
});

test('kubeconfigAccess() reads the file again each time', async () => {
  const load = kubeconfigAccess(await kubeconfig({ token: 'old' }));
  await load();
  await kubeconfig({ token: 'new' });
  expect(await load()).toMatchObject({ headers: { Authorization: 'Bearer new' } });
});

test('kubeconfigAccess() says in one sentence what is wrong', async () => {
  await expect(kubeconfigAccess(join(folder, 'none'))()).rejects.toThrow(
    /^the kubeconfig cannot be used: \/.*none does not exist$/,
  );
});

test('inClusterAccess() reads the token that the kubelet last wrote, and reaches IPv6 addresses', async () => {
  await writeFile(join(folder, 'ca.crt'), 'CA');
  await writeFile(join(folder, 'token'), 'one\n');
  const load = inClusterAccess(
    { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' },
    folder,
  );
  expect(await load?.()).toEqual({
    server: 'https://[fd00::1]:6443',
    ca: 'CA',
    headers: { authorization: 'Bearer one' },
  });
  await writeFile(join(folder, 'token'), 'two');
  expect((await load?.())?.headers).toEqual({ authorization: 'Bearer two' });
});

test('findAccess() finds nothing outside of a pod and without a kubeconfig', async () => {
  expect(await findAccess(undefined, { HOME: folder })).toBeUndefined();
});
