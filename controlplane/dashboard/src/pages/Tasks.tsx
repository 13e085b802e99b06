/** The governed runtime: tasks, their attempts, and what happened in them. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask, type Shapes } from '../api/client'
import { count, milliseconds, relative, time } from '../format'
import { useChanged, useList } from '../lists'
import { Badge } from '../parts/Badge'
import { Confirm, Opens } from '../parts/Dialog'
import { Answered, Empty, Page } from '../parts/Page'
import { More, Table } from '../parts/Table'
import { useSession } from '../session'

type Task = Shapes['TaskView']

const STATUSES = ['', 'pending', 'active', 'completed', 'failed', 'cancelled'] as const
/** Who may change a task; the scope alone does not say it. */
const WRITERS = ['owner', 'admin', 'developer']

/** The list is a page where it is asked for as one. */
const asPage = (list: Shapes['TaskViewList']): Shapes['TaskViewPage'] =>
  Array.isArray(list) ? { data: list, pagination: { cursor: null, has_more: false, total: list.length } } : list

export default function Tasks() {
  const [status, setStatus] = useState<(typeof STATUSES)[number]>('')
  const list = useList(['tasks', status], async (cursor) =>
    asPage(await ask(api.GET('/v2/runtime/tasks', { params: { query: { limit: 50, ...(status && { status }), ...(cursor && { cursor }) } } }))),
  )
  const now = Date.now()
  return (
    <Page title="Tasks" needs="agent:*" lead="Work that agents claim under a lease. An attempt whose heart stops gives it back.">
      <label className="field">
        <span>Status</span>
        <select value={status} onChange={(event) => setStatus(event.target.value as (typeof STATUSES)[number])}>
          {STATUSES.map((one) => (
            <option key={one} value={one}>
              {one || 'any'}
            </option>
          ))}
        </select>
      </label>
      <Answered of={list} isEmpty={(tasks) => tasks.length === 0} empty={<Empty title="No task is here"><p>Agents make them by <code>POST /v2/runtime/tasks</code>.</p></Empty>}>
        {(tasks) => (
          <>
            <Table
              label="Tasks"
              id={(task) => task.id}
              rows={tasks}
              columns={[
                { head: 'Task', cell: (task) => <Opens label={task.work_item_key ?? task.id.slice(-8)} title="A task" className="link">{() => <Detail taskId={task.id} />}</Opens> },
                { head: 'Kind', cell: (task) => task.kind },
                { head: 'Project', cell: (task) => task.project_id },
                { head: 'State', cell: (task) => <Badge>{task.status}</Badge> },
                { head: 'Retries', isNumber: true, cell: (task) => `${task.retry_count} of ${task.max_retries}` },
                { head: 'Heartbeat', cell: (task) => <span className="nowrap">{relative(task.latest_attempt?.last_heartbeat_at, now)}</span> },
                { head: 'Made (UTC)', cell: (task) => <span className="nowrap">{time(task.created_at)}</span> },
                { head: '', cell: (task) => <Cancelling task={task} /> },
              ]}
            />
            <More list={list} />
          </>
        )}
      </Answered>
    </Page>
  )
}

function Cancelling({ task }: { task: Task }) {
  const { me } = useSession()
  const changed = useChanged('tasks')
  if (!WRITERS.includes(me.role) || !['pending', 'active'].includes(task.status)) return null
  return (
    <Confirm
      label="Cancel"
      question="Cancel the task? Its attempts that run are cancelled too."
      act={() => ask(api.POST('/v2/runtime/tasks/{task_id}/cancel', { params: { path: { task_id: task.id } }, body: {} })).then(changed)}
    />
  )
}

function Detail({ taskId }: { taskId: string }) {
  const detail = useQuery({ queryKey: ['task', taskId], queryFn: () => ask(api.GET('/v2/runtime/tasks/{task_id}/detail', { params: { path: { task_id: taskId } } })) })
  return (
    <Answered of={detail}>
      {(task) => (
        <div className="stack">
          <p>
            <Badge>{task.status}</Badge> {count(task.totals.cost_usd)} USD, {count(task.totals.tokens)} tokens, {milliseconds(task.totals.duration_ms)}
            {task.failure_reason && <span className="bad"> {task.failure_reason}</span>}
          </p>
          <Table
            label="Attempts"
            id={(attempt) => attempt.id}
            rows={task.attempts}
            columns={[
              { head: 'Attempt', isNumber: true, cell: (attempt) => attempt.attempt_number },
              { head: 'Agent', cell: (attempt) => attempt.agent_id ?? '–' },
              { head: 'State', cell: (attempt) => <Badge>{attempt.status}</Badge> },
              { head: 'Lease ends (UTC)', cell: (attempt) => time(attempt.lease_expires_at) },
              { head: 'Why it failed', cell: (attempt) => attempt.failure_reason ?? '–' },
            ]}
          />
          <Table
            label="What happened"
            id={(event) => event.id}
            rows={task.events}
            columns={[
              { head: 'No.', isNumber: true, cell: (event) => event.sequence_num },
              { head: 'When (UTC)', cell: (event) => <span className="nowrap">{time(event.created_at)}</span> },
              { head: 'What', cell: (event) => event.kind.replaceAll('_', ' ') },
              { head: 'Details', cell: (event) => <code>{JSON.stringify(event.payload)}</code> },
            ]}
          />
        </div>
      )}
    </Answered>
  )
}
