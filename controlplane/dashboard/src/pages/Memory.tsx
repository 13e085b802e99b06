/** Memories of agents: found by similar words, or by meaning where a model is set up, and forgotten for good. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask } from '../api/client'
import { nextCursor } from '../api/link'
import { time } from '../format'
import { useChanged } from '../lists'
import { Badge } from '../parts/Badge'
import { Confirm } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Answered, Empty, Page } from '../parts/Page'
import { More, Table } from '../parts/Table'
import { WRITERS } from '../permissions'
import { useEnvironment, useSession } from '../session'

export default function Memory() {
  const { orgId, is } = useSession()
  const { env_id } = useEnvironment()
  const [wanted, setWanted] = useState('')
  const changed = useChanged('memory')
  const path = { org_id: orgId }
  const embedder = useQuery({
    queryKey: ['memory-embedder', env_id],
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}/agent-memory/embedding-stats', { params: { path, query: { env_id } } })),
  })
  const list = useInfiniteQuery({
    queryKey: ['memory', env_id, wanted],
    queryFn: async ({ pageParam }) => {
      const call = wanted
        ? api.GET('/v1/organizations/{org_id}/agent-memory/search', { params: { path, query: { env_id, query: wanted, top_k: 20 } } })
        : api.GET('/v1/organizations/{org_id}/agent-memory', { params: { path, query: { env_id, limit: 100, ...(pageParam && { cursor: pageParam }) } } })
      return { rows: await ask(call), next: nextCursor((await call).response.headers.get('link')) }
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next,
  })
  const memories = { ...list, data: list.data?.pages.flatMap((page) => page.rows) }
  // A model makes vectors of what is meant; without one, words alone are compared.
  const how = embedder.data?.embedder.startsWith('model:') ? 'meaning' : 'similar words'
  return (
    <Page title="Memory" needs="agent:*" lead="What agents keep from one run to the next.">
      <Form
        isInline
        label="Search"
        fields={[{ name: 'query', label: `Find by ${how}` }]}
        submit="Search"
        onSubmit={async (typed) => setWanted(typed.text('query'))}
      />
      <Answered
        of={memories}
        isEmpty={(all) => all.length === 0}
        empty={<Empty title={wanted ? 'Nothing like it is remembered' : 'Nothing is remembered yet'}><p>Agents keep memories by the tool <code>store_memory</code>.</p></Empty>}
      >
        {(all) => (
          <>
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
            <More list={list} />
          </>
        )}
      </Answered>
    </Page>
  )
}
