/** `sluice-cni` alone: where nobody answers, where somebody else does, and where the runtime says nonsense. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { type Invocation, runCni } from '../support/pods/cni.ts';
import { buildShim } from '../support/pods/shim.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-shim-'));
const shim = buildShim(folder);
/** For those who never answer. */
const hasty = buildShim(folder, 500);
const socket = join(folder, 'agent.sock');
const LIST = { cniVersion: '1.0.0', name: 'pods', type: 'sluice-cni', socket };
const ADD = { command: 'ADD', sandbox: 'x', netns: '/run/netns/x', pod: 'shop/a', config: LIST };

let server: Server | undefined;

afterEach(() => server?.close());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (invocation: Partial<Invocation> & { command: string }, program = shim) =>
  runCni(program, { config: LIST, ...invocation });

/** Somebody who answers; `met` are those who came. */
async function answering(answer: (caller: Socket) => void): Promise<void> {
  server = createServer({ allowHalfOpen: true }, caller => {
    caller.on('error', () => {});
    server!.once('close', () => caller.destroy());
    answer(caller);
  });
  await new Promise<void>(resolve => server!.listen(socket, resolve));
}

function framed(exitCode: number, output: string): Buffer {
  const body = Buffer.from(`${String.fromCharCode(exitCode)}${output}`);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([Buffer.from('cni1'), length, body]);
}

test('K6: without an agent ADD says to try again later and why, DEL succeeds, STATUS says that there is none', async () => {
  const added = await run(ADD);
  expect(added).toMatchObject({ code: 1, output: { cniVersion: '1.0.0', code: 11 } });
  expect(added.output.msg).toBe(`no Sluice agent answers on ${socket}: No such file or directory`);
  expect(await run({ ...ADD, command: 'DEL' })).toEqual({ code: 0, output: undefined });
  expect((await run({ ...ADD, command: 'CHECK' })).output.code).toBe(11);
  expect((await run({ command: 'GC' })).output.code).toBe(11);
  expect((await run({ command: 'STATUS' })).output.code).toBe(50);
});

test('VERSION needs nobody', async () => {
  const supportedVersions = ['1.0.0', '1.1.0'];
  const asked = (config: object | string) => run({ command: 'VERSION', config });
  expect(await asked(LIST)).toEqual({ code: 0, output: { cniVersion: '1.0.0', supportedVersions } });
  for (const config of ['', '{}', '{"cniVersion": "\\u0031"}', '{"cniVersion": 1}', { cniVersion: 'a"b' }])
    expect(await asked(config)).toEqual({ code: 0, output: { cniVersion: '1.1.0', supportedVersions } });
});

test.each([
  ['no verb', { command: '' }, 4],
  ['a verb that is not set', { ...ADD, env: { CNI_COMMAND: undefined } }, 4],
  ['nothing', { ...ADD, config: '' }, 6],
  ['no JSON', { ...ADD, config: 'hello' }, 6],
  ['a list', { ...ADD, config: '[{"socket": "/x"}]' }, 6],
  ['JSON that ends too early', { ...ADD, config: '{"socket": "/x", "a": [{"b": 1}' }, 6],
  ['a text that does not end', { ...ADD, config: '{"socket": "/x' }, 6],
  ['more than it takes', { ...ADD, config: ' '.repeat(3 << 20) }, 6],
  ['no text as the socket', { ...ADD, config: { ...LIST, socket: 7 } }, 7],
  ['too long a socket', { ...ADD, config: { ...LIST, socket: `/${'x'.repeat(108)}` } }, 7],
  ['a socket with a zero byte', { ...ADD, config: '{"socket": "/x\\u0000y"}' }, 7],
] as const)('of a runtime that gives %s it complains in a sentence', async (_, invocation, code) => {
  const { code: exit, output } = await run(invocation);
  expect([exit, output.code]).toEqual([1, code]);
  expect(output.msg.length).toBeGreaterThan(10);
});

test('only the socket that stands in the configuration itself is meant, the last one, written as JSON may', async () => {
  const socketOf = async (config: string) => (await run({ ...ADD, config })).output.msg.split(':')[0];
  const named = (path: string) => `no Sluice agent answers on ${path}`;
  expect(
    await socketOf('{"a": {"socket": "/1"}, "b": ["socket", "/2"], "c": "socket", "d": "\\"socket"}'),
  ).toBe(named('/run/sluice/sluice-cni.sock'));
  expect(await socketOf('{"socket": "/1", "a": "{", "socket" :\n "\\/tmp\\/2"}')).toBe(named('/tmp/2'));
});

test('what it prints is JSON, whatever the path is', async () => {
  const path = '/tmp/ä\u0001\u007f"\\';
  const { output } = await run({ ...ADD, config: `{"socket": "/tmp/ä\u0001\u007f'"}` });
  expect(output.msg).toContain("answers on /tmp/????'");
  expect((await run({ ...ADD, config: { socket: path } })).output.code).toBe(7);
});

describe('it hands over', () => {
  test('all five variables and its input, and prints the answer with its exit code', async () => {
    const config = JSON.stringify({ ...LIST, padding: 'x'.repeat(600_000) });
    let asked: Buffer = Buffer.alloc(0);
    await answering(caller => {
      caller.on('data', chunk => {
        asked = Buffer.concat([asked, chunk]);
        if (asked.length > config.length) caller.end(framed(3, '{"cniVersion":"1.0.0"}'));
      });
    });
    expect(await run({ ...ADD, config })).toEqual({ code: 1, output: { cniVersion: '1.0.0' } });
    expect(asked.subarray(0, 4).toString()).toBe('cni1');
    expect(asked.readUInt32BE(4)).toBe(asked.length - 8);
    const args = 'IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=a;K8S_POD_UID=1';
    expect(asked.subarray(8).toString().split('\0')).toEqual([
      'ADD',
      'x',
      '/run/netns/x',
      'eth0',
      args,
      config,
    ]);
  });

  test('and prints nothing where nothing is answered', async () => {
    await answering(caller => caller.end(framed(0, '')));
    expect(await run({ ...ADD, command: 'CHECK' })).toEqual({ code: 0, output: undefined });
  });
});

describe('without a place to print to', () => {
  const places = { closed: '>&-', full: '>/dev/full', 'no standard file at all': '<&- >&- 2>&-' } as const;
  type Place = keyof typeof places;
  const started = (invocation: Partial<Invocation> & { command: string }, place: Place) => {
    const program = join(folder, 'redirected');
    writeFileSync(program, `#!/bin/sh\nexec '${shim}' ${places[place]}\n`, { mode: 0o755 });
    return run(invocation, program);
  };

  test.each(['closed', 'full'] as const)(
    '%s: ADD has failed, and the agent hears its request and no more',
    async place => {
      let asked: Buffer = Buffer.alloc(0);
      const left = new Promise<void>(resolve => {
        void answering(caller => {
          caller.on('data', chunk => {
            asked = Buffer.concat([asked, chunk]);
            if (asked.length >= 8 && asked.length === asked.readUInt32BE(4) + 8)
              caller.end(framed(0, '{"ips":[]}'));
          });
          caller.on('close', resolve);
        });
      });
      expect(await started(ADD, place)).toEqual({ code: 1, output: undefined });
      await left;
      expect(asked.length).toBe(asked.readUInt32BE(4) + 8);
    },
  );

  test('a long result has not been printed either', async () => {
    await answering(caller => caller.end(framed(0, `{"padding":"${'x'.repeat(100_000)}"}`)));
    expect(await started(ADD, 'full')).toEqual({ code: 1, output: undefined });
  });

  test.each(Object.keys(places) as Place[])('%s: VERSION has failed', async place => {
    expect((await started({ command: 'VERSION' }, place)).code).toBe(1);
  });

  test('closed: DEL has nothing to say, and succeeds', async () => {
    await answering(caller => caller.end(framed(0, '')));
    expect((await started({ ...ADD, command: 'DEL' }, 'closed')).code).toBe(0);
  });
});

test('without standard input it complains in a sentence', async () => {
  const program = join(folder, 'unread');
  writeFileSync(program, `#!/bin/sh\nexec '${shim}' <&-\n`, { mode: 0o755 });
  expect(await run(ADD, program)).toMatchObject({ code: 1, output: { code: 6 } });
});

test.each<[string, (caller: Socket) => void, RegExp]>([
  ['hangs up', caller => caller.destroy(), /closed the connection|Broken pipe|reset by peer/],
  ['says nothing', () => {}, /it takes too long/],
  ['says half', caller => caller.end(framed(0, 'hello').subarray(0, 9)), /does not speak/],
  ['says too much', caller => caller.end(Buffer.concat([framed(0, ''), Buffer.alloc(9)])), /does not speak/],
  ['is a web server', caller => caller.end('HTTP/1.1 400 Bad Request\r\n\r\n'), /does not speak/],
  ['never ends', caller => void pour(caller), /more than 1 MiB/],
  ['drips', caller => drip(caller), /it takes too long/],
])('somebody who %s in the place of the agent is borne in bounds', async (_, answer, reason) => {
  await answering(answer);
  const program = reason.source === 'it takes too long' ? hasty : shim;
  const { code, output } = await run(ADD, program);
  expect([code, output.code]).toEqual([1, 11]);
  expect(output.msg).toMatch(reason);
  expect(await run({ ...ADD, command: 'DEL' }, program)).toEqual({ code: 0, output: undefined });
});

describe('npm run build', () => {
  const tree = join(folder, 'tree');
  const program = join(tree, 'dist/cni/sluice-cni');
  cpSync(join(import.meta.dirname, '../../src/network/cni'), join(tree, 'src/network/cni'), {
    recursive: true,
  });
  const build = (env: object) =>
    spawnSync('sh', ['src/network/cni/build.sh'], {
      cwd: tree,
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });

  test('K8: makes one file that needs no other, not even a loader', () => {
    expect(build({})).toMatchObject({ status: 0, stderr: '' });
    const PT_INTERP = 3;
    const bytes = readFileSync(program);
    const [table, size, count] = [
      Number(bytes.readBigUInt64LE(32)),
      bytes.readUInt16LE(54),
      bytes.readUInt16LE(56),
    ];
    const types = Array.from({ length: count }, (_, at) => bytes.readUInt32LE(table + at * size));
    expect(types.length).toBeGreaterThan(1);
    expect(types).not.toContain(PT_INTERP);
    expect(
      execFileSync(program, { env: { CNI_COMMAND: 'VERSION' }, input: '{}', encoding: 'utf8' }),
    ).toContain('"cniVersion":"1.1.0"');
  });

  test.each([['/nowhere/cc'], ['false']])('leaves it out with a sentence where %s is the compiler', CC => {
    const { status, stderr } = build({ CC });
    expect([status, existsSync(program)]).toEqual([0, false]);
    expect(stderr).toMatch(/^(?:[\w-]+ is left out: .* \(Debian: gcc and libc6-dev\)\. Only .*\.\n){2}$/);
  });
});

function pour(caller: Socket): void {
  const chunk = Buffer.alloc(65536, 'x');
  const more = () => {
    while (caller.writable && caller.write(chunk));
  };
  caller.on('drain', more);
  more();
}

function drip(caller: Socket): void {
  const timer = setInterval(() => caller.write('c'), 50);
  caller.on('close', () => clearInterval(timer));
}
