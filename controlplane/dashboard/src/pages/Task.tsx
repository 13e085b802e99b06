/** One task: its attempts, what they chose, spent and made, and what happened. */
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from 'wouter'
import { api, ask, type Shapes } from '../api/client'
import { count, milliseconds, relative, time, usd } from '../format'
import { useChanged } from '../lists'
import { Badge } from '../parts/Badge'
import { Confirm } from '../parts/Dialog'
import { Json } from '../parts/Json'
import { Answered, Empty, Page } from '../parts/Page'
import { Table } from '../parts/Table'
import { Tabs, type Tab } from '../parts/Tabs'
import { WRITERS } from '../permissions'
import { useSession } from '../session'
import { Artifacts } from './Artifacts'
import { Calls, Choices } from './Calls'
import { Recoveries } from './Recoveries'
import { Timeline } from './Timeline'

type Detail = Shapes['TaskDetail']

/** A heart that beats is seen to. */
const LIVE = 5_000

export default function Task() {
  const { task_id } = useParams<{ task_id: string }>()
  const detail = useQuery({
    queryKey: ['task', task_id],
    queryFn: () => ask(api.GET('/v2/runtime/tasks/{task_id}/detail', { params: { path: { task_id } } })),
    refetchInterval: (query) => (query.state.data?.status === 'active' || query.state.data?.status === 'pending' ? LIVE : false),
  })
  return (
    <Page title="Task" needs="agent:*" lead={<Link href="/tasks">All tasks</Link>}>
      <Answered of={detail}>
        {(task) => (
          <>
            <About task={task} />
            <Attempts attempts={task.attempts} />
            <Tabs label="What belongs to it" tabs={tabsOf(task)} />
          </>
        )}
      </Answered>
    </Page>
  )
}

function About({ task }: { task: Detail }) {
  const { is } = useSession()
  const changed = useChanged('tasks', 'task')
  const why = task.failure_reason ?? task.cancel_reason ?? task.blocked_reason
  return (
    <section className="card" aria-labelledby="about">
      <h2 id="about">
        {task.work_item_key ?? task.id} <Badge>{task.status}</Badge>
      </h2>
      <dl className="facts">
        <dt>Kind</dt>
        <dd>
          {task.kind}, project {task.project_id}
        </dd>
        <dt>Took</dt>
        <dd>
          {usd(task.totals.cost_usd)} USD, {count(task.totals.tokens)} tokens, {milliseconds(task.totals.duration_ms)}
        </dd>
        <dt>Retries</dt>
        <dd>
          {task.retry_count} of {task.max_retries}
        </dd>
        {why && (
          <>
            <dt>Why</dt>
            <dd className="bad">{why}</dd>
          </>
        )}
        {task.not_before && (
          <>
            <dt>Not before</dt>
            <dd>{time(task.not_before)}</dd>
          </>
        )}
      </dl>
      {is(WRITERS) && ['pending', 'active'].includes(task.status) && (
        <div>
          <Confirm
            label="Cancel"
            question="Cancel the task? Its attempts that run are cancelled too."
            act={() => ask(api.POST('/v2/runtime/tasks/{task_id}/cancel', { params: { path: { task_id: task.id } }, body: {} })).then(changed)}
          />
        </div>
      )}
    </section>
  )
}

function Attempts({ attempts }: { attempts: Detail['attempts'] }) {
  const now = Date.now()
  if (attempts.length === 0) return <Empty title="Nobody has tried yet"><p>An agent claims it by <code>POST /v2/runtime/tasks/…/claim</code>.</p></Empty>
  return (
    <Table
      label="Attempts"
      id={(attempt) => attempt.id}
      rows={attempts}
      columns={[
        { head: 'Attempt', isNumber: true, cell: (attempt) => attempt.attempt_number },
        { head: 'Agent', cell: (attempt) => attempt.agent_id ?? '–' },
        { head: 'State', cell: (attempt) => <Badge>{attempt.status}</Badge> },
        { head: 'Heartbeat', cell: (attempt) => <span className="nowrap">{relative(attempt.last_heartbeat_at, now)}</span> },
        { head: 'Lease ends', cell: (attempt) => <span className="nowrap">{['pending', 'running'].includes(attempt.status) ? relative(attempt.lease_expires_at, now) : time(attempt.lease_expires_at)}</span> },
        { head: 'Why it failed', cell: (attempt) => attempt.failure_reason ?? '–' },
        { head: '', cell: (attempt) => <Link href={`/explain/${attempt.id}`}>Explain</Link> },
      ]}
    />
  )
}

function tabsOf(task: Detail): Tab[] {
  return [
    { name: 'Events', panel: () => <Timeline events={task.events} /> },
    { name: 'Models', panel: () => (task.decisions.length ? <><Choices decisions={task.decisions} /><Calls invocations={task.invocations} /></> : <Empty title="No model was chosen" />) },
    { name: 'Artifacts', panel: () => (task.artifacts.length ? <Artifacts artifacts={task.artifacts} /> : <Empty title="Nothing was made" />) },
    { name: 'Recovery', panel: () => (task.recovery_actions.length ? <Recoveries recoveries={task.recovery_actions} /> : <Empty title="Nothing had to be done" />) },
    {
      name: 'Reviews',
      panel: () =>
        task.reviews.length === 0 ? (
          <Empty title="Nobody was asked" />
        ) : (
          <ul className="stack">
            {task.reviews.map((review) => (
              <li key={review.id}>
                <Link href={`/reviews/${review.id}`}>{review.reason}</Link> <Badge>{review.status}</Badge>
              </li>
            ))}
          </ul>
        ),
    },
    { name: 'As data', panel: () => <Json label="What it was made with" value={task.metadata} isOpen empty="It was made with nothing else." /> },
  ]
}
