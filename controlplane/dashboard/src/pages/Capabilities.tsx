/** Capability grants of agents, which last for a while. */
import { api, ask } from '../api/client'
import { count, relative, words } from '../format'
import { useChanged, useList } from '../lists'
import { Badge } from '../parts/Badge'
import { Confirm, Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { useEnvironment } from '../session'

const OPERATIONS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE']

export default function Capabilities() {
  const { env_id } = useEnvironment()
  const changed = useChanged('capabilities')
  const list = useList(['capabilities', env_id], (cursor) =>
    ask(api.GET('/v1/environments/{env_id}/agent-capabilities', { params: { path: { env_id }, query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  const now = Date.now()
  return (
    <Page
      title="Capabilities"
      needs="policy:write"
      lead="Tables, operations and amounts that an agent is granted, until a moment that is set."
      actions={<Opens label="Grant one" className="primary">{(close) => <Granting close={close} />}</Opens>}
    >
      <ResourceList
        of={list}
        scope="policy:write"
        empty={<Empty title="No grants yet"><p>An agent without one may what its key and its user may.</p></Empty>}
        label="Grants"
        id={(grant) => grant.grant_id}
        columns={[
          { head: 'Agent', cell: (grant) => <code>{grant.agent_id}</code> },
          { head: 'May', cell: (grant) => `${grant.capabilities.allowed_operations.join(', ')} on ${grant.capabilities.allowed_tables.join(', ')}` },
          { head: 'An hour', isNumber: true, cell: (grant) => `${count(grant.usage?.queries_this_hour ?? 0)} of ${count(grant.capabilities.max_queries_per_hour)}` },
          { head: 'State', cell: (grant) => <Badge>{grant.status}</Badge> },
          { head: 'Expires', cell: (grant) => <span className="nowrap">{relative(grant.expires_at, now)}</span> },
          {
            head: '',
            cell: (grant) =>
              grant.status === 'active' && (
                <Confirm
                  label="Revoke"
                  question={`Take it from ${grant.agent_id}? Its next query is refused.`}
                  act={() => ask(api.DELETE('/v1/environments/{env_id}/agent-capabilities/{grant_id}', { params: { path: { env_id, grant_id: grant.grant_id } } })).then(changed)}
                />
              ),
          },
        ]}
      />
    </Page>
  )
}

function Granting({ close }: { close: () => void }) {
  const { env_id } = useEnvironment()
  const changed = useChanged('capabilities')
  return (
    <Form
      fields={[
        { name: 'agent_id', label: 'Agent', required: true },
        { name: 'allowed_tables', label: 'Tables', required: true, hint: 'With commas between; hr.* is every table of the schema hr.' },
        { name: 'allowed_operations', label: 'Operations', kind: 'choices', options: OPERATIONS, initial: ['SELECT'] },
        { name: 'max_queries_per_hour', label: 'Queries an hour', kind: 'number', hint: 'Empty: as many as its key may.' },
        { name: 'max_rows_per_query', label: 'Rows a query', kind: 'number', hint: 'Empty: as many as its key may.' },
        { name: 'days', label: 'Expires in days', kind: 'number', initial: 7, required: true },
      ]}
      submit="Grant it"
      onSubmit={(typed) =>
        ask(
          api.POST('/v1/environments/{env_id}/agent-capabilities', {
            params: { path: { env_id } },
            body: {
              agent_id: typed.text('agent_id'),
              expires_at: new Date(Date.now() + (typed.number('days') ?? 0) * 86_400_000).toISOString(),
              capabilities: {
                allowed_tables: words(typed.text('allowed_tables')),
                allowed_operations: typed.all('allowed_operations'),
                max_queries_per_hour: typed.number('max_queries_per_hour') ?? null,
                max_rows_per_query: typed.number('max_rows_per_query') ?? null,
              },
            },
          }),
        ).then(changed)
      }
      onDone={close}
    />
  )
}
