/** The six gates of a project: what each asks for, and what it was evaluated to. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { api, ask, type Shapes } from '../api/client'
import { cell, time } from '../format'
import { asPage, useChanged, useList } from '../lists'
import { Actor } from '../parts/Actor'
import { Badge } from '../parts/Badge'
import { Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Answered, Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { ADMINS, WRITERS } from '../permissions'
import { useSession } from '../session'
import { Conditions } from './Conditions'
import { blank, listIn, objectIn } from './gateFacts'

type Gate = Shapes['Gate']
type Verdict = Shapes['GateVerdict']

/** What came of it, in words. */
const RESULTS: Record<Shapes['GateResult'], { words: string; tone: 'good' | 'bad' | 'warn' }> = {
  AutoApproved: { words: 'approved by rule', tone: 'good' },
  PendingManual: { words: 'waits for a person', tone: 'warn' },
  Failed: { words: 'failed', tone: 'bad' },
}

const Result = ({ of }: { of: Shapes['GateResult'] }) => <Badge tone={RESULTS[of].tone}>{RESULTS[of].words}</Badge>

export default function Gates() {
  const [project, setProject] = useState('')
  const gates = useQuery({
    queryKey: ['gates', project],
    queryFn: () => ask(api.GET('/v2/gates', { params: { query: project ? { project_id: project } : {} } })),
  })
  return (
    <Page title="Gates" needs="agent:*" lead="A gate holds facts against its conditions. Some then wait for a person. A project may have rules of its own.">
      <Form
        isInline
        label="Whose gates"
        fields={[{ name: 'project', label: 'Project' }]}
        submit="Show"
        onSubmit={async (typed) => setProject(typed.text('project'))}
      />
      <Answered of={gates}>
        {({ data }) => (
          <div className="pairs">
            {data.map((gate) => (
              <One key={gate.gate_id} gate={gate} project={project} />
            ))}
          </div>
        )}
      </Answered>
      <Evaluations project={project} />
    </Page>
  )
}

function One({ gate, project }: { gate: Gate; project: string }) {
  const { is } = useSession()
  return (
    <section className="card" aria-labelledby={gate.gate_id}>
      <h2 id={gate.gate_id}>
        {gate.gate_id} {gate.name} <Badge tone="plain">{gate.auto_approvable ? 'approved by rule' : `approved by ${gate.approval_role}`}</Badge>{' '}
        {gate.client_sign_off_required && <Badge tone="plain">the client signs off</Badge>}{' '}
        {gate.version > 0 && <Badge tone="plain">{`a rule of ${gate.project_id}, version ${gate.version}`}</Badge>}
      </h2>
      <ul className="stack">
        {gate.predicates.map((predicate) => (
          <li key={`${predicate.key} ${predicate.operator} ${cell(predicate.value)}`}>
            {predicate.description || predicate.key}{' '}
            <code>
              {predicate.key} {predicate.operator} {JSON.stringify(predicate.value)}
            </code>
          </li>
        ))}
      </ul>
      <div className="row">
        {is(WRITERS) && (
          <Opens label="Evaluate" title={`Evaluate ${gate.gate_id}`} className="small">
            {() => <Evaluating gate={gate} project={project} />}
          </Opens>
        )}
        {is(ADMINS) && (
          <Opens label="Change the rule" title={`The rule of ${gate.gate_id}`} className="small">
            {(close) => <Ruling gate={gate} project={project} close={close} />}
          </Opens>
        )}
      </div>
    </section>
  )
}

const PROJECT = { name: 'project_id', label: 'Project', required: true }

function Evaluating({ gate, project }: { gate: Gate; project: string }) {
  const changed = useChanged('gate-evaluations', 'reviews')
  const [verdict, setVerdict] = useState<Verdict>()
  return (
    <>
      <Form
        fields={[
          { ...PROJECT, initial: project },
          { name: 'facts', label: 'Facts', kind: 'textarea', required: true, initial: JSON.stringify(blank(gate.predicates.map((one) => one.key)), null, 2) },
          { name: 'dry_run', label: 'Only say what would come of it', kind: 'checkbox', initial: true },
        ]}
        submit="Evaluate"
        onSubmit={async (typed) => {
          const body = { project_id: typed.text('project_id'), facts: objectIn('facts', typed.text('facts')), dry_run: typed.isChecked('dry_run') }
          setVerdict(await ask(api.POST('/v2/gates/{gate_id}/evaluate', { params: { path: { gate_id: gate.gate_id } }, body })))
          await changed()
        }}
      />
      {verdict && (
        <div className="stack" role="status">
          <p>
            <Result of={verdict.result} /> {verdict.evaluation_id ? 'It is written down.' : 'Nothing was written down.'}{' '}
            {verdict.review_id && <Link href={`/reviews/${verdict.review_id}`}>Open its review</Link>}
          </p>
          <Conditions passed={verdict.passed_conditions} failed={verdict.failed_conditions} />
        </div>
      )}
    </>
  )
}

function Ruling({ gate, project, close }: { gate: Gate; project: string; close: () => void }) {
  const changed = useChanged('gates')
  return (
    <Form
      fields={[
        { ...PROJECT, initial: project, hint: 'The rule is this project’s alone' },
        { name: 'predicates', label: 'Conditions', kind: 'textarea', required: true, initial: JSON.stringify(gate.predicates, null, 2) },
        { name: 'auto_approvable', label: 'Approved by rule where all of them hold', kind: 'checkbox', initial: gate.auto_approvable },
        { name: 'approval_role', label: 'Else approved by', required: true, initial: gate.approval_role, hint: 'pm, client, admin or an e-mail address' },
      ]}
      submit="Save it"
      says="Saved"
      onSubmit={(typed) =>
        ask(
          api.PUT('/v2/gates/{gate_id}', {
            params: { path: { gate_id: gate.gate_id } },
            body: {
              project_id: typed.text('project_id'),
              predicates: listIn('predicates', typed.text('predicates')) as Shapes['GatePredicateInput'][],
              auto_approvable: typed.isChecked('auto_approvable'),
              approval_role: typed.text('approval_role'),
            },
          }),
        ).then(changed)
      }
      onDone={close}
    />
  )
}

function Evaluations({ project }: { project: string }) {
  const list = useList(['gate-evaluations', project], async (cursor) => {
    const query = { limit: 50, ...(project && { project_id: project }), ...(cursor && { cursor }) }
    return asPage(await ask(api.GET('/v2/gates/evaluations', { params: { query } })))
  })
  return (
    <section className="stack" aria-labelledby="evaluations">
      <h2 id="evaluations">What they were evaluated to</h2>
      <ResourceList
        of={list}
        empty={<Empty title="No gate was evaluated yet" />}
        label="Evaluations"
        id={(evaluation) => evaluation.id}
        columns={[
          { head: 'When (UTC)', cell: (evaluation) => <span className="nowrap">{time(evaluation.evaluated_at)}</span> },
          { head: 'Gate', cell: (evaluation) => evaluation.gate_id },
          { head: 'Project', cell: (evaluation) => evaluation.project_id },
          { head: 'Result', cell: (evaluation) => <Result of={evaluation.result} /> },
          { head: 'By', cell: (evaluation) => <Actor of={evaluation.evaluated_by} /> },
          {
            head: '',
            cell: (evaluation) => (
              <Opens label="Conditions" title={`${evaluation.gate_id} of ${evaluation.project_id}`} className="small">
                {() => <Conditions passed={evaluation.passed_conditions} failed={evaluation.failed_conditions} />}
              </Opens>
            ),
          },
        ]}
      />
    </section>
  )
}
