/** Reasoning of agents: sessions of steps, each a chain that can be checked and never changed. */
import { useState } from 'react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { api, ask } from '../api/client'
import { count, span, time } from '../format'
import { useNames } from '../names'
import { Form } from '../parts/Form'
import { Answered, Empty, Page } from '../parts/Page'
import { More, Table } from '../parts/Table'
import { inPath } from '../places'
import { useEnvironment } from '../session'

export default function Reasoning() {
  const { env_id } = useEnvironment()
  const named = useNames()
  const [agent, setAgent] = useState('')
  const list = useInfiniteQuery({
    queryKey: ['reasoning', env_id, agent],
    queryFn: ({ pageParam }) =>
      ask(api.GET('/v1/cot/sessions', { params: { query: { env_id, limit: 50, envelope: true, ...(agent && { agent_id: agent }), ...(pageParam && { cursor: pageParam }) } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => ('cursor' in last ? (last.cursor ?? undefined) : undefined),
  })
  const sessions = { ...list, data: list.data?.pages.flatMap((page) => ('sessions' in page ? page.sessions : page)) }
  return (
    <Page title="Reasoning" needs="agent:*" lead="What agents did and why, step by step, in a ledger that only grows.">
      <Form
        isInline
        label="Whose sessions"
        fields={[{ name: 'agent', label: 'Begun by the agent' }]}
        submit="Show"
        onSubmit={async (typed) => setAgent(typed.text('agent'))}
      />
      <Answered
        of={sessions}
        isEmpty={(all) => all.length === 0}
        empty={
          <Empty title={agent ? 'This agent has begun no session' : 'No agent has thought aloud yet'}>
            <p>
              Agents write steps down by the tool <code>log_reasoning_step</code>.
            </p>
          </Empty>
        }
      >
        {(all) => (
          <>
            <Table
              label="Sessions"
              id={(session) => session.session_id}
              rows={all}
              columns={[
                { head: 'Session', cell: (session) => <Link href={`/reasoning/${inPath(session.session_id)}`}>{session.session_id}</Link> },
                { head: 'Begun by', cell: (session) => named(session.agent_id) ?? <code>{session.agent_id}</code> },
                { head: 'Steps', isNumber: true, cell: (session) => count(session.step_count) },
                { head: 'Begun (UTC)', cell: (session) => <span className="nowrap">{time(session.started_at)}</span> },
                { head: 'Lasted', isNumber: true, cell: (session) => <span className="nowrap">{span((Date.parse(session.last_step_at) - Date.parse(session.started_at)) / 1000)}</span> },
              ]}
            />
            <More list={list} />
          </>
        )}
      </Answered>
    </Page>
  )
}
