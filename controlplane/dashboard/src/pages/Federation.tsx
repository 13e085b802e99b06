/** Clouds whose programs are believed: whoever has assumed a role of theirs comes without a key. */
import { useState } from 'react'
import { api, ask, type Shapes } from '../api/client'
import { time } from '../format'
import { useChanged, useList } from '../lists'
import { Badge } from '../parts/Badge'
import { Named } from '../parts/Choice'
import { Opens } from '../parts/Dialog'
import { Form, type Field, type Typed } from '../parts/Form'
import { Empty } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { useSession } from '../session'
import { linesOf, subjectsIn } from './subjects'

type Provider = Shapes['FederationProvider']
type Config = Shapes['FederationConfig']
type Kind = Config['type']

/** What each has to be told of, besides who may come. */
const KINDS: Record<Kind, { label: string; fields: readonly Field[] }> = {
  aws_sts: {
    label: 'AWS',
    fields: [
      { name: 'role_arn', label: 'Role', required: true, hint: 'arn:aws:iam::123456789012:role/etl' },
      { name: 'external_id', label: 'External id' },
    ],
  },
  gcp_workload_identity: {
    label: 'Google Cloud',
    fields: [
      { name: 'project_id', label: 'Project', required: true },
      { name: 'workload_identity_pool', label: 'Workload identity pool', required: true },
      { name: 'provider', label: 'Provider', required: true },
    ],
  },
  azure_ad: {
    label: 'Azure',
    fields: [
      { name: 'tenant_id', label: 'Directory', required: true },
      { name: 'audience', label: 'Audience', required: true },
    ],
  },
}

export function Federation() {
  const { orgId } = useSession()
  const list = useList(['federation', orgId], (cursor) =>
    ask(api.GET('/v1/organizations/{org_id}/federation/providers', { params: { path: { org_id: orgId }, query: { limit: 50, ...(cursor && { cursor }) } } })),
  )
  return (
    <>
      <div>
        <Opens label="Believe a cloud" className="primary">
          {(close) => <Naming close={close} />}
        </Opens>
      </div>
      <ResourceList
        of={list}
        empty={<Empty title="No cloud is believed yet"><p>Programs come with a key. A cloud can vouch for its own instead.</p></Empty>}
        label="Clouds"
        id={(provider) => provider.provider_id}
        columns={[
          { head: 'Cloud', cell: (provider) => KINDS[provider.type].label },
          { head: 'Whose', cell: (provider) => <code>{whose(provider)}</code> },
          { head: 'Who may come', cell: (provider) => <Who provider={provider} /> },
          { head: 'Audience', cell: (provider) => <code className="wide">{provider.audience}</code> },
          { head: 'State', cell: (provider) => <Badge>{provider.status}</Badge> },
          { head: 'Since (UTC)', cell: (provider) => <span className="nowrap">{time(provider.created_at)}</span> },
          { head: '', cell: (provider) => <Acts provider={provider} /> },
        ]}
      />
    </>
  )
}

function whose(provider: Provider): string {
  switch (provider.type) {
    case 'aws_sts':
      return provider.config.role_arn
    case 'gcp_workload_identity':
      return `${provider.config.project_id}/${provider.config.workload_identity_pool}/${provider.config.provider}`
    case 'azure_ad':
      return provider.config.tenant_id
  }
}

function Who({ provider }: { provider: Provider }) {
  const { subjects } = provider.config
  if (subjects.length === 0) return <Badge tone="warn">nobody</Badge>
  return subjects.map(({ match, role }) => (
    <div key={match}>
      <code>{match}</code> as {role}
    </div>
  ))
}

/** What was typed, as the cloud's config. */
function configOf(kind: Kind, typed: Typed): Config {
  const subjects = subjectsIn('subjects', typed.text('subjects'))
  switch (kind) {
    case 'aws_sts': {
      const external_id = typed.optional('external_id')
      return { type: kind, config: { role_arn: typed.text('role_arn'), subjects, ...(external_id && { external_id }) } }
    }
    case 'gcp_workload_identity':
      return {
        type: kind,
        config: { project_id: typed.text('project_id'), workload_identity_pool: typed.text('workload_identity_pool'), provider: typed.text('provider'), subjects },
      }
    case 'azure_ad':
      return { type: kind, config: { tenant_id: typed.text('tenant_id'), audience: typed.text('audience'), subjects } }
  }
}

function fieldsOf(kind: Kind, provider?: Provider): Field[] {
  const known = provider?.config as Readonly<Record<string, unknown>> | undefined
  const own = KINDS[kind].fields.map((field) => ({ ...field, ...(typeof known?.[field.name] === 'string' && { initial: known[field.name] as string }) }))
  const subjects: Field = {
    name: 'subjects',
    label: 'Who may come, and as what',
    kind: 'textarea',
    hint: 'A line each: subject = role, or * = analyst for everybody else; the first that fits counts',
    ...(provider && { initial: linesOf(provider.config.subjects) }),
  }
  return [...own, subjects]
}

function Naming({ close }: { close: () => void }) {
  const { orgId } = useSession()
  const changed = useChanged('federation')
  const [kind, setKind] = useState<Kind>('aws_sts')
  return (
    <>
      <Named label="Cloud" value={kind} of={KINDS} onChange={setKind} />
      <Form
        key={kind}
        fields={fieldsOf(kind)}
        submit="Believe it"
        onSubmit={async (typed) => {
          const body = configOf(kind, typed)
          await ask(api.POST('/v1/organizations/{org_id}/federation/providers', { params: { path: { org_id: orgId } }, body })).then(changed)
        }}
        onDone={close}
      />
    </>
  )
}

function Acts({ provider }: { provider: Provider }) {
  const { orgId } = useSession()
  const changed = useChanged('federation')
  const params = { path: { org_id: orgId, provider_id: provider.provider_id } }
  return (
    <div className="row">
      <Opens label="Change" title={`Change ${KINDS[provider.type].label}`} className="small">
        {(close) => (
          <Form
            fields={fieldsOf(provider.type, provider)}
            submit="Save it"
            says="Saved"
            onSubmit={async (typed) => {
              const body = configOf(provider.type, typed)
              await ask(api.PUT('/v1/organizations/{org_id}/federation/providers/{provider_id}', { params, body })).then(changed)
            }}
            onDone={close}
          >
            <p>Whoever came by it is signed out.</p>
          </Form>
        )}
      </Opens>
      <Opens label="Remove" title={`Remove ${KINDS[provider.type].label}`} className="small danger">
        {(close) => (
          <Form fields={[]} submit="Remove it" onSubmit={() => ask(api.DELETE('/v1/organizations/{org_id}/federation/providers/{provider_id}', { params })).then(changed)} onDone={close}>
            <p>Its programs are believed no more, and those that are in are signed out.</p>
          </Form>
        )}
      </Opens>
    </div>
  )
}
