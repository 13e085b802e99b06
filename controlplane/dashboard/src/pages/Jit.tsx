/** A higher role for a while: asked for with a reason, given or not, and over by itself. */
import { useEffect, useState } from 'react'
import { api, ask, type Shapes } from '../api/client'
import { span, time } from '../format'
import { useChanged, useList } from '../lists'
import { Badge } from '../parts/Badge'
import { Confirm, Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { useEnvironment, useSession } from '../session'

type Request = Shapes['JitRequest']
type JitRole = Shapes['JitRole']

const LENDABLE: Record<JitRole, true> = { admin: true, developer: true, analyst: true }
/** Who sees what others asked for. */
const READERS = ['owner', 'admin', 'auditor']
const DECIDERS = ['owner', 'admin']

export default function Jit() {
  const { me } = useSession()
  const [asked, setAsked] = useState<string>()
  const reads = READERS.includes(me.role)
  return (
    <Page
      title="Just-in-time access"
      lead="A role that is lent rules in this environment alone, and ends by itself."
      actions={
        <Opens label="Ask for a role" className="primary">
          {(close) => (
            <Asking
              close={() => {
                close()
                setAsked('Asked. An owner or admin decides.')
              }}
            />
          )}
        </Opens>
      }
    >
      {asked && (
        <p className="notice" role="status">
          {asked}
        </p>
      )}
      {reads ? <Requests /> : <Empty title="Requests are for those who decide"><p>The roles owner, admin and auditor see what was asked for. You can ask.</p></Empty>}
    </Page>
  )
}

function Asking({ close }: { close: () => void }) {
  const { env_id } = useEnvironment()
  const changed = useChanged('jit')
  return (
    <Form
      fields={[
        { name: 'requested_role', label: 'Role', kind: 'select', options: Object.keys(LENDABLE) },
        { name: 'reason', label: 'Why', kind: 'textarea', required: true },
        { name: 'duration_minutes', label: 'For how many minutes', kind: 'number', initial: 60, required: true },
      ]}
      submit="Ask"
      onSubmit={(typed) =>
        ask(
          api.POST('/v1/environments/{env_id}/jit-access', {
            params: { path: { env_id } },
            body: { requested_role: typed.choice<JitRole>('requested_role'), reason: typed.text('reason'), duration_minutes: typed.number('duration_minutes') ?? 0 },
          }),
        ).then(changed)
      }
      onDone={close}
    />
  )
}

function Requests() {
  const { me } = useSession()
  const { env_id } = useEnvironment()
  const list = useList(['jit', env_id], (cursor) =>
    ask(api.GET('/v1/environments/{env_id}/jit-access', { params: { path: { env_id }, query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  const now = useNow()
  const decides = DECIDERS.includes(me.role)
  return (
    <ResourceList
      of={list}
      empty={<Empty title="Nobody has asked yet" />}
      label="Requests"
      id={(request) => request.request_id}
      columns={[
        { head: 'Who', cell: (request) => request.requester_email },
        { head: 'Role', cell: (request) => `${request.current_role} → ${request.requested_role}` },
        { head: 'Why', cell: (request) => request.reason },
        { head: 'For', isNumber: true, cell: (request) => <span className="nowrap">{span(request.duration_minutes * 60)}</span> },
        { head: 'State', cell: (request) => <State request={request} now={now} /> },
        { head: 'Asked (UTC)', cell: (request) => <span className="nowrap">{time(request.requested_at)}</span> },
        { head: '', cell: (request) => decides && <Acts request={request} now={now} isOwn={request.requester_id === me.user_id} /> },
      ]}
    />
  )
}

function useNow(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return now
}

/** Seconds that a lent role still rules. */
function left(request: Request, now: number): number {
  return request.status === 'approved' && request.expires_at ? (Date.parse(request.expires_at) - now) / 1000 : 0
}

function State({ request, now }: { request: Request; now: number }) {
  const seconds = left(request, now)
  if (request.status !== 'approved') return <Badge>{request.status}</Badge>
  return seconds > 0 ? (
    <>
      <Badge>approved</Badge> <span className="fine nowrap">{span(seconds)} left</span>
    </>
  ) : (
    <Badge>expired</Badge>
  )
}

function Acts({ request, now, isOwn }: { request: Request; now: number; isOwn: boolean }) {
  const { env_id } = useEnvironment()
  const changed = useChanged('jit')
  const path = { env_id, request_id: request.request_id }
  if (request.status === 'pending') {
    return (
      <div className="row">
        {!isOwn && (
          <Confirm
            label="Approve"
            isGentle
            question={`Lend ${request.requester_email} the role ${request.requested_role} for ${span(request.duration_minutes * 60)}?`}
            act={() => ask(api.POST('/v1/environments/{env_id}/jit-access/{request_id}/approve', { params: { path } })).then(changed)}
          />
        )}
        <Opens label="Deny" className="small danger">
          {(close) => (
            <Form
              fields={[{ name: 'reason', label: 'Why not', kind: 'textarea', required: true }]}
              submit="Deny it"
              onSubmit={(typed) => ask(api.POST('/v1/environments/{env_id}/jit-access/{request_id}/deny', { params: { path }, body: { reason: typed.text('reason') } })).then(changed)}
              onDone={close}
            />
          )}
        </Opens>
      </div>
    )
  }
  if (left(request, now) <= 0) return null
  return (
    <Confirm
      label="Revoke"
      question={`Take the role ${request.requested_role} back from ${request.requester_email} now?`}
      act={() => ask(api.POST('/v1/environments/{env_id}/jit-access/{request_id}/revoke', { params: { path } })).then(changed)}
    />
  )
}
