/** docs/schema/sluice-v1.json, and what is wrong with an object that a command printed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';

export const SCHEMA = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../docs/schema/sluice-v1.json'), 'utf8'),
);

const OPTIONS = { allErrors: true, strict: true, strictTypes: false, strictRequired: false } as const;
export const isOfSchema = new Ajv2020(OPTIONS).compile(SCHEMA);

/** The schema errors of an object's own kind; errors of the other kinds are left out. Empty if it is valid. */
export function wrongWith(object: { readonly kind: string }): unknown {
  const ofKind = new Ajv2020(OPTIONS).compile({
    ...SCHEMA,
    $id: `${SCHEMA.$id}/${object.kind}`,
    oneOf: [{ $ref: `#/$defs/${object.kind}` }],
  });
  return isOfSchema(object) || ofKind(object) ? [] : ofKind.errors;
}
