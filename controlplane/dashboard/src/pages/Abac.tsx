/** Policies by attributes: who, from where, when, with what. And what they would say, without a query. */
import { useState } from 'react'
import { api, ask, type Shapes } from '../api/client'
import { milliseconds, words } from '../format'
import { useChanged, useList } from '../lists'
import { Badge } from '../parts/Badge'
import { Confirm, Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { useEnvironment, useSession } from '../session'
import { CONDITIONS, sentence } from './abacRules'
import { PolicyState } from './PolicyState'
import { ROLES, type Role } from './roles'

type AbacPolicy = Shapes['AbacPolicy']
const ACTIONS = ['allow', 'deny', 'deny_outside', 'read_only'] as const
type Action = (typeof ACTIONS)[number]
const ORIGINS = ['', 'rest', 'arrow', 'pgwire', 'flight', 'mcp', 'dashboard', 'shadow'] as const
type Origin = Exclude<(typeof ORIGINS)[number], ''>

export default function Abac() {
  const { can } = useSession()
  const { env_id } = useEnvironment()
  const list = useList(['abac', env_id], (cursor) =>
    ask(api.GET('/v1/environments/{env_id}/abac-policies', { params: { path: { env_id }, query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  const writes = can('policy:write')
  return (
    <Page
      title="Attribute policies"
      needs="policy:read"
      lead="They decide before a statement is rewritten. The highest priority that fits decides."
      actions={writes && <Opens label="New policy" className="primary">{(close) => <Making close={close} />}</Opens>}
    >
      <ResourceList
        of={list}
        scope="policy:read"
        empty={<Empty title="No attribute policies yet"><p>Roles and scopes alone decide.</p></Empty>}
        label="Attribute policies"
        id={(policy) => policy.policy_id}
        columns={[
          { head: 'Name', cell: (policy) => policy.name },
          { head: 'Priority', isNumber: true, cell: (policy) => policy.priority },
          { head: 'Rules', cell: (policy) => policy.rules.map((rule, index) => <p key={index}>{sentence(rule)}</p>) },
          { head: 'State', cell: (policy) => <PolicyState policy={policy} /> },
          { head: '', cell: (policy) => writes && <Acts policy={policy} /> },
        ]}
      />
      {writes && <Simulation />}
    </Page>
  )
}

function Acts({ policy }: { policy: AbacPolicy }) {
  const { env_id } = useEnvironment()
  const changed = useChanged('abac')
  const path = { env_id, policy_id: policy.policy_id }
  return (
    <div className="row">
      <Confirm
        label={policy.enabled ? 'Disable' : 'Enable'}
        isGentle={!policy.enabled}
        question={policy.enabled ? `“${policy.name}” rules nobody from the next query on.` : `“${policy.name}” rules from the next query on.`}
        act={() => ask(api.PUT('/v1/environments/{env_id}/abac-policies/{policy_id}', { params: { path }, body: { enabled: !policy.enabled } })).then(changed)}
      />
      <Confirm
        label="Delete"
        question={`Delete “${policy.name}”?`}
        act={() => ask(api.DELETE('/v1/environments/{env_id}/abac-policies/{policy_id}', { params: { path } })).then(changed)}
      />
    </div>
  )
}

function Making({ close }: { close: () => void }) {
  const { env_id } = useEnvironment()
  const changed = useChanged('abac')
  return (
    <Form
      fields={[
        { name: 'name', label: 'Name', required: true },
        { name: 'priority', label: 'Priority', kind: 'number', initial: 100, required: true },
        { name: 'condition', label: 'If', kind: 'select', options: Object.entries(CONDITIONS).map(([value, label]) => ({ value, label })) },
        { name: 'values', label: 'Is one of', hint: 'With commas between. Not for a time of day.' },
        { name: 'start', label: 'From, for a time of day', hint: 'HH:MM' },
        { name: 'end', label: 'To, for a time of day', hint: 'HH:MM' },
        { name: 'timezone', label: 'In the time zone', hint: 'Such as Europe/Berlin. Empty: UTC.' },
        { name: 'action', label: 'Then', kind: 'select', options: ACTIONS },
        { name: 'message', label: 'What whoever is refused is told' },
        { name: 'exempt_roles', label: 'Roles it does not rule', kind: 'choices', options: ROLES },
      ]}
      submit="Make it"
      onSubmit={(typed) => {
        const optional = (name: 'start' | 'end' | 'timezone' | 'message') => {
          const text = typed.optional(name)
          return text === undefined ? {} : { [name]: text }
        }
        const values = words(typed.text('values'))
        const rule = {
          condition: typed.text('condition'),
          action: typed.choice<Action>('action'),
          exempt_roles: typed.all('exempt_roles') as Role[],
          ...(values.length > 0 && { values }),
          ...optional('start'),
          ...optional('end'),
          ...optional('timezone'),
          ...optional('message'),
        }
        return ask(
          api.POST('/v1/environments/{env_id}/abac-policies', {
            params: { path: { env_id } },
            body: { name: typed.text('name'), priority: typed.number('priority') ?? 0, enabled: true, rules: [rule] },
          }),
        ).then(changed)
      }}
      onDone={close}
    />
  )
}

function Simulation() {
  const { env_id } = useEnvironment()
  const [outcome, setOutcome] = useState<Shapes['AbacSimulationOutcome']>()
  return (
    <section className="card" aria-labelledby="simulation">
      <h2 id="simulation">What would they say?</h2>
      <Form
        fields={[
          { name: 'query', label: 'Statement', kind: 'textarea', required: true, initial: 'select 1' },
          { name: 'user_role', label: 'Of a role', kind: 'select', options: [{ value: '', label: 'any' }, ...ROLES] },
          { name: 'query_origin', label: 'Through', kind: 'select', options: ORIGINS.map((value) => ({ value, label: value || 'any' })) },
          { name: 'agent_framework', label: 'By an agent of the framework' },
          { name: 'time_of_day', label: 'At', hint: 'HH:MM. Empty: now.' },
        ]}
        submit="Simulate"
        onSubmit={async (typed) => {
          const context = {
            ...(typed.optional('user_role') && { user_role: typed.choice<Role>('user_role') }),
            ...(typed.optional('query_origin') && { query_origin: typed.choice<Origin>('query_origin') }),
            ...(typed.optional('agent_framework') && { agent_framework: typed.text('agent_framework') }),
            ...(typed.optional('time_of_day') && { time_of_day: typed.text('time_of_day') }),
          }
          setOutcome(await ask(api.POST('/v1/environments/{env_id}/abac-policies/simulate', { params: { path: { env_id } }, body: { query: typed.text('query'), context } })))
        }}
      />
      <div aria-live="polite">
        {outcome && (
          <div className={`verdict ${outcome.decision === 'deny' ? 'bad' : 'good'}`}>
            <p>
              <Badge>{outcome.decision}</Badge> {outcome.reason}
            </p>
            {outcome.matching_policies.map((match) => (
              <p key={match.policy_id}>
                {match.name}: {match.action.replace('_', ' ')}
              </p>
            ))}
            <p className="fine">decided in {milliseconds(outcome.evaluation_time_ms)}</p>
          </div>
        )}
      </div>
    </section>
  )
}
