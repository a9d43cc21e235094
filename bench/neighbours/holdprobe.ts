/**
 * Loaded into the agent before it begins: keeps the longest turn of its event loop, in CPU time of its thread, so that
 * what others on the machine do is no part of it. Says it to whoever started the agent and asks, and begins anew.
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
