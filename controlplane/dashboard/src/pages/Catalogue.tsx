/** The tables that whoever asks can see, with what the policies do to them, and the stages of files. */
import { useState } from 'react'
import { Link } from 'wouter'
import { api, ask } from '../api/client'
import { useCatalogue, useCatalogueWarnings } from '../catalogue'
import { count } from '../format'
import { useList } from '../lists'
import { AddDataLink, addDataTo } from '../parts/AddDataLink'
import { Badge } from '../parts/Badge'
import { Answered, Empty, Page } from '../parts/Page'
import { Table } from '../parts/Table'
import { WRITERS } from '../permissions'
import { useEnvironment, useSession } from '../session'
import type { CatalogueColumn, CatalogueTable } from '../tables'
import { auditOf } from './auditFilter'
import { filtersOf, masksOf, type Policy } from './policyRules'
import { Stages } from './Stages'

export default function Catalogue() {
  const { env_id } = useEnvironment()
  const [wanted, setWanted] = useState('')
  const catalogue = useCatalogue(env_id)
  const warnings = useCatalogueWarnings(env_id)
  const policies = useList(['policies', env_id], (cursor) =>
    ask(api.GET('/v1/environments/{env_id}/policies', { params: { path: { env_id }, query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  return (
    <Page
      title="Catalogue"
      needs="query:read"
      lead="What you can see here. A table that is denied to you is not in the list."
      actions={<AddDataLink />}
    >
      {warnings.map((warning) => (
        <p key={warning} className="notice" role="status">
          {warning}
        </p>
      ))}
      <Answered
        of={catalogue}
        isEmpty={(tables) => tables.length === 0}
        empty={<Empty title="No tables yet"><p>A file makes the first, or the SQL editor does: <code>create table …</code></p></Empty>}
      >
        {(tables) => {
          const matches = tables.filter((table) => holds(table, wanted.toLowerCase()))
          return (
            <>
              <label className="field">
                <span>Find a table or column</span>
                <input type="search" value={wanted} onChange={(event) => setWanted(event.target.value)} />
              </label>
              <p className="fine" role="status">
                {count(matches.length)} of {count(tables.length)} tables
              </p>
              <div className="pile">
                {matches.map((table) => (
                  <One key={`${table.schema}.${table.name}`} table={table} policies={policies.data ?? []} />
                ))}
              </div>
            </>
          )
        }}
      </Answered>
      <Stages />
    </Page>
  )
}

function holds(table: CatalogueTable, text: string): boolean {
  return table.name.toLowerCase().includes(text) || table.columns.some((column) => column.name.toLowerCase().includes(text))
}

function One({ table, policies }: { table: CatalogueTable; policies: readonly Policy[] }) {
  const { can, is } = useSession()
  const path = `${table.schema}.${table.name}`
  const masks = masksOf(policies, table.name)
  const filters = filtersOf(policies, table.name)
  return (
    <details className="card" open={masks.length + filters.length > 0}>
      <summary>
        <strong>{table.name}</strong> <span className="fine">{table.schema}, {count(table.columns.length)} columns</span>{' '}
        {masks.length > 0 && <Badge tone="warn">{`${masks.length} masked`}</Badge>}{' '}
        {filters.length > 0 && <Badge tone="warn">rows filtered</Badge>}
      </summary>
      {filters.map((filter) => (
        <p key={`${filter.policy} ${filter.filter}`} className="notice">
          Only rows with <code>{filter.filter}</code> ({filter.policy}
          {filter.exempt.length > 0 && `; not for ${filter.exempt.join(', ')}`})
        </p>
      ))}
      {is(WRITERS) && (
        <p className="asked">
          <Link href={addDataTo(path)}>Add rows from a file</Link>
        </p>
      )}
      {can('audit:read') && (
        <p className="asked">
          <Link href={auditOf({ table: path })}>Who has asked of it this week</Link>
        </p>
      )}
      <Table
        label={`Columns of ${table.name}`}
        id={(column) => column.name}
        rows={table.columns}
        columns={[
          { head: 'Column', cell: (column) => <code>{column.name}</code> },
          { head: 'Type', cell: (column) => column.type.toLowerCase() },
          {
            head: 'Mask',
            cell: (column) => {
              const own = masks.filter((mask) => mask.column.toLowerCase() === column.name.toLowerCase())
              if (own.length === 0) return <span className="fine">none</span>
              return own.map((mask) => (
                <span key={mask.policy}>
                  <Badge tone="warn">{mask.function}</Badge> {mask.policy}
                  {mask.exempt.length > 0 && <span className="fine">; not for {mask.exempt.join(', ')}</span>}
                </span>
              ))
            },
          },
          ...(can('audit:read')
            ? [
                {
                  head: '',
                  cell: ({ name }: CatalogueColumn) => (
                    <Link href={auditOf({ table: path, column: name })} className="nowrap" aria-label={`Who saw it: ${name}`}>
                      Who saw it
                    </Link>
                  ),
                },
              ]
            : []),
        ]}
      />
    </details>
  )
}
