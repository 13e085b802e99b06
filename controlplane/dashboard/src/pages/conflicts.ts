/** A conflict of a merge: of a row cell by cell, of a table without a key as a whole; and who may decide it. */
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

/** Nothing tells the rows of its table apart. */
export const isOfTable = ({ kind }: Conflict): boolean => kind === 'table'

const COUNTS = { rows: 'Rows', added: 'Rows added', deleted: 'Rows deleted' }

/** A line for each column; of a table, for what is counted of it. */
export function cellsOf(conflict: Conflict): Cells[] {
  const { base, ours, theirs } = conflict
  if (isOfTable(conflict)) {
    const of = (side: unknown, name: string) => (isRow(side) && name in side ? cell(side[name]) : '–')
    return Object.entries(COUNTS).map(([name, column]) => ({
      column,
      values: { base: of(base, name), ours: of(ours, name), theirs: of(theirs, name) },
      differs: true,
    }))
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
export function rowOf(conflict: Conflict): string {
  if (isOfTable(conflict)) return 'the whole table'
  return Object.entries(conflict.key)
    .map(([column, value]) => `${column} = ${cell(value)}`)
    .join(', ')
}

/** As people look for them: by table, and there by the row. */
export const inOrder = (conflicts: readonly Conflict[]): Conflict[] =>
  [...conflicts].sort((one, other) => `${one.table} ${rowOf(one)}`.localeCompare(`${other.table} ${rowOf(other)}`, 'en', { numeric: true }))

/** Each of them can be decided here: all are told of, and none is about the shape of a table. */
export const areDecidable = (conflicts: readonly Conflict[], total: number): boolean =>
  conflicts.length === total && conflicts.every((conflict) => conflict.kind !== 'schema')

export type Strategy = 'fail_on_conflict' | 'manual' | 'branch_wins' | 'main_wins'

/** Who may be said to be right: no side knows the rows of a table without a key, and the shape of one is no row. */
export function strategies(conflicts: readonly Conflict[], total: number): Strategy[] {
  const isOpen = !conflicts.some(isOfTable)
  return ['fail_on_conflict', ...(areDecidable(conflicts, total) ? ['manual' as const] : []), ...(isOpen ? ['branch_wins' as const, 'main_wins' as const] : [])]
}

/** Would it merge anything? */
export const isDecided = (strategy: Strategy, conflicts: readonly Conflict[], taken: Readonly<Record<string, Side>>): boolean =>
  conflicts.length === 0 || (strategy === 'manual' ? conflicts.every((conflict) => taken[conflict.conflict_id]) : strategy !== 'fail_on_conflict')
