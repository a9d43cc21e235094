import { SCHEMA_VERSION, versioned } from '../answers/schema.ts';
import { isData, writeData } from '../terminal/data.ts';
import { type OutputOptions, writeLine } from '../terminal/output.ts';
import { VERSION } from './program/version.ts';

/** `sluice version`: of the program, of Node.js, and of the JSON that it prints. */
export async function versionCommand({ output }: OutputOptions): Promise<void> {
  const { node } = process.versions;
  if (isData(output))
    await writeData(output, [versioned('Version', { version: VERSION, node, schema: SCHEMA_VERSION })]);
  else writeLine(`sluice ${VERSION}, Node.js ${node}, JSON ${SCHEMA_VERSION}`);
}
