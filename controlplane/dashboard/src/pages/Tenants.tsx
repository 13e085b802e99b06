/** Organizations that stand under this one. It counts what they do, and reaches nothing of them. */
import { api, ask, type Shapes } from '../api/client'
import { count, time } from '../format'
import { useChanged, useList } from '../lists'
import { Badge } from '../parts/Badge'
import { Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { ADMINS } from '../permissions'
import { useSession } from '../session'

export default function Tenants() {
  const { orgId } = useSession()
  const list = useList(['tenants', orgId], (cursor) =>
    ask(api.GET('/v1/organizations/{org_id}/tenants', { params: { path: { org_id: orgId }, query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  return (
    <Page
      title="Tenants"
      roles={ADMINS}
      lead="Organizations under this one, each with users, environments and a record of its own. Nothing of theirs is reached from here."
      actions={<Opens label="New tenant" className="primary">{(close) => <Founding close={close} />}</Opens>}
    >
      <ResourceList
        of={list}
        empty={<Empty title="No tenants yet"><p>A tenant is for customers of yours who must not meet: whoever makes one owns it, and signs in to it with its id as <code>org_id</code>.</p></Empty>}
        label="Tenants"
        id={(tenant) => tenant.tenant_id}
        columns={[
          { head: 'Name', cell: (tenant) => tenant.name },
          { head: 'Slug', cell: (tenant) => <code>{tenant.slug}</code> },
          { head: 'Id', cell: (tenant) => <code className="nowrap">{tenant.tenant_id}</code> },
          { head: 'State', cell: (tenant) => <Badge>{tenant.status}</Badge> },
          { head: 'Users', isNumber: true, cell: (tenant) => count(tenant.user_count) },
          { head: 'Queries today', isNumber: true, cell: (tenant) => count(tenant.query_count_today) },
          { head: 'Since (UTC)', cell: (tenant) => <span className="nowrap">{time(tenant.created_at)}</span> },
          { head: '', cell: (tenant) => <Renaming tenant={tenant} /> },
        ]}
      />
    </Page>
  )
}

function Founding({ close }: { close: () => void }) {
  const { orgId, me } = useSession()
  const changed = useChanged('tenants')
  return (
    <Form
      fields={[
        { name: 'name', label: 'Name', required: true },
        { name: 'slug', label: 'Slug', required: true, hint: 'Small letters, digits and hyphens. It stays.' },
        { name: 'billing_email', label: 'Who is billed', kind: 'email', required: true, initial: me.email },
      ]}
      submit="Make it"
      onSubmit={(typed) =>
        ask(
          api.POST('/v1/organizations/{org_id}/tenants', {
            params: { path: { org_id: orgId } },
            body: { name: typed.text('name'), slug: typed.text('slug'), billing_email: typed.text('billing_email') },
          }),
        ).then(changed)
      }
      onDone={close}
    />
  )
}

function Renaming({ tenant }: { tenant: Shapes['Tenant'] }) {
  const { orgId } = useSession()
  const changed = useChanged('tenants')
  const path = { org_id: orgId, tenant_id: tenant.tenant_id }
  return (
    <Opens label="Rename" title={`Rename ${tenant.name}`} className="small">
      {(close) => (
        <Form
          fields={[{ name: 'name', label: 'Name', required: true, initial: tenant.name }]}
          submit="Rename it"
          says="Saved"
          onSubmit={(typed) => ask(api.PUT('/v1/organizations/{org_id}/tenants/{tenant_id}', { params: { path }, body: { name: typed.text('name') } })).then(changed)}
          onDone={close}
        />
      )}
    </Opens>
  )
}
