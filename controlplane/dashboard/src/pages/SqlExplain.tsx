/** A statement explained: what would run, and which policies made it so, as whoever is imagined. */
import { useState } from 'react'
import type { Shapes } from '../api/client'
import { cell } from '../format'
import { Badge } from '../parts/Badge'
import { CodeBlock } from '../parts/CodeBlock'
import { Form, type Typed } from '../parts/Form'
import { Answered } from '../parts/Page'
import { Table } from '../parts/Table'
import { ADMINS } from '../permissions'
import { useEnvironment, useSession } from '../session'
import { attributesIn } from './attributes'
import { useExplained, type Explained, type RunAs } from './explained'
import { ROLES, type Role } from './roles'

export function SqlExplain({ sql }: { sql: string }) {
  const { env_id } = useEnvironment()
  const { is } = useSession()
  const [as, setAs] = useState<RunAs>({})
  const explained = useExplained(env_id, sql, as)
  return (
    <div className="stack">
      {is(ADMINS) && <AsWhom take={setAs} />}
      <Answered of={explained}>{(found) => <Told sql={sql} found={found} />}</Answered>
    </div>
  )
}

const MYSELF = { value: '', label: 'your own' }
/** Besides `rest`, which it is if nothing is said. */
const ORIGINS: Record<Exclude<Shapes['Origin'], 'rest'>, true> = { arrow: true, pgwire: true, flight: true, mcp: true, dashboard: true, shadow: true }

function AsWhom({ take }: { take: (as: RunAs) => void }) {
  const asked = (typed: Typed): RunAs => {
    const [role, agent_id, framework] = [typed.optional('role') as Role | undefined, typed.optional('agent_id'), typed.optional('framework')]
    const [query_origin, at] = [typed.optional('query_origin') as Shapes['Origin'] | undefined, typed.optional('at')]
    const attributes = attributesIn('attributes', typed.text('attributes'))
    return {
      ...(role && { role }),
      ...(agent_id && { agent_id }),
      ...(framework && { framework }),
      ...(query_origin && { query_origin }),
      ...(at && { at: new Date(`${at}Z`).toISOString() }),
      attributes,
    }
  }
  return (
    <details className="card">
      <summary>As somebody else</summary>
      <Form
        isInline
        label="As somebody else"
        fields={[
          { name: 'role', label: 'With the role', kind: 'select', options: [MYSELF, ...ROLES] },
          { name: 'agent_id', label: 'Agent' },
          { name: 'framework', label: 'Framework' },
          { name: 'query_origin', label: 'Door', kind: 'select', options: ['', ...Object.keys(ORIGINS)].map((value) => ({ value, label: value || 'rest' })) },
          { name: 'at', label: 'When (UTC)', kind: 'datetime-local', isWide: true },
          { name: 'attributes', label: 'Attributes, a line each: region = EU', kind: 'textarea', isWide: true },
        ]}
        submit="Explain as them"
        onSubmit={async (typed) => take(asked(typed))}
      />
    </details>
  )
}

function Told({ sql, found }: { sql: string; found: Explained }) {
  const { verdict, filters = [], masks = [], matching_policies: matching = [], tables_hidden: hidden = [] } = found
  const runs = hidden.length > 0 ? `No rows for you of ${hidden.join(', ')}.` : 'It would run.'
  const changes = filters.length + masks.length
  return (
    <>
      {verdict && (
        <div className={verdict === 'allow' && hidden.length === 0 ? 'verdict good' : 'verdict bad'} role="status">
          <p>
            <strong>{verdict === 'allow' ? runs : 'It would be refused.'}</strong> {found.reason}
          </p>
          {found.code && (
            <p className="fine">
              <a href={`/docs/errors#${found.code}`} target="_blank" rel="noreferrer">
                {found.code}
              </a>
            </p>
          )}
          {verdict === 'allow' && <p>{changes === 0 ? 'No policy changes what is seen.' : 'Policies change what is seen.'}</p>}
        </div>
      )}
      {verdict === undefined && found.rewritten == null && <p className="notice">Policies change this statement. What they make of it is for owners and admins.</p>}
      {changes > 0 && <Changes filters={filters} masks={masks} />}
      {matching.length > changes && (
        <p>
          Had a say:{' '}
          {matching.map((policy) => (
            <span key={`${policy.policy_id} ${policy.action}`}>
              {policy.name} <Badge>{policy.action}</Badge>{' '}
            </span>
          ))}
        </p>
      )}
      {found.warnings.map((warning) => (
        <p key={warning} className="notice">
          {warning}
        </p>
      ))}
      {found.governed != null && found.governed !== sql && <CodeBlock label="What would run" text={found.governed} />}
      {found.governed == null && found.rewritten != null && <CodeBlock label="In the engine’s dialect" text={found.rewritten} />}
      {found.parameters.length > 0 && <p className="fine">With {found.parameters.map((value, index) => `$${index + 1} = ${cell(value)}`).join(', ')}</p>}
      {found.tables.length > 0 && (
        <p className="fine">
          Reads <code>{found.tables.join(', ')}</code>
        </p>
      )}
    </>
  )
}

function Changes({ filters, masks }: { filters: NonNullable<Explained['filters']>; masks: NonNullable<Explained['masks']> }) {
  const rows = [
    ...filters.map((one) => ({ what: one.table, does: `only rows with ${one.filter}`, policy: one.name, kind: 'filter' })),
    ...masks.map((one) => ({ what: `${one.table}.${one.column}`, does: one.visible_chars > 0 ? `${one.function}, ${one.visible_chars} shown` : one.function, policy: one.name, kind: 'mask' })),
  ]
  return (
    <Table
      label="What policies do"
      id={(row) => `${row.what} ${row.does} ${row.policy}`}
      rows={rows}
      columns={[
        { head: 'Of', cell: (row) => <code>{row.what}</code> },
        { head: 'Does', cell: (row) => <Badge tone="warn">{row.kind}</Badge> },
        { head: 'How', cell: (row) => <code>{row.does}</code> },
        { head: 'Policy', cell: (row) => row.policy },
      ]}
    />
  )
}
