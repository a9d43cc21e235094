import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseDockerfile } from '../cluster/image/dockerfile-parse.ts';
import { whyFailed } from '../cluster/image/registry.ts';

describe('parseDockerfile()', () => {
  test('puts arguments into FROM, joins continued lines and leaves comments out', () => {
    const text = [
      'ARG BASE=debian:12',
      '# a comment',
      `FROM \${BASE} AS build`,
      'RUN one \\',
      '# in between',
      '  && two',
      'COPY --from=build a b /to/',
      'ENTRYPOINT ["node", "main.js"]',
    ].join('\n');
    expect(parseDockerfile(text)).toEqual([
      { text: `FROM \${BASE} AS build`, verb: 'FROM', base: 'debian:12', name: 'build' },
      { text: 'RUN one && two', verb: 'RUN', command: 'one && two' },
      {
        text: 'COPY --from=build a b /to/',
        verb: 'COPY',
        from: 'build',
        sources: ['a', 'b'],
        target: '/to/',
      },
      { text: 'ENTRYPOINT ["node", "main.js"]', verb: 'ENTRYPOINT', words: ['node', 'main.js'] },
    ]);
  });

  test('takes an argument without a default from whoever builds, and no platform', () => {
    const text = `FROM --platform=\${BUILDPLATFORM:-linux/amd64} debian:12 AS build\nARG TARGETARCH\n`;
    expect(parseDockerfile(text, ['TARGETARCH'])).toMatchObject([
      { verb: 'FROM', base: 'debian:12', name: 'build' },
    ]);
    expect(() => parseDockerfile(text)).toThrow('ARG TARGETARCH has no default');
  });

  test.each(['USER nobody', 'ARG BASE', `FROM \${BASE}`, 'COPY /to', 'nonsense'])('refuses %s', text => {
    expect(() => parseDockerfile(text)).toThrow(SyntaxError);
  });

  test('reads our own Dockerfile: .dockerignore lets through what it copies of the checkout', () => {
    const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
    const copied = parseDockerfile(read('Dockerfile'), ['TARGETARCH']).flatMap(instruction =>
      instruction.verb === 'COPY' && instruction.from === undefined ? instruction.sources : [],
    );
    const allowed = read('.dockerignore')
      .split('\n')
      .filter(line => line.startsWith('!'))
      .map(line => line.slice(1));
    expect([...copied].sort()).toEqual([...allowed].sort());
  });

  test('reads our own Dockerfile: the last stage takes from the one before and runs nothing', () => {
    const text = readFileSync(join(import.meta.dirname, '../../Dockerfile'), 'utf8');
    const instructions = parseDockerfile(text, ['TARGETARCH']);
    const last = instructions.slice(instructions.findLastIndex(({ verb }) => verb === 'FROM'));
    expect(last.map(({ verb }) => verb)).toEqual(['FROM', 'COPY', 'WORKDIR', 'ENTRYPOINT']);
  });
});

describe('whyFailed()', () => {
  const install = 'mkdir app && npm ci --ignore-scripts';

  test('says what npm may lack to ask its registry', () => {
    expect(whyFailed(install, {})).toMatch(
      /the registry of this machine's npmrc; NODE_EXTRA_CA_CERTS is not set/,
    );
    expect(whyFailed(install, { NODE_EXTRA_CA_CERTS: '/ca.pem' })).toMatch(
      /NODE_EXTRA_CA_CERTS is \/ca\.pem$/,
    );
  });

  test('says nothing of commands that ask none', () => {
    expect(whyFailed('npm run compile', {})).toBeUndefined();
  });
});
