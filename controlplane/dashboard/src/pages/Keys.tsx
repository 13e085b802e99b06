/** Keys of the environment. The secret is shown once, when it is made. */
import { useState } from 'react'
import { api, ask, type Shapes } from '../api/client'
import { relative, words } from '../format'
import { useChanged, useList } from '../lists'
import { Badge } from '../parts/Badge'
import { CodeBlock, Download } from '../parts/CodeBlock'
import { Confirm, Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { useEnvironment, useSession } from '../session'

type ApiKey = Shapes['ApiKey']

const SCOPES = [
  'query:read',
  'query:write',
  'schema:read',
  'schema:write',
  'policy:read',
  'policy:write',
  'key:read',
  'key:write',
  'audit:read',
  'user:read',
  'user:write',
  'environment:read',
  'environment:write',
  'webhook:read',
  'webhook:write',
  'billing:read',
  'billing:write',
  'agent:*',
]

export default function Keys() {
  const { can } = useSession()
  const { env_id } = useEnvironment()
  const list = useList(['keys', env_id], (cursor) =>
    ask(api.GET('/v1/environments/{env_id}/api-keys', { params: { path: { env_id }, query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  const writes = can('key:write')
  const now = Date.now()
  return (
    <Page
      title="API keys"
      needs="key:read"
      lead="A key works in this environment alone. Revoked, it is refused over every protocol at once, on open sessions too."
      actions={writes && <Opens label="New key" className="primary">{(close) => <Making close={close} />}</Opens>}
    >
      <ResourceList
        of={list}
        scope="key:read"
        empty={<Empty title="No keys yet"><p>A program needs one to connect.</p></Empty>}
        label="API keys"
        id={(key) => key.key_id}
        columns={[
          { head: 'Name', cell: (key) => key.name },
          { head: 'Begins with', cell: (key) => <code className="nowrap">{key.prefix}</code> },
          { head: 'May', cell: (key) => <Scopes of={key.scopes} /> },
          { head: 'State', cell: (key) => <Badge>{key.status}</Badge> },
          { head: 'Last used', cell: (key) => <span className="nowrap">{relative(key.last_used_at, now)}</span> },
          { head: 'Expires', cell: (key) => <span className="nowrap">{key.revoked ? '–' : relative(key.expires_at, now)}</span> },
          { head: '', cell: (key) => writes && !key.revoked && <Acts apiKey={key} /> },
        ]}
      />
    </Page>
  )
}

/** A few are read at a glance; many are folded away. */
function Scopes({ of }: { of: readonly string[] }) {
  const all = <span className="fine">{of.join(', ')}</span>
  if (of.length <= 4) return all
  return (
    <details>
      <summary>{of.length} scopes</summary>
      {all}
    </details>
  )
}

function Acts({ apiKey }: { apiKey: ApiKey }) {
  const { env_id } = useEnvironment()
  const changed = useChanged('keys')
  const path = { env_id, key_id: apiKey.key_id }
  return (
    <div className="row">
      <Opens label="Rotate" title={`Rotate ${apiKey.name}`} className="small">
        {(close) => <Rotating path={path} name={apiKey.name} close={close} />}
      </Opens>
      <Confirm
        label="Revoke"
        question={`Revoke “${apiKey.name}”? Whatever uses it is refused from then on. This cannot be undone.`}
        act={() => ask(api.DELETE('/v1/environments/{env_id}/api-keys/{key_id}', { params: { path } })).then(changed)}
      />
    </div>
  )
}

function Making({ close }: { close: () => void }) {
  const { env_id } = useEnvironment()
  const changed = useChanged('keys')
  const [made, setMade] = useState<{ name: string; secret: string }>()
  if (made) return <Once {...made} close={close} />
  return (
    <Form
      fields={[
        { name: 'name', label: 'Name', required: true },
        { name: 'scopes', label: 'It may', kind: 'choices', options: SCOPES, initial: ['query:read'] },
        { name: 'expires_in_days', label: 'Expires in days', kind: 'number', initial: 90, hint: 'Empty: until it is revoked.' },
        { name: 'ip_allowlist', label: 'Addresses it may come from', hint: 'Such as 10.0.0.0/8, 192.0.2.7. Empty: any.' },
      ]}
      submit="Make it"
      onSubmit={async (typed) => {
        const key = await ask(
          api.POST('/v1/environments/{env_id}/api-keys', {
            params: { path: { env_id } },
            body: {
              name: typed.text('name'),
              scopes: typed.all('scopes'),
              expires_in_days: typed.number('expires_in_days') ?? null,
              ip_allowlist: words(typed.text('ip_allowlist')),
            },
          }),
        )
        await changed()
        if (key.key) setMade({ name: key.name, secret: key.key })
      }}
    />
  )
}

function Rotating({ path, name, close }: { path: { env_id: string; key_id: string }; name: string; close: () => void }) {
  const changed = useChanged('keys')
  const [made, setMade] = useState<{ name: string; secret: string }>()
  if (made) return <Once {...made} close={close} />
  return (
    <Form
      fields={[{ name: 'hours', label: 'Hours that the old secret works on', kind: 'number', initial: 24, required: true }]}
      submit="Rotate it"
      onSubmit={async (typed) => {
        const rotation = await ask(
          api.POST('/v1/environments/{env_id}/api-keys/{key_id}/rotate', { params: { path }, body: { grace_period_hours: typed.number('hours') ?? null } }),
        )
        await changed()
        if (rotation.new_key) setMade({ name, secret: rotation.new_key })
      }}
    />
  )
}

function Once({ name, secret, close }: { name: string; secret: string; close: () => void }) {
  return (
    <>
      <p className="notice">This is the only time that the secret is shown.</p>
      <CodeBlock label="The secret" text={secret} />
      <footer>
        <Download name={`${name}.env`} kind="text/plain" text={() => `SLUICE_KEY='${secret}'\n`}>
          Save as .env
        </Download>
        <button type="button" className="primary" onClick={close}>
          I have it
        </button>
      </footer>
    </>
  )
}
