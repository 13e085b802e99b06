/** One session of reasoning, step by step, and whether its chain is whole. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useParams } from 'wouter'
import { api, ask, type Shapes } from '../api/client'
import { problemOf, type Problem } from '../api/problem'
import { count, milliseconds, time } from '../format'
import { useNames } from '../names'
import { Badge } from '../parts/Badge'
import { Opens } from '../parts/Dialog'
import { Json } from '../parts/Json'
import { Answered, Page, Refusal } from '../parts/Page'
import { More } from '../parts/Table'
import { ofPath } from '../places'
import { useEnvironment, useSession } from '../session'
import { AuditedQuery } from './AuditedQuery'

type Step = Shapes['ReasoningStep']

/** Steps that are asked for at a time. */
const AT_ONCE = 100

export default function ReasoningSession() {
  const session_id = ofPath(useParams<{ session_id: string }>().session_id)
  const { env_id } = useEnvironment()
  const list = useInfiniteQuery({
    queryKey: ['reasoning-session', env_id, session_id],
    queryFn: ({ pageParam }) =>
      ask(api.GET('/v1/cot/sessions/{session_id}/replay', { params: { path: { session_id }, query: { env_id, from_step: pageParam, limit: AT_ONCE } } })),
    initialPageParam: 0,
    getNextPageParam: (last) => {
      const next = (last.steps.at(-1)?.step_number ?? last.total_steps) + 1
      return next < last.total_steps ? next : undefined
    },
  })
  const told = { ...list, data: list.data && { total: list.data.pages[0]?.total_steps, steps: list.data.pages.flatMap((page) => page.steps) } }
  return (
    <Page title="Session" needs="agent:*" lead={<Link href="/reasoning">All sessions</Link>}>
      <Answered of={told}>
        {({ total, steps }) => (
          <>
            <h2>
              <code>{session_id}</code> <span className="fine">{count(total)} {total === 1 ? 'step' : 'steps'}</span>
            </h2>
            <Whole sessionId={session_id} />
            <ol className="steps" aria-label="Steps">
              {steps.map((step) => (
                <One key={step.trace_id} step={step} />
              ))}
            </ol>
            <More list={list} />
          </>
        )}
      </Answered>
    </Page>
  )
}

function One({ step }: { step: Step }) {
  const { can } = useSession()
  const named = useNames()
  const { query_id: queryId } = step.metadata
  const spent = [step.model_name, step.token_count != null && `${count(step.token_count)} tokens`, step.latency_ms != null && milliseconds(step.latency_ms)].filter(Boolean)
  return (
    <li className="card">
      <div className="row">
        <strong>{count(step.step_number + 1)}</strong>
        <Badge tone="plain">{step.step_type}</Badge>
        <span className="fine">
          {named(step.agent_id) ?? step.agent_id}, {time(step.created_at)}
          {spent.length > 0 && `, ${spent.join(', ')}`}
        </span>
      </div>
      <p className="thought">{step.content}</p>
      <Json label="What went in" value={step.input} />
      <Json label="What came out" value={step.output} />
      <Json label="As data" value={step.metadata} />
      {typeof queryId === 'string' && can('audit:read') && (
        <div>
          <Opens label="The query it ran" title="A query" className="small">
            {() => <AuditedQuery queryId={queryId} />}
          </Opens>
        </div>
      )}
      <p className="fine">
        Hash <code>{step.hash}</code>
      </p>
    </li>
  )
}

/** Every hash is computed again from what the ledger holds. */
function Whole({ sessionId }: { sessionId: string }) {
  const { env_id } = useEnvironment()
  const [verdict, setVerdict] = useState<Shapes['ReasoningVerification']>()
  const [problem, setProblem] = useState<Problem>()
  const verify = async () => {
    setProblem(undefined)
    setVerdict(undefined)
    try {
      setVerdict(await ask(api.GET('/v1/cot/sessions/{session_id}/verify', { params: { path: { session_id: sessionId }, query: { env_id } } })))
    } catch (error) {
      setProblem(problemOf(error))
    }
  }
  const broken = verdict?.break_detected_at
  return (
    <>
      <div>
        <button type="button" className="primary" onClick={() => void verify()}>
          Verify the chain
        </button>
      </div>
      <div aria-live="polite">
        {problem && <Refusal problem={problem} />}
        {verdict?.chain_valid && (
          <div className="verdict good">
            <strong>The chain is whole.</strong>
            <p>{count(verdict.total_traces)} steps were checked; up to the last of them none was changed, left out or put in.</p>
          </div>
        )}
        {verdict && !verdict.chain_valid && (
          <div className="verdict bad">
            <strong>The chain is broken.</strong>
            {broken && (
              <p>
                Step {count(broken.step_number + 1)} is not what was written: its hash is <code>{broken.actual_hash}</code>, and should be{' '}
                <code>{broken.expected_hash}</code>.
              </p>
            )}
          </div>
        )}
      </div>
    </>
  )
}
