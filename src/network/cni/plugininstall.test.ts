import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installPlugin, publishList } from './plugininstall.ts';

let folder: string;
const at = (name: string) => join(folder, name);
const bin = () => at('opt/cni/bin');
const installed = () => join(bin(), 'sluice-cni');

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-install-'));
  writeFileSync(at('plugin'), '#!/bin/sh\necho new\n', { mode: 0o600 });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('installPlugin() makes the folder, and a plugin that runs', async () => {
  await installPlugin(at('plugin'), bin());
  expect(readdirSync(bin())).toEqual(['sluice-cni']);
  expect(statSync(installed()).mode & 0o777).toBe(0o755);
  expect(execFileSync(installed(), { encoding: 'utf8' })).toBe('new\n');
});

test('installPlugin() replaces an older one, and writes through no link', async () => {
  mkdirSync(bin(), { recursive: true });
  writeFileSync(at('other'), 'somebody’s');
  symlinkSync(at('other'), installed());
  await installPlugin(at('plugin'), bin());
  expect(readFileSync(at('other'), 'utf8')).toBe('somebody’s');
  expect(execFileSync(installed(), { encoding: 'utf8' })).toBe('new\n');
});

test('installPlugin() leaves what was there as it was, and nothing half made, where it fails', async () => {
  await installPlugin(at('plugin'), bin());
  await expect(installPlugin(at('absent'), bin())).rejects.toThrow('absent');
  expect(readdirSync(bin())).toEqual(['sluice-cni']);
  expect(execFileSync(installed(), { encoding: 'utf8' })).toBe('new\n');
});

test('publishList() writes a list of which no runtime asks STATUS, so that exhaustion evicts nobody', async () => {
  await publishList(at('net.d'), '/run/sluice/sluice-cni.sock');
  expect(readdirSync(at('net.d'))).toEqual(['10-sluice.conflist']);
  expect(JSON.parse(readFileSync(at('net.d/10-sluice.conflist'), 'utf8'))).toEqual({
    cniVersion: '1.0.0',
    name: 'sluice',
    plugins: [
      { type: 'sluice-cni', socket: '/run/sluice/sluice-cni.sock', capabilities: { portMappings: true } },
    ],
  });
});
