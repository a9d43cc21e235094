import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { unwrittenMappings } from './memory.ts';

const PROGRAM = '/usr/bin/node';

function mapping(range: string, flags: string, file: string, dirtyKilobytes: number): string {
  return [
    `${range} ${flags} 00000000 fe:00 1234                      ${file}`,
    'Size:               4096 kB',
    'Private_Clean:       128 kB',
    `Private_Dirty:      ${dirtyKilobytes} kB`,
    'Anonymous:             0 kB',
    'Swap:                  0 kB',
    'VmFlags: rd ex mr mw me',
  ].join('\n');
}

test('only what cannot be written and never was is dropped, and only of the program', () => {
  const smaps = [
    mapping('00400000-00c00000', 'r--p', PROGRAM, 0),
    mapping('00c00000-02c00000', 'r-xp', PROGRAM, 0),
    mapping('02c00000-02d00000', 'r--p', PROGRAM, 64), // relocations
    mapping('02d00000-02e00000', 'rw-p', PROGRAM, 0),
    mapping('7f0000000000-7f0000100000', 'r-xp', '/usr/lib/libc.so.6', 0),
    mapping('7f0000200000-7f0000300000', 'r--p', `${PROGRAM} (deleted)`, 0),
  ].join('\n');
  expect(unwrittenMappings(smaps, PROGRAM)).toEqual([
    { start: 0x400000, length: 0x800000 },
    { start: 0xc00000, length: 0x2000000 },
  ]);
});

/** In a process of its own, because it changes V8's settings permanently. */
test('resident memory of the program falls, and the program goes on', () => {
  const script = `
    const { readFileSync } = await import('node:fs');
    const { dropPagesOfProgram, giveMemoryBack } = await import(${JSON.stringify(new URL('memory.ts', import.meta.url).href)});
    const ofFiles = () => Number(/RssFile:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
    const before = ofFiles();
    giveMemoryBack();
    dropPagesOfProgram();
    const after = ofFiles();
    const sum = JSON.parse(JSON.stringify({ numbers: [1, 2, 3] })).numbers.reduce((a, b) => a + b);
    console.log(JSON.stringify({ fell: after < before, sum }));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  expect(JSON.parse(output)).toEqual({ fell: true, sum: 6 });
});
