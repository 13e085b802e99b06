/** Queries run a second time, and compared with what came of them before. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask, type Shapes } from '../api/client'
import { problemOf, type Problem } from '../api/problem'
import { count, milliseconds, percent, time } from '../format'
import { useChanged } from '../lists'
import { Badge } from '../parts/Badge'
import { Confirm, Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Answered, Empty, orNothing, Page, Refusal } from '../parts/Page'
import { Table } from '../parts/Table'
import { useEnvironment, useSession } from '../session'

type ShadowSession = Shapes['ShadowSession']

export default function Shadow() {
  const { env_id } = useEnvironment()
  const path = { env_id }
  const session = useQuery({
    queryKey: ['shadow', env_id],
    queryFn: () => orNothing(ask(api.GET('/v1/environments/{env_id}/shadow-mode/status', { params: { path } }))),
    refetchInterval: (query) => (query.state.data?.status === 'running' ? 5_000 : false),
  })
  const isRunning = session.data?.status === 'running'
  return (
    <Page
      title="Shadow mode"
      needs="environment:write"
      lead="Try another environment, or a log of another warehouse, against what this one answers. Nothing that writes is replayed."
      actions={!isRunning && !session.isPending && <Opens label="Start a session" className="primary">{(close) => <Starting close={close} />}</Opens>}
    >
      <Answered of={session} scope="environment:write" isEmpty={(one) => one === null} empty={<Empty title="No session yet"><p>A session samples queries as they happen, or replays a log that you upload.</p></Empty>}>
        {(one) => one && <One session={one} isRunning={isRunning} />}
      </Answered>
    </Page>
  )
}

function Starting({ close }: { close: () => void }) {
  const { environments } = useSession()
  const { env_id } = useEnvironment()
  const changed = useChanged('shadow')
  const elsewhere = environments.filter((other) => other.env_id !== env_id).map((other) => ({ value: `env:${other.env_id}`, label: `queries as they happen, run again in ${other.name}` }))
  return (
    <Form
      fields={[
        {
          name: 'source',
          label: 'What is compared',
          kind: 'select',
          options: [{ value: 'upload', label: 'a log that I upload' }, { value: 'live', label: 'queries as they happen, run again here' }, ...elsewhere],
        },
        { name: 'duration_hours', label: 'Hours', kind: 'number', initial: 24, required: true },
        { name: 'sample_rate', label: 'Share that is sampled, from 0 to 1', kind: 'number', initial: 0.1, required: true },
      ]}
      submit="Start"
      onSubmit={(typed) =>
        ask(
          api.POST('/v1/environments/{env_id}/shadow-mode/start', {
            params: { path: { env_id } },
            body: { source: typed.text('source'), duration_hours: typed.number('duration_hours') ?? 0, sample_rate: typed.number('sample_rate') ?? 0 },
          }),
        ).then(changed)
      }
      onDone={close}
    />
  )
}

function One({ session, isRunning }: { session: ShadowSession; isRunning: boolean }) {
  const { env_id } = useEnvironment()
  const changed = useChanged('shadow', 'shadow-report')
  const { statistics } = session
  return (
    <>
      <section className="card" aria-labelledby="session">
        <h2 id="session">
          Session <Badge>{session.status}</Badge>
        </h2>
        <dl className="facts">
          <dt>Source</dt>
          <dd>{session.source}</dd>
          <dt>From</dt>
          <dd>{time(session.started_at)} to {time(session.stopped_at ?? session.ends_at)}</dd>
          <dt>Replayed</dt>
          <dd>
            {count(statistics.queries_replayed)}: {count(statistics.queries_matched)} the same, {count(statistics.queries_mismatched)} not,{' '}
            {count(statistics.queries_failed)} failed
          </dd>
          <dt>The same</dt>
          <dd>{percent(statistics.match_rate * 100)}</dd>
          <dt>A query took</dt>
          <dd>
            {took(statistics.avg_latency_source_ms)} before, {took(statistics.avg_latency_service_ms)} here
          </dd>
        </dl>
        {isRunning && (
          <div>
            <Confirm
              label="Stop"
              question="Stop the session? What was compared stays to be read."
              act={() => ask(api.POST('/v1/environments/{env_id}/shadow-mode/stop', { params: { path: { env_id } } })).then(changed)}
            />
          </div>
        )}
      </section>
      {isRunning && session.source === 'upload' && <Uploading />}
      <Report />
    </>
  )
}

const took = (ms: number | null | undefined) => (ms == null ? 'an unknown time' : milliseconds(ms))

/** A log is a line of JSON a query: `{"sql": "…"}`. */
function Uploading() {
  const { env_id } = useEnvironment()
  const changed = useChanged('shadow', 'shadow-report')
  const [said, setSaid] = useState<string>()
  const [problem, setProblem] = useState<Problem>()
  const upload = async (file: File) => {
    setProblem(undefined)
    try {
      const path = { env_id }
      const received = await ask(
        api.POST('/v1/environments/{env_id}/shadow-mode/upload', {
          params: { path },
          body: await file.text(),
          bodySerializer: (text) => text,
          headers: { 'content-type': 'application/jsonl' },
        }),
      )
      await ask(api.POST('/v1/environments/{env_id}/shadow-mode/replay', { params: { path }, body: { upload_id: received.upload_id } }))
      setSaid(`${count(received.queries_received)} queries are being replayed.`)
      await changed()
    } catch (error) {
      setProblem(problemOf(error))
    }
  }
  return (
    <section className="card" aria-labelledby="upload">
      <h2 id="upload">Replay a log</h2>
      <label className="field">
        <span>File of JSON lines</span>
        <input
          type="file"
          accept=".jsonl,application/jsonl"
          onChange={(event) => {
            const file = event.target.files?.[0]
            if (file) void upload(file)
          }}
        />
        <span className="fine">
          One query a line: <code>{'{"sql": "select 1", "duration_ms": 12, "row_count": 1}'}</code>
        </span>
      </label>
      {said && <p role="status">{said}</p>}
      {problem && <Refusal problem={problem} />}
    </section>
  )
}

function Report() {
  const { env_id } = useEnvironment()
  const report = useQuery({
    queryKey: ['shadow-report', env_id],
    queryFn: () => orNothing(ask(api.GET('/v1/environments/{env_id}/shadow-mode/report', { params: { path: { env_id } } }))),
  })
  return (
    <Answered of={report} isEmpty={(one) => one === null || one.mismatches.length === 0} empty={<Empty title="Nothing differed so far" />}>
      {(one) =>
        one && (
          <Table
            label="What differed"
            id={(mismatch) => `${mismatch.query} ${mismatch.reason}`}
            rows={one.mismatches}
            columns={[
              { head: 'Kind', cell: (mismatch) => <Badge>{mismatch.category}</Badge> },
              { head: 'Statement', cell: (mismatch) => <span className="sql" title={mismatch.query}>{mismatch.query}</span> },
              { head: 'Why', cell: (mismatch) => mismatch.reason },
            ]}
          />
        )
      }
    </Answered>
  )
}
