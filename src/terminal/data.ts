/** Output for programs: one JSON object a line, or YAML documents. */
import { writeJsonLines, writeUnwrapped } from './output.ts';

export type DataFormat = 'json' | 'yaml';

export function isData(output: string): output is DataFormat {
  return output === 'json' || output === 'yaml';
}

export async function writeData(format: DataFormat, values: readonly unknown[]): Promise<void> {
  if (format === 'json') return writeJsonLines(values);
  const { yamlText } = await import('./yamltext.ts'); // loaded late: the library would slow the start down
  for (const [index, value] of values.entries()) {
    if (index > 0) writeUnwrapped('---\n');
    writeUnwrapped(yamlText(value));
  }
}
