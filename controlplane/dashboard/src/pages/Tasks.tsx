/** The governed runtime: tasks by their state, and as a list. */
import { useState } from 'react'
import { Link } from 'wouter'
import { api, ask, type Shapes } from '../api/client'
import { count, relative, time } from '../format'
import { asPage, useList } from '../lists'
import { Badge } from '../parts/Badge'
import { Choice } from '../parts/Choice'
import { Answered, Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { Tabs } from '../parts/Tabs'

type Task = Shapes['TaskView']
type Status = Shapes['TaskStatus']

/** In the order that a task walks through them. */
const EVERY: Record<Status, true> = { pending: true, active: true, completed: true, failed: true, cancelled: true }
const STATUSES = Object.keys(EVERY) as Status[]
/** As many as a column of the board has; the list has all. */
const ON_BOARD = 20
/** What is over stays as it is. */
const LIVE = 5_000

const nameOf = (task: Task) => task.work_item_key ?? task.id.slice(-8)

function useTasks(status: Status | '', limit: number) {
  return useList(
    ['tasks', status, limit],
    async (cursor) => asPage(await ask(api.GET('/v2/runtime/tasks', { params: { query: { limit, ...(status && { status }), ...(cursor && { cursor }) } } }))),
    status === 'pending' || status === 'active' ? LIVE : undefined,
  )
}

export default function Tasks() {
  return (
    <Page title="Tasks" needs="agent:*" lead="Work that agents claim under a lease. An attempt whose heart stops gives it back.">
      <Tabs
        label="How they are shown"
        tabs={[
          { name: 'Board', panel: () => <div className="board">{STATUSES.map((status) => <Column key={status} status={status} />)}</div> },
          { name: 'List', panel: () => <List /> },
        ]}
      />
    </Page>
  )
}

function Column({ status }: { status: Status }) {
  const list = useTasks(status, ON_BOARD)
  const now = Date.now()
  return (
    <section aria-label={status}>
      <h2>
        <Badge>{status}</Badge> <span className="fine">{list.total !== undefined && count(list.total)}</span>
      </h2>
      <Answered of={list} isEmpty={(tasks) => tasks.length === 0} empty={<p className="fine">None</p>}>
        {(tasks) => (
          <ul>
            {tasks.map((task) => (
              <li key={task.id} className="card">
                <Link href={`/tasks/${task.id}`}>{nameOf(task)}</Link>
                <span className="fine">
                  {task.kind}, {task.project_id}
                </span>
                {task.latest_attempt?.last_heartbeat_at && status === 'active' && <span className="fine">heart beat {relative(task.latest_attempt.last_heartbeat_at, now)}</span>}
                {task.blocked_reason && <Badge tone="bad">blocked</Badge>}
              </li>
            ))}
          </ul>
        )}
      </Answered>
      {list.total !== undefined && list.total > ON_BOARD && <p className="fine">The newest {ON_BOARD}; the list has all.</p>}
    </section>
  )
}

function List() {
  const [status, setStatus] = useState<Status | ''>('')
  const list = useTasks(status, 50)
  const now = Date.now()
  return (
    <>
      <Choice label="Status" value={status} options={['', ...STATUSES]} onChange={setStatus} />
      <ResourceList
        of={list}
        empty={<Empty title="No task is here"><p>Agents make them by <code>POST /v2/runtime/tasks</code>.</p></Empty>}
        label="Tasks"
        id={(task) => task.id}
        columns={[
          { head: 'Task', cell: (task) => <Link href={`/tasks/${task.id}`}>{nameOf(task)}</Link> },
          { head: 'Kind', cell: (task) => task.kind },
          { head: 'Project', cell: (task) => task.project_id },
          { head: 'State', cell: (task) => <Badge>{task.status}</Badge> },
          { head: 'Retries', isNumber: true, cell: (task) => `${task.retry_count} of ${task.max_retries}` },
          { head: 'Heartbeat', cell: (task) => <span className="nowrap">{relative(task.latest_attempt?.last_heartbeat_at, now)}</span> },
          { head: 'Made (UTC)', cell: (task) => <span className="nowrap">{time(task.created_at)}</span> },
        ]}
      />
    </>
  )
}
