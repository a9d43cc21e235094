/** Findings as SARIF 2.1.0, which code hosts show beside the lines that they are about. */
import { type Problem, problemText } from '../model/problem.ts';

/** A problem; its code is that of a command's own kinds of findings. */
export type Finding = Omit<Problem, 'code'> & { readonly code: string };

export function sarifOf(findings: readonly Finding[], version: string): object {
  const rules = [...new Set(findings.map(({ code }) => code))].map(id => ({ id }));
  const driver = { name: 'sluice', version, rules };
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool: { driver }, results: findings.map(resultOf) }],
  };
}

function resultOf({ file, line, code, ...finding }: Finding): object {
  const region = line === undefined ? {} : { region: { startLine: line } };
  const place = { artifactLocation: { uri: encodeURI(file ?? '') }, ...region };
  return {
    ruleId: code,
    level: finding.severity,
    message: { text: problemText(finding) },
    ...(file !== undefined && { locations: [{ physicalLocation: place }] }),
  };
}
