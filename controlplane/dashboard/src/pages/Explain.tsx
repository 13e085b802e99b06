/** Why an artifact or an attempt is what it is: all that led to it, and what was made of it. */
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useParams } from 'wouter'
import { api, ask, type Shapes } from '../api/client'
import { count, time } from '../format'
import { Actor } from '../parts/Actor'
import { Badge } from '../parts/Badge'
import { Form } from '../parts/Form'
import { Json } from '../parts/Json'
import { Answered, Empty, Page } from '../parts/Page'
import { Table } from '../parts/Table'
import { Tabs, type Tab } from '../parts/Tabs'
import { Artifacts } from './Artifacts'
import { Calls, Choices } from './Calls'
import { Recovering, Recoveries } from './Recoveries'
import { Timeline } from './Timeline'

type Explanation = Shapes['Explanation']

export default function Explain() {
  const { id } = useParams<{ id?: string }>()
  const [, go] = useLocation()
  return (
    <Page title="Explain" needs="agent:*" lead="An artifact or an attempt, with all that led to it.">
      <Form
        key={id}
        isInline
        label="What to explain"
        fields={[{ name: 'id', label: 'Id of an artifact or attempt', required: true, initial: id, isWide: true }]}
        submit="Explain"
        onSubmit={async (typed) => go(`/explain/${encodeURIComponent(typed.text('id'))}`)}
      />
      {id ? <Explained id={id} /> : <Empty title="Nothing is asked for yet"><p>Tasks, reviews and releases link to what they are about.</p></Empty>}
    </Page>
  )
}

function Explained({ id }: { id: string }) {
  const explanation = useQuery({ queryKey: ['explanation', id], queryFn: () => ask(api.GET('/v2/explain/{id}', { params: { path: { id } } })) })
  return (
    <Answered of={explanation}>
      {(found) => (
        <>
          <About found={found} />
          <Tabs label="What led to it" tabs={tabsOf(found)} />
        </>
      )}
    </Answered>
  )
}

function About({ found: { artifact, attempt, task, release, reviews } }: { found: Explanation }) {
  return (
    <section className="card" aria-labelledby="about">
      <h2 id="about">
        {artifact ? `Artifact ${artifact.artifact_key ?? artifact.kind}` : `Attempt ${attempt.attempt_number}`} <Badge>{attempt.status}</Badge>
      </h2>
      <dl className="facts">
        {artifact && (
          <>
            <dt>Kind</dt>
            <dd>{artifact.kind}</dd>
            <dt>Content</dt>
            <dd>
              <code>{artifact.content_hash}</code>
            </dd>
            <dt>Confidence</dt>
            <dd>
              {count(artifact.confidence)} {artifact.validation_status && <Badge>{artifact.validation_status}</Badge>}
            </dd>
          </>
        )}
        <dt>Task</dt>
        <dd>
          <Link href={`/tasks/${task.id}`}>{task.work_item_key ?? task.id}</Link> <Badge>{task.status}</Badge>
        </dd>
        <dt>Agent</dt>
        <dd>{attempt.agent_id ?? 'not named'}</dd>
        <dt>Ran (UTC)</dt>
        <dd>
          {time(attempt.started_at)} to {time(attempt.completed_at)}
        </dd>
        {attempt.failure_reason && (
          <>
            <dt>Failed</dt>
            <dd className="bad">{attempt.failure_reason}</dd>
          </>
        )}
        {release && (
          <>
            <dt>Release</dt>
            <dd>
              <Badge>{release.outcome}</Badge> {release.override_reason ?? release.rationale}
            </dd>
          </>
        )}
        {reviews.length > 0 && (
          <>
            <dt>Reviews</dt>
            <dd>
              {reviews.map((review) => (
                <span key={review.id}>
                  <Link href={`/reviews/${review.id}`}>{review.reason}</Link> <Badge>{review.status}</Badge>{' '}
                </span>
              ))}
            </dd>
          </>
        )}
      </dl>
      <div>
        <Recovering attemptId={attempt.id} />
      </div>
    </section>
  )
}

function tabsOf(found: Explanation): Tab[] {
  const { lineage } = found
  return [
    { name: 'Events', panel: () => <Timeline events={found.events} /> },
    { name: 'Models', panel: () => (found.decisions.length ? <><Choices decisions={found.decisions} /><Calls invocations={found.invocations} /></> : <Empty title="No model was chosen" />) },
    { name: 'Artifacts', panel: () => (found.artifacts.length ? <><Artifacts artifacts={found.artifacts} /><Validations of={found.validations} /></> : <Empty title="Nothing was made" />) },
    { name: 'Recovery', panel: () => (found.recovery_actions.length ? <Recoveries recoveries={found.recovery_actions} /> : <Empty title="Nothing had to be done" />) },
    ...(lineage ? [{ name: 'Lineage', panel: () => <Lineage upstream={lineage.upstream} downstream={lineage.downstream} /> }] : []),
    { name: 'As data', panel: () => <Json label="All of it" value={found} isOpen /> },
  ]
}

function Validations({ of }: { of: readonly Shapes['Validation'][] }) {
  if (of.length === 0) return null
  return (
    <Table
      label="Validations"
      id={(validation) => validation.id}
      rows={of}
      columns={[
        { head: 'When (UTC)', cell: (validation) => <span className="nowrap">{time(validation.created_at)}</span> },
        { head: 'Validator', cell: (validation) => validation.validator_kind },
        { head: 'Result', cell: (validation) => <Badge>{validation.result}</Badge> },
        { head: 'Says', cell: (validation) => validation.message ?? '–' },
        { head: 'By', cell: (validation) => <Actor of={validation.validated_by} /> },
      ]}
    />
  )
}

function Lineage({ upstream, downstream }: { upstream: Shapes['LineageGraph']; downstream: Shapes['LineageGraph'] }) {
  return (
    <>
      <Side title="Made of" graph={upstream} />
      <Side title="Made into" graph={downstream} />
    </>
  )
}

/** One side, by the distance from it. */
function Side({ title, graph }: { title: string; graph: Shapes['LineageGraph'] }) {
  const others = graph.nodes.filter((node) => node.id !== graph.root)
  const near = (id: string) => graph.edges.filter((edge) => edge.from === id || edge.to === id).map((edge) => (edge.from === id ? edge.to : edge.from))
  const named = (id: string) => graph.nodes.find((node) => node.id === id)?.artifact_key ?? id.slice(-8)
  return (
    <section className="stack" aria-label={title}>
      <h2>{title}</h2>
      {others.length === 0 ? (
        <p>Nothing that is known.</p>
      ) : (
        <Table
          label={title}
          id={(node) => node.id}
          rows={others}
          columns={[
            { head: 'Artifact', cell: (node) => <Link href={`/explain/${node.id}`}>{node.artifact_key ?? node.id.slice(-8)}</Link> },
            { head: 'Kind', cell: (node) => node.kind },
            { head: 'Steps away', isNumber: true, cell: (node) => count(node.distance) },
            { head: 'Next to', cell: (node) => near(node.id).map(named).join(', ') },
            { head: 'Confidence', isNumber: true, cell: (node) => count(node.confidence) },
            { head: 'Validated', cell: (node) => (node.validation_status ? <Badge>{node.validation_status}</Badge> : '–') },
          ]}
        />
      )}
      {graph.truncated && <p className="fine">There is more than is shown.</p>}
    </section>
  )
}
