/** One review: what it is about, the evidence, and the decision. */
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from 'wouter'
import { api, ask, type Shapes } from '../api/client'
import { daysAgo, time } from '../format'
import { useChanged } from '../lists'
import { Actor } from '../parts/Actor'
import { Badge } from '../parts/Badge'
import { Opens } from '../parts/Dialog'
import { Form, type Field } from '../parts/Form'
import { Json } from '../parts/Json'
import { Answered, Page } from '../parts/Page'
import { WRITERS } from '../permissions'
import { useSession } from '../session'
import { Artifacts } from './Artifacts'
import { Conditions } from './Conditions'

type InContext = Shapes['ReviewInContext']
type Outcome = Shapes['ReviewOutcome']

const isOpen = (review: InContext) => ['pending', 'in_review', 'deferred'].includes(review.status)

export default function Review() {
  const { review_id } = useParams<{ review_id: string }>()
  const { is } = useSession()
  // The first look of somebody it is assigned to takes it in review: it is not asked for again unasked.
  const review = useQuery({
    queryKey: ['review', review_id],
    queryFn: () => ask(api.GET('/v2/reviews/{review_id}', { params: { path: { review_id } } })),
    refetchOnWindowFocus: false,
  })
  return (
    <Page title="Review" needs="agent:*" lead={<Link href="/reviews">All reviews</Link>}>
      <Answered of={review}>
        {(one) => (
          <>
            <About review={one} />
            {isOpen(one) && is(WRITERS) && <Moves review={one} reload={() => void review.refetch()} />}
            <Context review={one} />
          </>
        )}
      </Answered>
    </Page>
  )
}

function About({ review }: { review: InContext }) {
  return (
    <section className="card" aria-labelledby="about">
      <h2 id="about">
        {review.reason} <Badge>{review.status}</Badge> <Badge>{review.urgency}</Badge>
      </h2>
      <dl className="facts">
        <dt>About</dt>
        <dd>
          {review.entity_type.replaceAll('_', ' ')} <code>{review.entity_id}</code>
        </dd>
        <dt>Project</dt>
        <dd>{review.project_id}</dd>
        <dt>Asked</dt>
        <dd>
          by <Actor of={review.requested_by} />, {time(review.requested_at)}
        </dd>
        <dt>Decides</dt>
        <dd>{review.assigned_to}</dd>
        {review.due_at && (
          <>
            <dt>Due</dt>
            <dd>{time(review.due_at)}</dd>
          </>
        )}
        {review.reviewed_by && (
          <>
            <dt>Decided</dt>
            <dd>
              by <Actor of={review.reviewed_by} />, {time(review.reviewed_at)}
            </dd>
          </>
        )}
        {review.reviewer_notes && (
          <>
            <dt>Said</dt>
            <dd>{review.reviewer_notes}</dd>
          </>
        )}
      </dl>
    </section>
  )
}

const WHY: Field = { name: 'resolution_reason', label: 'Why', kind: 'textarea', required: true }
const NOTES: Field = { ...WHY, label: 'Notes', required: false }

const MOVES: readonly { outcome: Outcome; label: string; says: string; fields: readonly Field[] }[] = [
  { outcome: 'approved', label: 'Approve', says: 'What waits for it goes on, and a release is written down.', fields: [NOTES] },
  { outcome: 'rejected', label: 'Reject', says: 'It does not go on.', fields: [WHY] },
  { outcome: 'blocked', label: 'Block', says: 'It is rejected, and its release is blocked.', fields: [WHY] },
  { outcome: 'deferred', label: 'Defer', says: 'It is due on another day.', fields: [{ name: 'until', label: 'Due on', kind: 'date', required: true, initial: daysAgo(-1, Date.now()) }, NOTES] },
]

function Moves({ review, reload }: { review: InContext; reload: () => void }) {
  const changed = useChanged('review', 'reviews', 'releases', 'tasks')
  return (
    <div className="row">
      {MOVES.map(({ outcome, label, says, fields }, index) => (
        <Opens key={outcome} label={label} className={index === 0 ? 'primary' : undefined}>
          {(close) => (
            <Form
              fields={fields}
              submit={label}
              onSubmit={(typed) => {
                const [until, resolution_reason] = [typed.optional('until'), typed.optional('resolution_reason')]
                const body = {
                  outcome,
                  expected_version: review.version,
                  ...(resolution_reason && { resolution_reason }),
                  ...(until && { until: `${until}T00:00:00Z` }),
                }
                return ask(api.PUT('/v2/reviews/{review_id}/resolve', { params: { path: { review_id: review.id } }, body })).then(changed)
              }}
              onDone={close}
              reload={() => (reload(), close())}
            >
              <p>{says}</p>
            </Form>
          )}
        </Opens>
      ))}
    </div>
  )
}

function Context({ review }: { review: InContext }) {
  const { task, attempt, artifacts, gate_evaluation: evaluation } = review.context
  return (
    <section className="stack" aria-labelledby="context">
      <h2 id="context">Evidence</h2>
      {evaluation && <Conditions passed={evaluation.passed_conditions} failed={evaluation.failed_conditions} />}
      {task && (
        <p>
          Task <Link href={`/tasks/${task.id}`}>{task.work_item_key ?? task.id}</Link> <Badge>{task.status}</Badge>
        </p>
      )}
      {attempt && (
        <p>
          Attempt {attempt.attempt_number} <Badge>{attempt.status}</Badge> {attempt.failure_reason} <Link href={`/explain/${attempt.id}`}>Explain it</Link>
        </p>
      )}
      {artifacts.length > 0 && <Artifacts artifacts={artifacts} />}
      <Json label="What it was asked with" value={review.evidence_bundle} />
      <Json label="What it is about" value={review.context.entity} />
    </section>
  )
}
