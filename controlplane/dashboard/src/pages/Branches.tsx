/** Branches: tables copied to be changed apart, and brought back row by row. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { api, ask } from '../api/client'
import { useCatalogue } from '../catalogue'
import { relative, time } from '../format'
import { useChanged } from '../lists'
import { Badge } from '../parts/Badge'
import { Choice } from '../parts/Choice'
import { Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Answered, Empty, Page } from '../parts/Page'
import { Table } from '../parts/Table'
import { WRITERS } from '../permissions'
import { useEnvironment, useSession } from '../session'
import { keysOf } from './branchKeys'

const STATES = ['active', 'merged', 'discarded', 'expired', 'all'] as const

export default function Branches() {
  const { orgId, is } = useSession()
  const { env_id } = useEnvironment()
  const [status, setStatus] = useState<(typeof STATES)[number]>('active')
  const branches = useQuery({
    queryKey: ['branches', env_id, status],
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}/branches', { params: { path: { org_id: orgId }, query: { env_id, status } } })),
  })
  const now = Date.now()
  return (
    <Page
      title="Branches"
      needs="agent:*"
      lead="A branch has copies of tables. What is changed on it is seen on it alone, until it is merged."
      actions={is(WRITERS) && <Opens label="New branch" className="primary">{(close) => <Making close={close} />}</Opens>}
    >
      <Choice label="State" value={status} options={STATES} onChange={setStatus} />
      <Answered
        of={branches}
        isEmpty={(all) => all.length === 0}
        empty={<Empty title="No branch is here"><p>Agents make them by the tool <code>create_branch</code>, and people who may write do here.</p></Empty>}
      >
        {(all) => (
          <Table
            label="Branches"
            id={(branch) => branch.id}
            rows={all}
            columns={[
              { head: 'Name', cell: (branch) => <Link href={`/branches/${branch.id}`}>{branch.name}</Link> },
              { head: 'Agent', cell: (branch) => <code>{branch.agent_id}</code> },
              { head: 'Tables', cell: (branch) => <code>{branch.tables.join(', ')}</code> },
              { head: 'State', cell: (branch) => <Badge>{branch.status}</Badge> },
              { head: 'Since (UTC)', cell: (branch) => <span className="nowrap">{time(branch.created_at)}</span> },
              { head: 'Expires', cell: (branch) => (branch.status === 'active' ? <span className="nowrap">{relative(branch.expires_at, now)}</span> : '–') },
            ]}
          />
        )}
      </Answered>
    </Page>
  )
}

const LIVES = [
  { value: '3600', label: 'an hour' },
  { value: '86400', label: 'a day' },
  { value: '604800', label: 'a week' },
]

function Making({ close }: { close: () => void }) {
  const { orgId } = useSession()
  const { env_id } = useEnvironment()
  const [, go] = useLocation()
  const catalogue = useCatalogue(env_id)
  const changed = useChanged('branches')
  return (
    <Answered of={catalogue} scope="query:read" isEmpty={(tables) => tables.length === 0} empty={<p>There is no table to branch yet.</p>}>
      {(tables) => (
        <Form
          fields={[
            { name: 'name', label: 'Name', required: true },
            {
              name: 'tables',
              label: 'Tables',
              kind: 'choices',
              options: tables.map((table) => `${table.schema}.${table.name}`),
              hint: 'All that you may see, if none is chosen',
            },
            {
              name: 'keys',
              label: 'Keys',
              kind: 'textarea',
              hint: 'The columns that tell the rows of a table without a primary key apart, a line for each table, as stock: sku, place',
            },
            { name: 'agent_id', label: 'For the agent', required: true, hint: 'The name that its changes are written down under' },
            { name: 'description', label: 'What for', kind: 'textarea' },
            { name: 'ttl_seconds', label: 'Given up after', kind: 'select', options: LIVES },
          ]}
          submit="Make it"
          onSubmit={async (typed) => {
            const description = typed.optional('description')
            const tables = typed.all('tables')
            const keys = keysOf(typed.text('keys'))
            const made = await ask(
              api.POST('/v1/organizations/{org_id}/branches', {
                params: { path: { org_id: orgId }, query: { env_id } },
                body: {
                  name: typed.text('name'),
                  ...(tables.length > 0 && { tables }),
                  ...(Object.keys(keys).length > 0 && { keys }),
                  agent_id: typed.text('agent_id'),
                  ttl_seconds: typed.number('ttl_seconds') ?? null,
                  ...(description && { description }),
                },
              }),
            )
            await changed()
            close()
            go(`/branches/${made.id}`)
          }}
        />
      )}
    </Answered>
  )
}
