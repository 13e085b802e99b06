/** Who asked what, what was refused, who changed what; and whether the record of it is whole. */
import { useState } from 'react'
import { useQuery } from '@tanstack/react-query'
import { api, ask, type Shapes } from '../api/client'
import { problemOf, type Problem } from '../api/problem'
import { count, daysAgo, milliseconds, time } from '../format'
import { useList } from '../lists'
import { Badge } from '../parts/Badge'
import { CodeBlock } from '../parts/CodeBlock'
import { Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Answered, Empty, Page, Refusal } from '../parts/Page'
import { More, Table } from '../parts/Table'
import { Tabs } from '../parts/Tabs'
import { useEnvironment } from '../session'

type Entry = Shapes['QueryEntry']

export default function Audit() {
  return (
    <Page title="Audit" needs="audit:read" lead="Every query, refused ones too; and every change, in a chain of hashes that anybody may check.">
      <Tabs
        label="Logs"
        tabs={[
          { name: 'Queries', panel: () => <Queries /> },
          { name: 'Changes', panel: () => <Changes /> },
        ]}
      />
    </Page>
  )
}

interface Filter {
  start_date?: string
  end_date?: string
  table?: string
  user_id?: string
  agent_id?: string
  min_duration_ms?: number
}

function Queries() {
  const { env_id } = useEnvironment()
  const [filter, setFilter] = useState<Filter>(() => ({ start_date: daysAgo(7, Date.now()) }))
  const list = useList(['audit-queries', env_id, filter], (cursor) =>
    ask(api.GET('/v1/environments/{env_id}/audit/queries', { params: { path: { env_id }, query: { ...filter, limit: 50, ...(cursor && { cursor }) } } })),
  )
  return (
    <>
      <Form
        isInline
        label="Filter"
        fields={[
          { name: 'start_date', label: 'From', kind: 'date', initial: filter.start_date },
          { name: 'end_date', label: 'To', kind: 'date' },
          { name: 'table', label: 'Table' },
          { name: 'user_id', label: 'User id' },
          { name: 'agent_id', label: 'Agent' },
          { name: 'min_duration_ms', label: 'At least, in ms', kind: 'number' },
        ]}
        submit="Show"
        onSubmit={async (typed) => {
          const texts = ['start_date', 'end_date', 'table', 'user_id', 'agent_id'] as const
          const wanted: Filter = {}
          for (const name of texts) {
            const text = typed.optional(name)
            if (text) wanted[name] = text
          }
          const least = typed.number('min_duration_ms')
          setFilter(least === undefined ? wanted : { ...wanted, min_duration_ms: least })
        }}
      />
      <Answered
        of={list}
        scope="audit:read"
        isEmpty={(entries) => entries.length === 0}
        empty={<Empty title="No query fits"><p>What runs from now on is listed here a moment later.</p></Empty>}
      >
        {(entries) => (
          <>
            <p className="fine" role="status">
              {count(list.total)} queries
            </p>
            <Table
              label="Queries"
              id={(entry) => entry.query_id}
              rows={entries}
              columns={[
                { head: 'When (UTC)', cell: (entry) => <span className="nowrap">{time(entry.timestamp)}</span> },
                { head: 'Who', cell: (entry) => <Who entry={entry} /> },
                { head: 'Statement', cell: (entry) => <Detail entry={entry} /> },
                { head: 'Outcome', cell: (entry) => <Outcome entry={entry} /> },
                { head: 'Masked', cell: (entry) => entry.columns_masked.join(', ') || <span className="fine">none</span> },
                { head: 'Rows', isNumber: true, cell: (entry) => count(entry.rows_returned) },
                { head: 'Took', isNumber: true, cell: (entry) => <span className="nowrap">{milliseconds(entry.execution_time_ms)}</span> },
              ]}
            />
            <More list={list} />
          </>
        )}
      </Answered>
    </>
  )
}

function Who({ entry }: { entry: Entry }) {
  return (
    <>
      <code title={entry.user_id ?? entry.key_id ?? ''}>{(entry.user_id ?? entry.key_id ?? '–').slice(-8)}</code>{' '}
      <span className="fine nowrap">
        {entry.role} by {entry.origin}
        {entry.agent_metadata?.agent_id && `, ${entry.agent_metadata.agent_id}`}
      </span>
    </>
  )
}

function Outcome({ entry }: { entry: Entry }) {
  return (
    <>
      <Badge>{entry.outcome}</Badge> {entry.error_code && <a href={`/docs/errors#${entry.error_code}`}>{entry.error_code}</a>}
    </>
  )
}

function Detail({ entry }: { entry: Entry }) {
  const { env_id } = useEnvironment()
  return (
    <Opens label={entry.sql} title="A query" className="link sql">
      {() => <Whole envId={env_id} queryId={entry.query_id} />}
    </Opens>
  )
}

function Whole({ envId, queryId }: { envId: string; queryId: string }) {
  const detail = useQuery({
    queryKey: ['audit-query', queryId],
    queryFn: () => ask(api.GET('/v1/environments/{env_id}/audit/queries/{query_id}', { params: { path: { env_id: envId, query_id: queryId } } })),
  })
  return (
    <Answered of={detail}>
      {(entry) => (
        <div className="stack">
          <dl className="facts">
            <dt>Query</dt>
            <dd><code>{entry.query_id}</code></dd>
            <dt>User</dt>
            <dd><code>{entry.user_id ?? '–'}</code></dd>
            <dt>Key</dt>
            <dd><code>{entry.key_id ?? '–'}</code></dd>
            <dt>From</dt>
            <dd>{entry.source_ip ?? '–'}</dd>
            <dt>Tables</dt>
            <dd>{entry.tables_accessed.join(', ') || '–'}</dd>
            <dt>Masked</dt>
            <dd>{entry.columns_masked.join(', ') || 'nothing'}</dd>
            <dt>Policies</dt>
            <dd>{entry.policy_verdicts.map((verdict) => `${verdict.policy_name}: ${verdict.action}`).join('; ') || 'none ruled it'}</dd>
            <dt>Credits</dt>
            <dd>{count(entry.credits_consumed)}</dd>
          </dl>
          <h3>As it was asked</h3>
          <CodeBlock label="As it was asked" text={entry.sql_original} />
          {entry.sql_with_rls && (
            <>
              <h3>As the policies made it</h3>
              <CodeBlock label="As the policies made it" text={entry.sql_with_rls} />
            </>
          )}
          {entry.stages.length > 0 && (
            <>
              <h3>Where the time went</h3>
              <Table
                label="Stages"
                id={(stage) => stage.stage}
                rows={entry.stages}
                columns={[
                  { head: 'Stage', cell: (stage) => stage.stage.replaceAll('_', ' ') },
                  { head: 'Took', isNumber: true, cell: (stage) => milliseconds(stage.ms) },
                ]}
              />
            </>
          )}
        </div>
      )}
    </Answered>
  )
}

function Changes() {
  const { env_id } = useEnvironment()
  const list = useList(['audit-admin', env_id], (cursor) =>
    ask(api.GET('/v1/environments/{env_id}/audit/admin', { params: { path: { env_id }, query: { limit: 50, ...(cursor && { cursor }) } } })),
  )
  return (
    <>
      <Chain />
      <Answered of={list} scope="audit:read" isEmpty={(events) => events.length === 0} empty={<Empty title="Nothing has been changed yet" />}>
        {(events) => (
          <>
            <Table
              label="Changes"
              id={(event) => event.event_id}
              rows={events}
              columns={[
                { head: 'When (UTC)', cell: (event) => <span className="nowrap">{time(event.timestamp)}</span> },
                { head: 'What', cell: (event) => <code>{event.event_type}</code> },
                { head: 'Who', cell: (event) => event.actor_email ?? <code>{event.actor_id}</code> },
                { head: 'On', cell: (event) => <span className="fine">{`${event.resource_type} ${event.resource_id.slice(-8)}`}</span> },
                {
                  head: '',
                  cell: (event) => (
                    <Opens label="Details" title={event.event_type} className="small">
                      {() => (
                        <>
                          <CodeBlock label="What changed" text={JSON.stringify(event.changes, null, 2)} />
                          <p className="fine">
                            Hash <code>{event.hash}</code>, after <code>{event.previous_hash}</code>
                          </p>
                        </>
                      )}
                    </Opens>
                  ),
                },
              ]}
            />
            <More list={list} />
          </>
        )}
      </Answered>
    </>
  )
}

/** Every hash is computed again from what the database holds. */
function Chain() {
  const { env_id } = useEnvironment()
  const [verdict, setVerdict] = useState<Shapes['ChainVerification']>()
  const [problem, setProblem] = useState<Problem>()
  const verify = async () => {
    setProblem(undefined)
    setVerdict(undefined)
    try {
      setVerdict(await ask(api.GET('/v1/environments/{env_id}/audit/admin/verify-chain', { params: { path: { env_id } } })))
    } catch (error) {
      setProblem(problemOf(error))
    }
  }
  return (
    <>
      <div>
        <button type="button" className="primary" onClick={() => void verify()}>
          Verify the chain
        </button>
      </div>
      <div aria-live="polite">
        {problem && <Refusal problem={problem} />}
        {verdict &&
          ('break_detected_at' in verdict ? (
            <div className="verdict bad">
              <strong>The chain is broken.</strong>
              <p>
                Event <code>{verdict.break_detected_at.event_id}</code> of {time(verdict.break_detected_at.timestamp)} is not what was written:
                its hash is <code>{verdict.break_detected_at.actual_hash}</code>, and should be <code>{verdict.break_detected_at.expected_hash}</code>.
                {` ${count(verdict.events_verified)} events before it are whole.`}
              </p>
            </div>
          ) : (
            <div className="verdict good">
              <strong>The chain is whole.</strong>
              <p>{count(verdict.events_verified)} events were checked; none was changed, left out or put in.</p>
            </div>
          ))}
      </div>
    </>
  )
}
