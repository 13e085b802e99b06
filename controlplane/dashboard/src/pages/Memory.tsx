/** What agents remember here: found by meaning, and forgotten for good. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask } from '../api/client'
import { time } from '../format'
import { useChanged } from '../lists'
import { Badge } from '../parts/Badge'
import { Confirm } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Answered, Empty, Page } from '../parts/Page'
import { Table } from '../parts/Table'
import { WRITERS } from '../permissions'
import { useEnvironment, useSession } from '../session'

export default function Memory() {
  const { orgId, is } = useSession()
  const { env_id } = useEnvironment()
  const [wanted, setWanted] = useState('')
  const changed = useChanged('memory')
  const path = { org_id: orgId }
  const memories = useQuery({
    queryKey: ['memory', env_id, wanted],
    queryFn: () =>
      wanted
        ? ask(api.GET('/v1/organizations/{org_id}/agent-memory/search', { params: { path, query: { env_id, query: wanted, top_k: 20 } } }))
        : ask(api.GET('/v1/organizations/{org_id}/agent-memory', { params: { path, query: { env_id, limit: 100 } } })),
  })
  return (
    <Page title="Memory" needs="agent:*" lead="What agents keep from one run to the next.">
      <Form
        isInline
        label="Search"
        fields={[{ name: 'query', label: 'Find by meaning' }]}
        submit="Search"
        onSubmit={async (typed) => setWanted(typed.text('query'))}
      />
      <Answered
        of={memories}
        isEmpty={(all) => all.length === 0}
        empty={<Empty title={wanted ? 'Nothing like it is remembered' : 'Nothing is remembered yet'}><p>Agents keep memories by the tool <code>store_memory</code>.</p></Empty>}
      >
        {(all) => (
          <Table
            label="Memories"
            id={(memory) => memory.id}
            rows={all}
            columns={[
              { head: 'Agent', cell: (memory) => <code>{memory.agent_id}</code> },
              { head: 'What', cell: (memory) => memory.content },
              { head: 'Kind', cell: (memory) => <Badge>{memory.memory_type}</Badge> },
              { head: 'Score', isNumber: true, cell: (memory) => memory.score?.toFixed(3) ?? '–' },
              { head: 'Since (UTC)', cell: (memory) => <span className="nowrap">{time(memory.created_at)}</span> },
              {
                head: '',
                cell: (memory) =>
                  is(WRITERS) && (
                    <Confirm
                      label="Forget"
                      question={`Forget “${memory.content.slice(0, 120)}” for good?`}
                      act={() =>
                        ask(api.DELETE('/v1/organizations/{org_id}/agent-memory/{memory_id}', { params: { path: { ...path, memory_id: memory.id }, query: { env_id } } })).then(changed)
                      }
                    />
                  ),
              },
            ]}
          />
        )}
      </Answered>
    </Page>
  )
}
