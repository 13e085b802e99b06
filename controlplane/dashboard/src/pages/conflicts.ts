/** A conflict of a merge, cell by cell. */
import type { Shapes } from '../api/client'
import { cell } from '../format'

export type Conflict = Shapes['BranchConflict']
export type Side = 'ours' | 'theirs' | 'base'

/** What each side is called, in the order of the columns. */
export const SIDES: readonly { side: Side; label: string }[] = [
  { side: 'base', label: 'As it was' },
  { side: 'ours', label: 'Mainline' },
  { side: 'theirs', label: 'Branch' },
]

export interface Cells {
  column: string
  values: Readonly<Record<Side, string>>
  differs: boolean
}

const isRow = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** A line for each column; of a row without a key, one line that says how often it is there. */
export function cellsOf(conflict: Conflict): Cells[] {
  const { base, ours, theirs } = conflict
  if ([base, ours, theirs].some((side) => typeof side === 'number')) {
    const values = { base: cell(base), ours: cell(ours), theirs: cell(theirs) }
    return [{ column: 'how often', values, differs: true }]
  }
  const columns = [...new Set([base, ours, theirs].filter(isRow).flatMap(Object.keys))]
  const of = (side: unknown, column: string) => (isRow(side) ? cell(side[column]) : 'no row')
  return columns.map((column) => ({
    column,
    values: { base: of(base, column), ours: of(ours, column), theirs: of(theirs, column) },
    differs: conflict.columns.includes(column),
  }))
}

/** `sku = 1`: which row it is about. */
export const rowOf = (conflict: Conflict): string =>
  Object.entries(conflict.key)
    .map(([column, value]) => `${column} = ${cell(value)}`)
    .join(', ')

/** As people look for them: by table, and there by the row. */
export const inOrder = (conflicts: readonly Conflict[]): Conflict[] =>
  [...conflicts].sort((one, other) => `${one.table} ${rowOf(one)}`.localeCompare(`${other.table} ${rowOf(other)}`, 'en', { numeric: true }))

/** Each of them can be decided here: all are told of, and none is about the shape of a table. */
export const areDecidable = (conflicts: readonly Conflict[], total: number): boolean =>
  conflicts.length === total && conflicts.every((conflict) => conflict.kind !== 'schema')
