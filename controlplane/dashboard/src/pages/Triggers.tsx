/** Triggers: a concept in words, and from which score on a text that is like it makes it fire. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask, type Shapes } from '../api/client'
import { count, relative, span } from '../format'
import { useChanged } from '../lists'
import { Badge } from '../parts/Badge'
import { Choice } from '../parts/Choice'
import { Confirm, Opens } from '../parts/Dialog'
import { Form, type Typed } from '../parts/Form'
import { Answered, Empty, Page } from '../parts/Page'
import { Score } from '../parts/Score'
import { Table } from '../parts/Table'
import { WRITERS } from '../permissions'
import { useEnvironment, useSession } from '../session'

type Trigger = Shapes['Trigger']

const STATES = ['all', 'active', 'inactive'] as const

function usePlace() {
  const { orgId } = useSession()
  const { env_id } = useEnvironment()
  return { path: { org_id: orgId }, query: { env_id } }
}

export default function Triggers() {
  const { path, query } = usePlace()
  const { is } = useSession()
  const [status, setStatus] = useState<(typeof STATES)[number]>('all')
  const triggers = useQuery({
    queryKey: ['triggers', query.env_id, status],
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}/triggers', { params: { path, query: { ...query, status } } })),
  })
  const now = Date.now()
  return (
    <Page
      title="Triggers"
      needs="agent:*"
      lead="What agents remember and think is held against each concept; what is like it enough is told to the webhooks of notices."
      actions={is(WRITERS) && <Opens label="New trigger" className="primary">{(close) => <Making close={close} />}</Opens>}
    >
      <Choice label="State" value={status} options={STATES} onChange={setStatus} />
      <Answered
        of={triggers}
        isEmpty={(all) => all.length === 0}
        empty={<Empty title="No trigger is here"><p>Agents make them by the tool <code>register_trigger</code>, and people who may write do here.</p></Empty>}
      >
        {(all) => (
          <Table
            label="Triggers"
            id={(trigger) => trigger.id}
            rows={all}
            columns={[
              { head: 'Name', cell: (trigger) => trigger.name },
              { head: 'Concept', cell: (trigger) => <span className="said">{trigger.concept}</span> },
              { head: 'Fires from', isNumber: true, cell: (trigger) => count(trigger.threshold) },
              { head: 'For', cell: (trigger) => trigger.actions.join(', ').replaceAll('_', ' ') },
              { head: 'Fired', isNumber: true, cell: (trigger) => <span className="nowrap">{count(trigger.fire_count)}, {relative(trigger.last_fired_at, now)}</span> },
              { head: 'State', cell: (trigger) => <Badge tone={trigger.enabled ? 'good' : 'plain'}>{trigger.enabled ? 'on' : 'off'}</Badge> },
              { head: '', cell: (trigger) => <Acts trigger={trigger} /> },
            ]}
          />
        )}
      </Answered>
    </Page>
  )
}

function Acts({ trigger }: { trigger: Trigger }) {
  const { path, query } = usePlace()
  const { is } = useSession()
  const changed = useChanged('triggers')
  const params = { path: { ...path, trigger_id: trigger.id }, query }
  // The name that exists gets the terms that are said, and is on again.
  const { name, concept, threshold, actions, action_config, cooldown_secs, sources, agent_filter } = trigger
  const body = { name, concept, threshold, actions, action_config, cooldown_secs, sources, agent_filter }
  return (
    <div className="row">
      <Opens label="Try" title={`Try ${trigger.name}`} className="small">
        {() => <Trying trigger={trigger} />}
      </Opens>
      {is(WRITERS) && trigger.enabled && (
        <Confirm
          label="Switch off"
          question={`Switch “${trigger.name}” off? It fires no more until it is switched on again.`}
          act={() => ask(api.DELETE('/v1/organizations/{org_id}/triggers/{trigger_id}', { params })).then(changed)}
        />
      )}
      {is(WRITERS) && !trigger.enabled && (
        <Opens label="Switch on" title={`Switch ${trigger.name} on`} className="small">
          {(close) => (
            <Form fields={[]} submit="Switch it on" onSubmit={() => ask(api.POST('/v1/organizations/{org_id}/triggers', { params: { path, query }, body })).then(changed)} onDone={close}>
              <p>It fires again, with the terms that it had.</p>
            </Form>
          )}
        </Opens>
      )}
    </div>
  )
}

function Trying({ trigger }: { trigger: Trigger }) {
  const { path, query } = usePlace()
  const [tested, setTested] = useState<Shapes['TriggerTested']>()
  return (
    <>
      <Form
        fields={[{ name: 'text', label: 'A text', kind: 'textarea', required: true, hint: `Held against: ${trigger.concept}` }]}
        submit="Try it"
        onSubmit={async (typed) =>
          setTested(
            await ask(
              api.POST('/v1/organizations/{org_id}/triggers/{trigger_id}/test', {
                params: { path: { ...path, trigger_id: trigger.id }, query },
                body: { text: typed.text('text') },
              }),
            ),
          )
        }
      />
      {tested && (
        <div className={tested.would_fire ? 'verdict good' : 'verdict'} role="status">
          <p>
            <strong>{tested.would_fire ? 'It would fire.' : 'It would not fire.'}</strong> The score is {tested.similarity.toFixed(3)}, it fires from{' '}
            {count(trigger.threshold)}. {tested.similarity >= trigger.threshold && !tested.would_fire && `It has fired, and rests for ${span(trigger.cooldown_secs)}.`}
          </p>
          <Score score={tested.similarity} threshold={trigger.threshold} />
        </div>
      )}
    </>
  )
}

const ACTIONS = ['webhook', 'flag_for_review', 'agent_notify', 'write_event'].map((value) => ({ value, label: value.replaceAll('_', ' ') }))
const SOURCES = [
  { value: 'memory', label: 'what is remembered' },
  { value: 'reasoning_step', label: 'steps of reasoning' },
  { value: 'explicit', label: 'texts given to the tool' },
]

function Making({ close }: { close: () => void }) {
  const { path, query } = usePlace()
  const changed = useChanged('triggers')
  const make = (typed: Typed) => {
    const agent_filter = typed.optional('agent_filter')
    const body = {
      name: typed.text('name'),
      concept: typed.text('concept'),
      threshold: typed.number('threshold') ?? 0,
      actions: [typed.text('actions')],
      cooldown_secs: typed.number('cooldown_secs') ?? 0,
      sources: typed.all('sources'),
      ...(agent_filter && { agent_filter }),
    }
    return ask(api.POST('/v1/organizations/{org_id}/triggers', { params: { path, query }, body })).then(changed)
  }
  return (
    <Form
      fields={[
        { name: 'name', label: 'Name', required: true },
        { name: 'concept', label: 'What is to be noticed', kind: 'textarea', required: true, hint: 'In words: a customer wants to leave' },
        { name: 'threshold', label: 'Fires from the score', kind: 'number', initial: 0.7, required: true, hint: 'From 0 to 1; try a text to see what it scores' },
        { name: 'actions', label: 'What it is for', kind: 'select', options: ACTIONS },
        { name: 'sources', label: 'What is held against it', kind: 'choices', options: SOURCES, initial: SOURCES.map((source) => source.value) },
        { name: 'cooldown_secs', label: 'Rests for seconds after it fired', kind: 'number', initial: 60, required: true },
        { name: 'agent_filter', label: 'Only for the agent' },
      ]}
      submit="Make it"
      onSubmit={make}
      onDone={close}
    />
  )
}
