/** A line of JSON, as whoever reads it must understand it: a key that stood twice would say two things. */
import { LineError, type Values } from './values.ts';

/** Throws LineError where it is no object, or says one thing twice. */
export function lineObject(line: string): Values {
  const value = parsed(line);
  if (!isAsWritten(line, value) && keysIn(line) !== keysOf(value))
    throw new LineError('has a key twice in one object');
  return value;
}

function parsed(line: string): Values {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Values;
  } catch {}
  throw new LineError('is no JSON object');
}

/** As `recordingLines` writes it, which is nearly all of a file: then nobody has to count. */
function isAsWritten(line: string, value: Values): boolean {
  try {
    return JSON.stringify(value) === line;
  } catch {
    return false; // nested so deep that nobody can write it
  }
}

/** All strings, so that none begins within another; behind a key stands a colon. */
const STRING = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

function keysIn(line: string): number {
  let count = 0;
  for (const [, colon] of line.matchAll(STRING)) if (colon !== undefined) count++;
  return count;
}

/** Of all objects in it, however deep. */
function keysOf(value: unknown): number {
  let count = 0;
  const left: unknown[] = [value];
  for (let each = left.pop(); each !== undefined; each = left.pop()) {
    if (typeof each !== 'object' || each === null) continue;
    const own = Object.values(each);
    if (!Array.isArray(each)) count += own.length;
    for (const part of own) left.push(part);
  }
  return count;
}
