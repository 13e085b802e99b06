/** Environments of the organization: made, set, suspended, deleted, and policies brought from one to another. */
import { useState } from 'react'
import { useQueryClient } from '@tanstack/react-query'
import { api, ask, ifMatch, type Shapes } from '../api/client'
import { milliseconds, time } from '../format'
import { useList } from '../lists'
import { Badge } from '../parts/Badge'
import { Confirm, Opens } from '../parts/Dialog'
import { Form, type Field, type Typed } from '../parts/Form'
import { Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { Table } from '../parts/Table'
import { useSession, type Environment } from '../session'

const PARTS = ['masking_rules', 'rls_filters', 'abac_policies'] as const
type Part = (typeof PARTS)[number]
const HEAL = [
  { value: 'off', label: 'are refused' },
  { value: 'safe', label: 'are corrected where only a keyword is misspelt' },
  { value: 'auto', label: 'may be written anew by a model' },
]

/** Settings of the API but the one that is set for good; the compiler names one without a field. */
type Setting = Exclude<keyof Shapes['EnvironmentSettings'], 'test_mode'>

function settings(of?: Shapes['EnvironmentSettings']): Field[] {
  const fields: Record<Setting, Omit<Field, 'name'>> = {
    query_timeout_ms: { label: 'A query may take, in ms', kind: 'number', initial: of?.query_timeout_ms },
    max_concurrent_queries: { label: 'Queries at a time', kind: 'number', initial: of?.max_concurrent_queries },
    cache_enabled: { label: 'Keep answers', kind: 'checkbox', initial: of?.cache_enabled ?? true },
    heal: { label: 'Statements that fail', kind: 'select', options: HEAL, initial: of?.heal ?? 'safe', hint: 'What was corrected is told with the rows. Another table, column or function is only suggested.' },
  }
  return Object.entries(fields).map(([name, field]) => ({ name, ...field }))
}

function typedSettings(typed: Typed): Required<Pick<Shapes['EnvironmentSettingsInput'], Setting>> {
  return {
    query_timeout_ms: typed.number('query_timeout_ms') ?? null,
    max_concurrent_queries: typed.number('max_concurrent_queries') ?? null,
    cache_enabled: typed.isChecked('cache_enabled'),
    heal: typed.choice<Shapes['EnvironmentSettings']['heal']>('heal'),
  }
}

/** The list of the page, and the one in the side. */
function useEnvironmentsChanged() {
  const queries = useQueryClient()
  return () => Promise.all([queries.invalidateQueries({ queryKey: ['environments'] }), queries.invalidateQueries({ queryKey: ['environment-list'] })])
}

export default function Environments() {
  const { orgId, can } = useSession()
  const list = useList(['environment-list', orgId], (cursor) =>
    ask(api.GET('/v1/organizations/{org_id}/environments', { params: { path: { org_id: orgId }, query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  const writes = can('environment:write')
  return (
    <Page
      title="Environments"
      needs="environment:read"
      lead="Each has its own data, keys, policies and data plane."
      actions={writes && <Opens label="New environment" className="primary">{(close) => <Making close={close} />}</Opens>}
    >
      <ResourceList
        of={list}
        empty={<Empty title="No environments yet"><p>Data lives in one.</p></Empty>}
        label="Environments"
        id={(one) => one.env_id}
        columns={(all) => [
          { head: 'Name', cell: (one) => one.name },
          { head: 'Slug', cell: (one) => <code>{one.slug}</code> },
          { head: 'State', cell: (one) => <Badge>{one.status}</Badge> },
          { head: 'A query may take', isNumber: true, cell: (one) => milliseconds(one.settings.query_timeout_ms) },
          { head: 'At a time', isNumber: true, cell: (one) => one.settings.max_concurrent_queries },
          { head: 'Made (UTC)', cell: (one) => <span className="nowrap">{time(one.created_at)}</span> },
          { head: '', cell: (one) => writes && one.status !== 'decommissioning' && <Acts one={one} others={all.filter((other) => other !== one)} reload={() => void list.refetch()} /> },
        ]}
      />
    </Page>
  )
}

function Acts({ one, others, reload }: { one: Environment; others: readonly Environment[]; reload: () => void }) {
  const { orgId } = useSession()
  const changed = useEnvironmentsChanged()
  const path = { org_id: orgId, env_id: one.env_id }
  return (
    <div className="row">
      <Opens label="Settings" title={`Settings of ${one.name}`} className="small">
        {(close) => (
          <Form
            fields={[{ name: 'name', label: 'Name', required: true, initial: one.name }, ...settings(one.settings)]}
            submit="Save"
            says="Saved"
            onSubmit={(typed) =>
              ask(
                api.PUT('/v1/organizations/{org_id}/environments/{env_id}', {
                  params: { path, header: ifMatch(one) },
                  body: { name: typed.text('name'), settings: typedSettings(typed) },
                }),
              ).then(changed)
            }
            onDone={close}
            reload={() => {
              reload()
              close()
            }}
          />
        )}
      </Opens>
      {others.length > 0 && (
        <Opens label="Promote" title={`Bring policies of ${one.name} elsewhere`} className="small">
          {(close) => <Promotion path={path} others={others} close={close} />}
        </Opens>
      )}
      <Switch one={one} path={path} />
      <Opens label="Delete" title={`Delete ${one.name}`} className="small danger">
        {(close) => <Deletion one={one} path={path} close={close} />}
      </Opens>
    </div>
  )
}

type Path = { org_id: string; env_id: string }

function Switch({ one, path }: { one: Environment; path: Path }) {
  const changed = useEnvironmentsChanged()
  if (one.status === 'suspended')
    return (
      <Confirm
        label="Resume"
        isGentle
        question={`${one.name} is active again when its data plane serves.`}
        act={() => ask(api.POST('/v1/organizations/{org_id}/environments/{env_id}/resume', { params: { path } })).then(changed)}
      />
    )
  return (
    <Confirm
      label="Suspend"
      question={`Nothing runs in ${one.name} until somebody resumes it. Its data, policies, keys and addresses stay.`}
      act={() => ask(api.POST('/v1/organizations/{org_id}/environments/{env_id}/suspend', { params: { path } })).then(changed)}
    />
  )
}

function Deletion({ one, path, close }: { one: Environment; path: Path; close: () => void }) {
  const changed = useEnvironmentsChanged()
  return (
    <Form
      fields={[{ name: 'confirm', label: `Type ${one.name} to delete it`, required: true, autoComplete: 'off' }]}
      submit="Delete it"
      says="Deleted"
      onSubmit={(typed) =>
        ask(
          api.DELETE('/v1/organizations/{org_id}/environments/{env_id}', { params: { path, query: { confirm: typed.text('confirm') } } }),
        ).then(changed)
      }
      onDone={close}
    >
      <p>All of its keys are revoked, and nobody reaches its data any more. The data itself stays where it lies: whoever runs the platform can have it removed.</p>
    </Form>
  )
}

function Making({ close }: { close: () => void }) {
  const { orgId } = useSession()
  const changed = useEnvironmentsChanged()
  return (
    <Form
      fields={[
        { name: 'name', label: 'Name', required: true },
        { name: 'slug', label: 'Slug', required: true, hint: 'Small letters, digits and hyphens. It stays.' },
        { name: 'test_mode', label: 'For tests: its keys begin with svc_test_', kind: 'checkbox' },
        ...settings(),
      ]}
      submit="Make it"
      onSubmit={(typed) =>
        ask(
          api.POST('/v1/organizations/{org_id}/environments', {
            params: { path: { org_id: orgId } },
            body: { name: typed.text('name'), slug: typed.text('slug'), settings: { ...typedSettings(typed), test_mode: typed.isChecked('test_mode') } },
          }),
        ).then(changed)
      }
      onDone={close}
    />
  )
}

/** First what it would change, then the change. Whoever wants all of it names no part: settings go along then. */
function Promotion({ path, others, close }: { path: { org_id: string; env_id: string }; others: readonly Environment[]; close: () => void }) {
  const [plan, setPlan] = useState<{ target: string; include: Part[]; changes: Shapes['PromotedChange'][] }>()
  const promote = (target: string, include: Part[], dry_run: boolean) =>
    ask(api.POST('/v1/organizations/{org_id}/environments/{env_id}/promote', { params: { path }, body: { target_env_id: target, ...(include.length < PARTS.length && { include }), dry_run } }))
  if (!plan) {
    return (
      <Form
        fields={[
          { name: 'target', label: 'To', kind: 'select', options: others.map((other) => ({ value: other.env_id, label: other.name })) },
          { name: 'include', label: 'What', kind: 'choices', options: PARTS, initial: PARTS },
        ]}
        submit="Show what would change"
        onSubmit={async (typed) => {
          const [target, include] = [typed.text('target'), typed.all('include') as Part[]]
          setPlan({ target, include, changes: (await promote(target, include, true)).changes })
        }}
      />
    )
  }
  if (plan.changes.length === 0) return <p>Nothing would change: the other environment has all of it.</p>
  return (
    <>
      <Table
        label="What would change"
        id={(change) => `${change.kind} ${change.name}`}
        rows={plan.changes}
        columns={[
          { head: 'Does', cell: (change) => <Badge>{change.action}</Badge> },
          { head: 'What', cell: (change) => change.kind.replaceAll('_', ' ') },
          { head: 'Name', cell: (change) => change.name },
        ]}
      />
      <Form fields={[]} submit="Promote" onSubmit={() => promote(plan.target, plan.include, false)} onDone={close} />
    </>
  )
}
