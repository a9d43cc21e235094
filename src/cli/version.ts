import { SCHEMA_VERSION, versioned } from '../answers/schema.ts';
import { isData, writeData } from '../terminal/data.ts';
import { type OutputOptions, writeLine } from '../terminal/output.ts';
import { COMMIT, VERSION } from './program/version.ts';

/** `sluice version`: of the program, of Node.js, and of the JSON that it prints. */
export async function versionCommand({ output }: OutputOptions): Promise<void> {
  const { node } = process.versions;
  if (isData(output))
    await writeData(output, [
      versioned('Version', { version: VERSION, commit: COMMIT, node, schema: SCHEMA_VERSION }),
    ]);
  else {
    const commit = COMMIT === undefined ? '' : ` (${COMMIT})`;
    writeLine(`sluice ${VERSION}${commit}, Node.js ${node}, JSON ${SCHEMA_VERSION}`);
  }
}
