/**
 * Rows under heads. It scrolls in itself, by keyboard too, so that the page never does sideways. Where it is narrow
 * each row is a list of its cells, and each cell says its head; the roles are said too, which that takes away.
 */
import type { ReactNode } from 'react'

export interface Column<T> {
  head: string
  cell: (row: T) => ReactNode
  /** Numbers stand to the right. */
  isNumber?: boolean
}

export function Table<T>({
  label,
  columns,
  rows,
  id,
}: {
  label: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  id: (row: T) => string
}) {
  return (
    <div className="scroll" role="region" aria-label={label} tabIndex={0}>
      <table role="table" className="rows">
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ head, isNumber }) => (
              <th key={head} role="columnheader" scope="col" className={isNumber ? 'number' : undefined}>
                {head || <span className="unseen">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={id(row)} role="row">
              {columns.map(({ head, cell, isNumber }) => (
                <td key={head} role="cell" data-head={head} className={isNumber ? 'number' : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A page of a list after another. */
export function More({ list }: { list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown } }) {
  if (!list.hasNextPage) return null
  return (
    <p>
      <button type="button" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        Show more
      </button>
    </p>
  )
}
