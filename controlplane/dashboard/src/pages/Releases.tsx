/** Releases that may go out, may not, or run in the shadow; nothing here is ever changed. */
import { Link } from 'wouter'
import { api, ask, type Shapes } from '../api/client'
import { time } from '../format'
import { asPage, useChanged, useList } from '../lists'
import { Actor } from '../parts/Actor'
import { Badge } from '../parts/Badge'
import { Opens } from '../parts/Dialog'
import { Form, type Typed } from '../parts/Form'
import { Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { WRITERS } from '../permissions'
import { useSession } from '../session'

type Outcome = Shapes['ReleaseOutcome']

const OUTCOMES: Record<Outcome, true> = { approved: true, blocked: true, shadow: true }
const GATES: Record<Shapes['GateId'], true> = { G0: true, G1: true, G2: true, G3: true, G4: true, G5: true }

export default function Releases() {
  const { is } = useSession()
  const list = useList(['releases'], async (cursor) => asPage(await ask(api.GET('/v2/releases', { params: { query: { limit: 50, ...(cursor && { cursor }) } } }))))
  return (
    <Page
      title="Releases"
      needs="agent:*"
      lead="A decided review writes one down; what is approved under a gate has passed it, or somebody says why not."
      actions={is(WRITERS) && <Opens label="Record a release" className="primary">{(close) => <Recording close={close} />}</Opens>}
    >
      <ResourceList
        of={list}
        empty={<Empty title="Nothing was released yet"><p>The first review that is approved, and the first release that somebody records, are listed here.</p></Empty>}
        label="Releases"
        id={(release) => release.id}
        columns={[
          { head: 'When (UTC)', cell: (release) => <span className="nowrap">{time(release.decided_at)}</span> },
          { head: 'Project', cell: (release) => release.project_id },
          { head: 'Outcome', cell: (release) => <Badge>{release.outcome}</Badge> },
          { head: 'Artifact', cell: (release) => (release.artifact_id ? <Link href={`/explain/${release.artifact_id}`}>{release.artifact_id.slice(-8)}</Link> : '–') },
          { head: 'Gate', cell: (release) => release.gate_id ?? '–' },
          { head: 'Review', cell: (release) => (release.review_id ? <Link href={`/reviews/${release.review_id}`}>{release.review_id.slice(-8)}</Link> : '–') },
          { head: 'Why', cell: (release) => <span className="said">{release.override_reason ?? release.rationale ?? '–'}</span> },
          { head: 'By', cell: (release) => <Actor of={release.decided_by} /> },
        ]}
      />
    </Page>
  )
}

function Recording({ close }: { close: () => void }) {
  const changed = useChanged('releases')
  const record = (typed: Typed) => {
    const given = (name: string) => {
      const text = typed.optional(name)
      return text ? { [name]: text } : {}
    }
    const body = { outcome: typed.choice<Outcome>('outcome'), ...given('project_id'), ...given('artifact_id'), ...given('gate_id'), ...given('rationale'), ...given('override_reason') }
    return ask(api.POST('/v2/releases', { body })).then(changed)
  }
  return (
    <Form
      fields={[
        { name: 'outcome', label: 'Outcome', kind: 'select', options: Object.keys(OUTCOMES) },
        { name: 'project_id', label: 'Project', hint: 'Not needed with an artifact' },
        { name: 'artifact_id', label: 'Artifact' },
        { name: 'gate_id', label: 'Under the gate', kind: 'select', options: [{ value: '', label: 'none' }, ...Object.keys(GATES)] },
        { name: 'rationale', label: 'Why', kind: 'textarea' },
        { name: 'override_reason', label: 'Why although the gate was not passed', kind: 'textarea', hint: 'For owners and admins' },
      ]}
      submit="Record it"
      onSubmit={record}
      onDone={close}
    />
  )
}
