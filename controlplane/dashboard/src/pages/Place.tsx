/** Where in a statement the trouble is. */
import { CodeBlock } from '../parts/CodeBlock'

export function Place({ sql, details }: { sql: string; details: Readonly<Record<string, unknown>> }) {
  const marked = caret(sql, Number(details['line']), Number(details['column']))
  return marked === undefined ? null : <CodeBlock label="Where in the statement" text={marked} />
}

/** The line, and a caret under the column; both count from one. */
export function caret(sql: string, line: number, column: number): string | undefined {
  const text = sql.split('\n')[line - 1]
  if (text === undefined || !(column >= 1)) return undefined
  const before = `${line} | `
  return `${before}${text}\n${' '.repeat(before.length + column - 1)}^`
}
