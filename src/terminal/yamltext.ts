/** A value as YAML that is safe for a terminal: invisible characters are escaped, as in our JSON. */
import { Document, isNode, Scalar, visit } from 'yaml';
import { isPrintable, printableJsonText } from './printable.ts';

/**
 * Values that JSON cannot express are left out, as in JSON. `remarks` are comments, of one line, beside the texts that
 * have one; `comments` are lines above the values at a path, such as `spec.egress.0`.
 */
export function yamlText(
  value: unknown,
  remarks: ReadonlyMap<string, string> = NO_REMARKS,
  comments: ReadonlyMap<string, readonly string[]> = NO_COMMENTS,
): string {
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
  for (const [path, texts] of comments) {
    const node = document.getIn(
      path.split('.').map(key => (/^\d+$/.test(key) ? Number(key) : key)),
      true,
    );
    if (isNode(node)) node.commentBefore = texts.map(text => ` ${printableJsonText(text)}`).join('\n');
  }
  const lines = document.toString({ lineWidth: 0 }).split('\n');
  return lines.map(printableJsonText).join('\n');
}

const NO_REMARKS: ReadonlyMap<string, string> = new Map();
const NO_COMMENTS: ReadonlyMap<string, readonly string[]> = new Map();

/** Whether a text needs quotes that YAML's rules do not demand: readers of YAML in Go take `0X1F` for a number. */
function isQuoted(text: string): boolean {
  return !isPrintable(text) || /^0[XBO]/.test(text);
}
