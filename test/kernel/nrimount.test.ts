/** The DaemonSet mounts the folder of the runtime's NRI socket read-only. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const TRY = `
  const { connect } = require('node:net');
  const { unlinkSync } = require('node:fs');
  const [, path] = process.argv;
  let removed = 'removed';
  try { unlinkSync(path); } catch (error) { removed = error.code; }
  const socket = connect(path, () => { console.log(removed, 'connected'); socket.destroy(); });
  socket.on('error', error => console.log(removed, error.code));
`;

test('a socket in a folder that is mounted read-only can be connected to, and not removed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-nri-'));
  const [real, seen] = [join(folder, 'real'), join(folder, 'seen')];
  mkdirSync(real);
  mkdirSync(seen);
  const server = createServer(socket => socket.end()).listen(join(real, 'nri.sock'));
  await once(server, 'listening');
  const mounts = `mount --bind ${real} ${seen} && mount -o remount,bind,ro ${seen}`;
  const said = execFileSync(
    'unshare',
    ['-m', 'sh', '-c', `${mounts} && exec "$0" -e "$1" "$2"`, process.execPath, TRY, join(seen, 'nri.sock')],
    { encoding: 'utf8', timeout: 30_000 },
  );
  expect(said.trim()).toBe('EROFS connected');
  server.close();
  rmSync(folder, { recursive: true });
});
