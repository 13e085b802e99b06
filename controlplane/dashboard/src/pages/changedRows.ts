/** The rows that a branch has changed: each value as it was and as it is. */
import type { Shapes } from '../api/client'
import { cell } from '../format'

export type Changed = Shapes['BranchChangedRow']

export interface Line {
  change: string
  times: number
  /** In the order of the columns. Where there was no such row, or is none, there is no such value. */
  cells: readonly { before?: string; after?: string; differs: boolean }[]
}

export function linesOf(rows: readonly Changed[]): { columns: string[]; lines: Line[] } {
  const columns = [...new Set(rows.flatMap(({ before, after }) => [...Object.keys(before ?? {}), ...Object.keys(after ?? {})]))]
  const line = ({ change, times, before, after }: Changed): Line => ({
    change,
    times,
    cells: columns.map((column) => ({
      ...(before && { before: cell(before[column]) }),
      ...(after && { after: cell(after[column]) }),
      differs: Boolean(before && after && before[column] !== after[column]),
    })),
  })
  return { columns, lines: rows.map(line) }
}
