/** The demo from the outside, as a person meets it. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';

const DEMO = fileURLToPath(new URL('../../bench/demo/main.ts', import.meta.url));
const STATE = '/run/sluice-demo/state.json';

interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

function start(...args: string[]): ChildProcess {
  return spawn(process.execPath, [DEMO, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
}

async function ending(child: ChildProcess): Promise<Ending> {
  let output = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', text => {
      output += text;
    });
  const [code, signal] = await once(child, 'close');
  return { code, signal, output };
}

const demo = (...args: string[]) => ending(start(...args));

afterEach(async () => {
  if (existsSync('/run/sluice-demo') || namespaces().length > 0) await demo('--remove');
});

const namespaces = () => readdirSync('/run/netns').filter(name => name.startsWith('sluice-demo.'));

const agents = () => (JSON.parse(readFileSync(STATE, 'utf8')) as { agents: number[] }).agents;

async function until(condition: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 100_000; !condition(); ) {
    if (Date.now() > deadline) throw new Error('waited in vain');
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}

const isGone = (pid: number) => !existsSync(`/proc/${pid}`);

test('the demo finds every flow as policy says, before and after the edits, and leaves nothing; a second one leaves it alone', async () => {
  const only = ending(start());
  await until(() => existsSync(STATE));
  const second = await demo();
  expect(second.output).toMatch(/sluice: a demo is running already \(process \d+\)/);
  expect(second.code).toBe(2);
  const { code, output } = await only;
  expect(output.match(/flows tried, \d+ as policy says/g)).toHaveLength(3);
  expect(output).toMatch(/^ {4}(.*)shop\/jobs -> shop\/db, the internet$/m);
  expect(output).toContain('chain forward {');
  expect(output).toContain('deny   guest/visitor');
  if (!output.includes('rules by name match nothing here'))
    expect(output.match(/✓ shop\/(api |jobs) -> \S+:587 +(open|closed)/g)).toHaveLength(7);
  expect(output).toMatch(/All \d{4} flows did what policy says/);
  expect(code, output).toBe(0);
  expect(namespaces()).toEqual([]);
  expect(existsSync('/run/sluice-demo')).toBe(false);
});

test('the demo fails loudly where one cell differs', async () => {
  const child = start();
  const end = ending(child);
  await until(() => namespaces().includes('sluice-demo.node1') && existsSync(STATE) && agents().length > 0);
  // What no policy says: the database is closed to its own api, over IPv6.
  const script = `table ip6 saboteur {
    chain forward {
      type filter hook forward priority 10
      tcp dport 5432 drop
    }
  }`;
  execFileSync('ip', ['netns', 'exec', 'sluice-demo.node1', 'nft', '-f', '-'], { input: script });
  const { code, output } = await end;
  expect(output).toMatch(
    /WRONG {2}shop\/api -> shop\/db:5432\/TCP over IPv6: policy says allow .* and no answer came/,
  );
  expect(output).toMatch(/sluice: \d+ of \d{4} flows did not do what policy says/);
  expect(code).toBe(2);
  expect(namespaces()).toEqual([]);
});

test.each(['SIGINT', 'SIGTERM'] as const)('%s in the middle of the demo removes everything', async signal => {
  const child = start();
  const end = ending(child);
  await until(() => existsSync(STATE) && agents().length > 0);
  const pids = agents();
  child.kill(signal);
  expect((await end).signal).toBe(signal);
  expect(namespaces()).toEqual([]);
  expect(existsSync('/run/sluice-demo')).toBe(false);
  await until(() => pids.every(isGone));
});

/** `--again` while another process listens on a port that it tries. */
async function againWhileTaken(): Promise<Ending> {
  const listens = 'require("net").createServer().listen(5432, () => console.log("there"))';
  const listener = spawn('ip', ['netns', 'exec', 'sluice-demo.shop.db', process.execPath, '-e', listens]);
  await once(listener.stdout, 'data');
  try {
    return await demo('--again');
  } finally {
    listener.kill();
  }
}

test('--keep leaves agents that follow edits, and no other demo takes their place; --again tries the board and says in a sentence what a person did, --remove takes all away', async () => {
  const kept = await demo('--keep');
  expect(kept.code, kept.output).toBe(0);
  const pids = agents();
  expect(pids.some(isGone)).toBe(false);
  const policies = '/run/sluice-demo/manifests/policies.yaml';
  for (const words of [[], ['--keep']]) {
    const another = await demo(...words);
    expect(another).toMatchObject({ code: 2, output: expect.stringContaining('--remove removes it') });
  }
  expect(pids.some(isGone)).toBe(false);
  const taken = await againWhileTaken();
  expect(taken.code).toBe(2);
  expect(taken.output).toMatch(
    /^sluice: probe .* -> .* TCP port 5432: another process listens there; nothing can/m,
  );
  execFileSync('sed', ['-i', 's/port: 5432/port: 5433/', policies]);
  const again = await demo('--again');
  expect(again.output).toMatch(/✓ (\d+) flows tried, \1 as policy says/);
  expect(again.output).toMatch(/shop\/api( +\S+){4} +···· /);
  expect(again.code).toBe(0);
  execFileSync('sed', ['-i', 's/port: 5433/port: [/', policies]);
  const broken = await demo('--again');
  expect(broken.output).toMatch(/policies\.yaml:\d+: .*; nothing of it is read/);
  expect(broken.output).toContain('the agents keep the previous version of the file');
  expect(broken.code).toBe(2);
  process.kill(pids[0]!, 'SIGKILL');
  execFileSync('sed', ['-i', 's/port: \\[/port: 5432/', policies]);
  const ended = await demo('--again');
  expect(ended.code).toBe(2);
  expect(ended.output).toMatch(/^sluice: the agent of node1 has ended, and its rules stay as they were/m);
  for (const { output } of [taken, ended]) expect(output).not.toContain('    at ');
  expect((await demo('--remove')).output).toContain('removed the demo');
  expect(namespaces()).toEqual([]);
  await until(() => pids.every(isGone));
});
