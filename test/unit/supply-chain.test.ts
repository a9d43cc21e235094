/** scripts/supply-chain beside a registry that agrees, one that does not, and none. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

const SCRIPT = join(import.meta.dirname, '../../scripts/supply-chain');
const folder = mkdtempSync(join(tmpdir(), 'supply-chain-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs it with a program in place of the one that would ask a registry. */
function asked(command: string, program: string, script: string) {
  const file = join(folder, program);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  const PATH = `${folder}${delimiter}${process.env.PATH}`;
  return spawnSync(SCRIPT, [command], { encoding: 'utf8', env: { ...process.env, PATH } });
}

describe('signatures', () => {
  test('all right', () => {
    const { status, stderr } = asked('signatures', 'npm', `echo '{"invalid":[],"missing":[]}'`);
    expect([status, stderr]).toEqual([0, '']);
  });

  test('names each package that has a wrong one, or none', () => {
    const answer = '{"invalid":[{"name":"a","version":"1.0.0"}],"missing":[{"name":"b","version":"2.0.0"}]}';
    const { status, stderr } = asked('signatures', 'npm', `echo '${answer}'; exit 1`);
    expect(status).toBe(1);
    expect(stderr).toBe(
      'a@1.0.0 has a wrong signature of its registry\nb@2.0.0 has no signature of its registry\n',
    );
  });

  test.each([
    ['an error', `echo '{"error":{"code":"ENOTFOUND","summary":"no such host"}}'; exit 1`, 'no such host'],
    ['no JSON', 'echo hello; exit 1', 'no JSON'],
  ])('says that nothing was checked where the registry answers %s', (_, script, why) => {
    const { status, stderr } = asked('signatures', 'npm', script);
    expect(status).toBe(2);
    expect(stderr).toContain(`signatures were not checked: the registry does not answer (${why})`);
  });
});

describe('bases', () => {
  const digest = `sha256:${'0'.repeat(64)}`;

  test('gives every base image of the Dockerfile its digest', () => {
    const { status, stdout } = asked('bases', 'docker', `echo ${digest}`);
    expect(status).toBe(0);
    expect(stdout).toMatch(
      new RegExp(`^--build-arg BUILD_BASE=node:\\S+@${digest}\n--build-arg BASE=\\S+@${digest}\n$`),
    );
  });

  test('says which has none where its registry does not answer', () => {
    const { status, stdout, stderr } = asked(
      'bases',
      'docker',
      `case "$*" in *distroless*) exit 1 ;; *) echo ${digest} ;; esac`,
    );
    expect(status).toBe(2);
    expect(stdout).toMatch(/^--build-arg BUILD_BASE=/);
    expect(stderr).toMatch(/^no digest of gcr.io\/distroless\/\S+: its registry cannot be asked/);
  });
});
