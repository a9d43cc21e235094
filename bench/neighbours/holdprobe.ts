/**
 * Loaded into the agent before it starts: keeps the longest turn of its event loop, in CPU time of its thread, so that
 * other processes on the machine do not count. Sends it to the parent process on request, and starts again.
 */

const TICK_MS = 1;

let longestMs = 0;
let before = process.threadCpuUsage();

setInterval(() => {
  const now = process.threadCpuUsage();
  longestMs = Math.max(longestMs, (now.user + now.system - before.user - before.system) / 1000);
  before = now;
}, TICK_MS).unref();

process.on('message', () => {
  process.send?.(longestMs);
  longestMs = 0;
});
process.channel?.unref();
