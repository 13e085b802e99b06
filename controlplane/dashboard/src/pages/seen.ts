/** Who saw a column, as far as the log tells: it has statements, and which columns were masked. */
import type { Shapes } from '../api/client'

type Entry = Pick<Shapes['QueryEntry'], 'sql' | 'outcome' | 'columns_masked' | 'rows_returned'>

/** `unmasked`: its own value, if the statement shows it and not only compares it. */
export type Seen = 'unmasked' | 'masked' | 'no row'

/** A `*` for all columns: after it no factor follows, as after one that multiplies. */
const ALL = /(?<!\bcount\s*\(\s*)\*\s*(?=[,;)]|$|(?:from|exclude|except|replace|rename|ilike|where|union|intersect|order|limit)\b)/i
/** What shows all columns without one. */
const WHOLE = /^\s*(?:from|table|summarize|pivot|unpivot)\b|\bcolumns\s*\(/i

/** Whether a statement names a column, or asks for all there are. */
export function asksFor(sql: string, column: string): boolean {
  const name = column.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return ALL.test(sql) || WHOLE.test(sql) || new RegExp(`(?<![\\w$])${name}(?![\\w$])`, 'i').test(sql)
}

export function seen(entry: Entry, column: string): Seen {
  if (entry.rows_returned === 0) return 'no row'
  const isMasked = entry.columns_masked.some((masked) => masked.toLowerCase() === column.toLowerCase())
  return isMasked ? 'masked' : 'unmasked'
}
