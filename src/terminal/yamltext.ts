/** A value as YAML that is safe for a terminal: invisible characters are escaped, as in our JSON. */
import { Document, Scalar, visit } from 'yaml';
import { isPrintable, printableJsonText } from './printable.ts';

/** Values that JSON cannot express are left out, as in JSON. `remarks` are comments, of one line, beside the texts that have one. */
export function yamlText(value: unknown, remarks: ReadonlyMap<string, string> = NO_REMARKS): string {
  // kubectl and API servers read YAML 1.1, in which `on` and `012` are no texts.
  const document = new Document(JSON.parse(JSON.stringify(value)), { compat: 'yaml-1.1' });
  visit(document, {
    Scalar: (_, node) => {
      if (typeof node.value !== 'string') return;
      if (isQuoted(node.value)) node.type = Scalar.QUOTE_DOUBLE;
      const remark = remarks.get(node.value);
      if (remark !== undefined) node.comment = ` ${remark}`;
    },
  });
  const lines = document.toString({ lineWidth: 0 }).split('\n');
  return lines.map(printableJsonText).join('\n');
}

const NO_REMARKS: ReadonlyMap<string, string> = new Map();

/** Whether a text needs quotes that YAML's rules do not demand: readers of YAML in Go take `0X1F` for a number. */
function isQuoted(text: string): boolean {
  return !isPrintable(text) || /^0[XBO]/.test(text);
}
