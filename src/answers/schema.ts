/** The version and kind that every printed JSON has. */
export const SCHEMA_VERSION = 'sluice/v1';

export type SchemaKind =
  | 'Explanation'
  | 'Matrix'
  | 'Coverage'
  | 'Diff'
  | 'Replay'
  | 'Audit'
  | 'TestResult'
  | 'Problem'
  | 'Reading'
  | 'Inspection'
  | 'Trace'
  | 'Status'
  | 'Denial'
  | 'SeenFlow'
  | 'Dump'
  | 'Measurement'
  | 'Version';

/** docs/schema/sluice-v1.json has a definition of each kind; fields are only ever added. */
export function versioned<T extends object>(kind: SchemaKind, object: T) {
  return { apiVersion: SCHEMA_VERSION, kind, ...object };
}
