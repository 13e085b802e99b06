/** The changes of a branch: how many rows of each table, and which, each as it was and as it is. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask } from '../api/client'
import { count } from '../format'
import { Badge } from '../parts/Badge'
import { Choice } from '../parts/Choice'
import { Answered } from '../parts/Page'
import { Table } from '../parts/Table'
import { useBranch } from './branchPlace'
import { linesOf, type Changed, type Line } from './changedRows'

const TONES = { added: 'good', changed: 'warn', deleted: 'bad' } as const

export function Changes() {
  const params = useBranch()
  const diff = useQuery({
    queryKey: ['branch-diff', params],
    staleTime: 0, // somebody comes back from changing the branch
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}/branches/{branch_id}/diff', { params })),
  })
  return (
    <Answered of={diff}>
      {({ tables }) => {
        const touched = Object.entries(tables).filter(([, { added, changed, deleted }]) => added + changed + deleted > 0)
        return (
          <>
            <Table
              label="What it changed"
              id={([table]) => table}
              rows={Object.entries(tables)}
              columns={[
                { head: 'Table', cell: ([table]) => <code>{table}</code> },
                { head: 'Rows added', isNumber: true, cell: ([, changes]) => count(changes.added) },
                { head: 'Changed', isNumber: true, cell: ([, changes]) => count(changes.changed) },
                { head: 'Deleted', isNumber: true, cell: ([, changes]) => count(changes.deleted) },
              ]}
            />
            {touched.length > 0 && <Rows tables={touched.map(([table]) => table)} />}
          </>
        )
      }}
    </Answered>
  )
}

function Rows({ tables }: { tables: readonly string[] }) {
  const params = useBranch()
  const [chosen, choose] = useState('')
  const table = tables.includes(chosen) ? chosen : (tables[0] ?? '')
  const changes = useQuery({
    queryKey: ['branch-changes', params, table],
    staleTime: 0,
    queryFn: () =>
      ask(
        api.GET('/v1/organizations/{org_id}/branches/{branch_id}/changes', {
          params: { path: params.path, query: { ...params.query, table } },
        }),
      ),
  })
  return (
    <section className="stack" aria-labelledby="changed-rows">
      <h2 id="changed-rows">Changed rows</h2>
      {tables.length > 1 && <Choice label="Table" value={table} options={tables} names={named(tables)} onChange={choose} />}
      <Answered of={changes}>
        {({ rows, truncated }) => (
          <>
            <Shown table={table} rows={rows} />
            {truncated && <p className="fine">These are the first {count(rows.length)}; there are more.</p>}
          </>
        )}
      </Answered>
    </section>
  )
}

const named = (tables: readonly string[]) => Object.fromEntries(tables.map((table) => [table, { label: table }]))

function Shown({ table, rows }: { table: string; rows: readonly Changed[] }) {
  const { columns, lines } = linesOf(rows)
  if (lines.length === 0) return <p>Only what is masked for you has changed here.</p>
  return (
    <div className="scroll tall result" role="region" aria-label={`Changed rows of ${table}`} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Change</th>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map((line, index) => (
            <One key={index} line={line} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function One({ line: { change, times, cells } }: { line: Line }) {
  return (
    <tr>
      <td>
        <Badge tone={TONES[change as keyof typeof TONES]}>{change}</Badge>
        {times > 1 && ` ${count(times)} times`}
      </td>
      {cells.map(({ before, after, differs }, index) => (
        <td key={index} className="mono">
          {differs ? (
            <>
              <del>{before}</del> <ins>{after}</ins>
            </>
          ) : (
            (after ?? before)
          )}
        </td>
      ))}
    </tr>
  )
}
