/** Who belongs to the organization, and as what. */
import { useState } from 'react'
import { api, ask, type Shapes } from '../api/client'
import { relative } from '../format'
import { useChanged, useList } from '../lists'
import { Badge } from '../parts/Badge'
import { CodeBlock } from '../parts/CodeBlock'
import { Confirm, Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { useSession } from '../session'

type User = Shapes['User']
type Assignable = Shapes['AssignableRole']

const ASSIGNABLE: Record<Assignable, true> = { admin: true, developer: true, analyst: true, auditor: true, service_account: true }
const OPTIONS = Object.keys(ASSIGNABLE) as Assignable[]

export default function Users() {
  const { can, orgId, me } = useSession()
  const list = useList(['users', orgId], (cursor) =>
    ask(api.GET('/v1/organizations/{org_id}/users', { params: { path: { org_id: orgId }, query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  const writes = can('user:write')
  const now = Date.now()
  return (
    <Page
      title="Users"
      needs="user:read"
      lead="A role rules from the next request on, on open sessions too."
      actions={writes && <Opens label="Invite somebody" className="primary">{(close) => <Inviting close={close} />}</Opens>}
    >
      <ResourceList
        of={list}
        scope="user:read"
        empty={<Empty title="Nobody is here" />}
        label="Users"
        id={(user) => user.user_id}
        columns={[
          { head: 'E-mail', cell: (user) => user.email },
          { head: 'Name', cell: (user) => user.name ?? '–' },
          { head: 'Role', cell: (user) => user.role.replace('_', ' ') },
          { head: 'State', cell: (user) => <Badge>{user.status}</Badge> },
          { head: 'Second factor', cell: (user) => (user.mfa_enabled ? 'yes' : 'no') },
          { head: 'Last here', cell: (user) => <span className="nowrap">{relative(user.last_login, now)}</span> },
          { head: '', cell: (user) => writes && user.user_id !== me.user_id && user.role !== 'owner' && <Acts user={user} /> },
        ]}
      />
    </Page>
  )
}

function Acts({ user }: { user: User }) {
  const { orgId } = useSession()
  const changed = useChanged('users')
  const path = { org_id: orgId, user_id: user.user_id }
  const isSuspended = user.status === 'suspended'
  const turn = () =>
    isSuspended
      ? ask(api.POST('/v1/organizations/{org_id}/users/{user_id}/reactivate', { params: { path } }))
      : ask(api.POST('/v1/organizations/{org_id}/users/{user_id}/suspend', { params: { path } }))
  return (
    <div className="row">
      <Opens label="Role" title={`Role of ${user.email}`} className="small">
        {(close) => (
          <Form
            fields={[{ name: 'role', label: 'Role', kind: 'select', options: OPTIONS, initial: user.role }]}
            submit="Change it"
            says="Saved"
            onSubmit={(typed) =>
              ask(api.PUT('/v1/organizations/{org_id}/users/{user_id}/role', { params: { path }, body: { role: typed.choice<Assignable>('role') } })).then(changed)
            }
            onDone={close}
          />
        )}
      </Opens>
      <Opens label="Attributes" title={`Attributes of ${user.email}`} className="small">
        {(close) => <Attributes user={user} close={close} />}
      </Opens>
      {user.status !== 'invited' && (
        <Confirm
          label={isSuspended ? 'Reactivate' : 'Suspend'}
          isGentle={isSuspended}
          question={isSuspended ? `Let ${user.email} in again?` : `Suspend ${user.email}? Sessions and keys are refused until you let them in again.`}
          act={() => turn().then(changed)}
        />
      )}
      <Confirm
        label="Remove"
        question={`Remove ${user.email}? Their keys are revoked and their sessions end.`}
        act={() => ask(api.DELETE('/v1/organizations/{org_id}/users/{user_id}', { params: { path } })).then(changed)}
      />
    </div>
  )
}

/** What row filters and attribute policies know of somebody, one `name=value` a line. */
function Attributes({ user, close }: { user: User; close: () => void }) {
  const { orgId } = useSession()
  const changed = useChanged('users')
  const lines = Object.entries(user.attributes).map(([name, value]) => `${name}=${value}`)
  return (
    <Form
      fields={[{ name: 'lines', label: 'Attributes', kind: 'textarea', initial: lines.join('\n'), hint: 'One name=value a line. Row filters use them as {name}.' }]}
      submit="Save them"
      says="Saved"
      onSubmit={(typed) => {
        const pairs = typed.text('lines').split('\n').filter((line) => line.trim() !== '')
        const body = Object.fromEntries(pairs.map((line) => [line.split('=')[0]?.trim() ?? '', line.split('=').slice(1).join('=').trim()]))
        return ask(api.PUT('/v1/organizations/{org_id}/users/{user_id}/attributes', { params: { path: { org_id: orgId, user_id: user.user_id } }, body })).then(changed)
      }}
      onDone={close}
    />
  )
}

function Inviting({ close }: { close: () => void }) {
  const { orgId } = useSession()
  const changed = useChanged('users')
  const [link, setLink] = useState<string>()
  if (link) {
    return (
      <>
        <p>The invitation is mailed where mail leaves this installation. The link works once, for whoever has it:</p>
        <CodeBlock label="The invitation" text={link} />
        <footer>
          <button type="button" className="primary" onClick={close}>
            Done
          </button>
        </footer>
      </>
    )
  }
  return (
    <Form
      fields={[
        { name: 'email', label: 'E-mail', kind: 'email', required: true },
        { name: 'name', label: 'Name' },
        { name: 'role', label: 'Role', kind: 'select', options: OPTIONS, initial: 'analyst' },
      ]}
      submit="Invite"
      onSubmit={async (typed) => {
        const invitation = await ask(
          api.POST('/v1/organizations/{org_id}/users/invite', {
            params: { path: { org_id: orgId } },
            body: { email: typed.text('email'), name: typed.optional('name') ?? null, role: typed.choice<Assignable>('role') },
          }),
        )
        await changed()
        setLink(`${location.origin}/v1/auth/accept-invitation?token=${invitation.invitation_token ?? ''}`)
      }}
    />
  )
}
