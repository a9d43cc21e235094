import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { writeHelp } from './help.ts';

let written = '';

beforeEach(() => {
  written = '';
  vi.stubEnv('COLUMNS', '40');
  vi.spyOn(process.stdout, 'write').mockImplementation(text => {
    written += text;
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

test('writeHelp() lets paragraphs flow, hangs columns, and leaves examples', () => {
  writeHelp(`Usage: sluice explain [options]

Options:
  -o, --output <format>  output format (choices: text)

Each end is judged on the node of its pod,
and so is what follows.
  no match    no rule of it matches anything at all here

  sluice explain a b   of the cluster of kubectl
`);
  expect(written).toBe(`Usage: sluice explain [options]

Options:
  -o, --output <format>
    output format (choices: text)

Each end is judged on the node of its
pod, and so is what follows.
  no match    no rule of it matches
              anything at all here

  sluice explain a b
    of the cluster of kubectl
`);
});

test('writeHelp() lets a text of a column flow that has several lines', () => {
  writeHelp(`FROM is
  shop/web        a pod of this name; where
                  none has it
  10.0.0.7        an address`);
  expect(written).toBe(`FROM is
  shop/web        a pod of this name;
                  where none has it
  10.0.0.7        an address
`);
});
