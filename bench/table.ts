import Table from 'cli-table3';
import { versioned } from '../src/answers/schema.ts';
import pc from '../src/terminal/colours.ts';
import type { BenchRow } from './row.ts';

/** The rows for people: what was measured, against what, and whether it is within the budget. */
export function tableLines(rows: readonly BenchRow[]): string[] {
  const table = new Table({
    head: ['', 'value', 'floor', 'ratio', 'budget', ''],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'left'],
    style: { head: [], border: [], compact: true },
  });
  for (const row of rows) table.push(cellsOf(row));
  return table.toString().split('\n').map(coloured);
}

/** The same for programs. */
export function measurements(rows: readonly BenchRow[]): object[] {
  return rows.map(row => versioned('Measurement', row));
}

/** Name, value, floor, ratio, budget, and whether the budget is kept. */
export function cellsOf({ name, value, unit, floor, ratio, budget, ok }: BenchRow): string[] {
  return [
    name,
    `${figure(value)} ${unit}`,
    floor === undefined ? '' : `${figure(floor)} ${unit}`,
    ratio === undefined ? '' : `${figure(ratio)}×`,
    ratio === undefined ? `${figure(budget)} ${unit}` : `${figure(budget)}×`,
    ok ? 'ok' : 'missed',
  ];
}

/** In the last column; the table counts the letters of a cell, and a colour has some. */
function coloured(line: string): string {
  return line.replace(/\b(ok|missed)\b(?=\W*$)/, word => (word === 'ok' ? pc.green(word) : pc.red(word)));
}

/** Three digits that count. */
function figure(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}
