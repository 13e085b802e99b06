/** A list of resources as a table, a page after another, in each state that a page has. */
import type { ReactNode } from 'react'
import type { Scope } from '../permissions'
import { Answered, type Asked } from './Page'
import { More, Table, type Column } from './Table'

/** A list that is asked for page by page. */
type Pages<T> = Asked<readonly T[]> & { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown }

export function ResourceList<T>({
  of: list,
  scope,
  empty,
  label,
  id,
  columns,
}: {
  of: Pages<T>
  /** What whoever reads it needs. */
  scope?: Scope
  empty: ReactNode
  label: string
  id: (row: T) => string
  columns: readonly Column<T>[] | ((all: readonly T[]) => readonly Column<T>[])
}) {
  return (
    <Answered of={list} {...(scope && { scope })} isEmpty={(all) => all.length === 0} empty={empty}>
      {(all) => (
        <>
          <Table label={label} id={id} rows={all} columns={typeof columns === 'function' ? columns(all) : columns} />
          <More list={list} />
        </>
      )}
    </Answered>
  )
}
