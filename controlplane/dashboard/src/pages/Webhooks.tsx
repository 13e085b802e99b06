/** Who is told of events, and how that went. */
import { useState, type ReactNode } from 'react'
import { api, ask, ifMatch, type Shapes } from '../api/client'
import types from '../api/webhookTypes.json'
import { time } from '../format'
import { useChanged, useList } from '../lists'
import { Badge } from '../parts/Badge'
import { CodeBlock } from '../parts/CodeBlock'
import { Confirm, Opens } from '../parts/Dialog'
import { Form, type Field } from '../parts/Form'
import { Empty, Page } from '../parts/Page'
import { ResourceList } from '../parts/ResourceList'
import { Tabs } from '../parts/Tabs'
import { useSession } from '../session'

type Webhook = Shapes['Webhook']

const ADDRESS: Field = { name: 'url', label: 'Address', kind: 'url', required: true, hint: 'https://…' }

export default function Webhooks() {
  return (
    <Page
      title="Webhooks"
      needs="webhook:read"
      lead="Each delivery is signed, and tried again when it fails. A notice that was given up can be sent again from here."
    >
      <Tabs
        label="Webhooks"
        tabs={[
          { name: 'Of events', panel: () => <OfEvents /> },
          { name: 'Of notices', panel: () => <OfNotices /> },
          { name: 'Deliveries of notices', panel: () => <Deliveries /> },
        ]}
      />
    </Page>
  )
}

function OfEvents() {
  const { orgId, can } = useSession()
  const list = useList(['webhooks', orgId], (cursor) =>
    ask(api.GET('/v1/organizations/{org_id}/webhooks', { params: { path: { org_id: orgId }, query: { limit: 100, ...(cursor && { cursor }) } } })),
  )
  const writes = can('webhook:write')
  return (
    <>
      {writes && <div><Opens label="New webhook" className="primary">{(close) => <Making close={close} />}</Opens></div>}
      <Receivers list={list} acts={(webhook) => writes && <Acts webhook={webhook} />} />
    </>
  )
}

function OfNotices() {
  const { can } = useSession()
  const changed = useChanged('notice-webhooks')
  const list = useList(['notice-webhooks'], (cursor) => ask(api.GET('/v1/webhooks', { params: { query: { limit: 100, ...(cursor && { cursor }) } } })))
  const writes = can('webhook:write')
  return (
    <>
      {writes && (
        <div>
          <Opens label="New receiver of notices" className="primary">
            {(close) => (
              <Form
                fields={[
                  ADDRESS,
                  { name: 'secret', label: 'Secret that signs', kind: 'password', required: true, autoComplete: 'new-password', hint: '24 to 128 visible characters.' },
                  { name: 'events', label: 'Notices', kind: 'choices', options: types.notices },
                ]}
                submit="Make it"
                onSubmit={(typed) =>
                  ask(api.POST('/v1/webhooks', { body: { url: typed.text('url'), secret: typed.secret('secret'), events: typed.all('events') } })).then(changed)
                }
                onDone={close}
              />
            )}
          </Opens>
        </div>
      )}
      <Receivers
        list={list}
        acts={(webhook) =>
          writes && (
            <Confirm
              label="Delete"
              question={`Tell ${webhook.url} nothing more?`}
              act={() => ask(api.DELETE('/v1/webhooks/{webhook_id}', { params: { path: { webhook_id: webhook.webhook_id }, header: ifMatch(webhook) } })).then(changed)}
            />
          )
        }
      />
    </>
  )
}

function Receivers({ list, acts }: { list: ReturnType<typeof useList<Webhook>>; acts: (webhook: Webhook) => ReactNode }) {
  return (
    <ResourceList
      of={list}
      scope="webhook:read"
      empty={<Empty title="Nobody is told yet"><p>A webhook is an address of yours that is posted to.</p></Empty>}
      label="Receivers"
      id={(webhook) => webhook.webhook_id}
      columns={[
        { head: 'Address', cell: (webhook) => <code>{webhook.url}</code> },
        { head: 'Told of', cell: (webhook) => <span className="fine">{webhook.events.join(', ')}</span> },
        { head: 'State', cell: (webhook) => <Badge>{webhook.status}</Badge> },
        { head: 'Last delivered', cell: (webhook) => <span className="nowrap">{time(webhook.last_delivered_at)}</span> },
        { head: 'Failures', isNumber: true, cell: (webhook) => webhook.failure_count },
        { head: '', cell: acts },
      ]}
    />
  )
}

function Acts({ webhook }: { webhook: Webhook }) {
  const { orgId } = useSession()
  const changed = useChanged('webhooks')
  const path = { org_id: orgId, webhook_id: webhook.webhook_id }
  const [told, setTold] = useState<string>()
  return (
    <div className="row">
      <Opens label="Test" title={`Test ${webhook.url}`} className="small">
        {() => (
          <Form
            fields={[]}
            submit="Send a test"
            onSubmit={async () => {
              setTold(undefined)
              const test = await ask(api.POST('/v1/organizations/{org_id}/webhooks/{webhook_id}/test', { params: { path } }))
              await changed()
              setTold(`${test.delivered ? 'Delivered' : 'Not delivered'}: answered ${test.status_code ?? 'nothing'} in ${test.response_time_ms} ms`)
            }}
          >
            <p role="status">{told ?? 'An event that means nothing is posted to it now.'}</p>
          </Form>
        )}
      </Opens>
      <Opens label="Rotate secret" title={`Rotate the secret of ${webhook.url}`} className="small">
        {(close) => <Rotating webhook={webhook} close={close} />}
      </Opens>
      <Confirm
        label="Delete"
        question={`Tell ${webhook.url} nothing more?`}
        act={() => ask(api.DELETE('/v1/organizations/{org_id}/webhooks/{webhook_id}', { params: { path, header: ifMatch(webhook) } })).then(changed)}
      />
    </div>
  )
}

function Once({ secret, close }: { secret: string; close: () => void }) {
  return (
    <>
      <p className="notice">This is the only time that the secret is shown. It signs every delivery: HMAC-SHA-256 of the body, in X-Service-Signature.</p>
      <CodeBlock label="The signing secret" text={secret} />
      <footer>
        <button type="button" className="primary" onClick={close}>
          I have it
        </button>
      </footer>
    </>
  )
}

/** Until the hours are over deliveries are signed by both. */
function Rotating({ webhook, close }: { webhook: Webhook; close: () => void }) {
  const { orgId } = useSession()
  const changed = useChanged('webhooks')
  const [secret, setSecret] = useState<string>()
  if (secret) return <Once secret={secret} close={close} />
  return (
    <Form
      fields={[{ name: 'hours', label: 'Hours that the old secret signs too', kind: 'number', initial: 24, required: true }]}
      submit="Rotate it"
      onSubmit={async (typed) => {
        const rotated = await ask(
          api.POST('/v1/organizations/{org_id}/webhooks/{webhook_id}/rotate-secret', {
            params: { path: { org_id: orgId, webhook_id: webhook.webhook_id } },
            body: { grace_period_hours: typed.number('hours') ?? null },
          }),
        )
        await changed()
        if (rotated.signing_secret) setSecret(rotated.signing_secret)
      }}
    />
  )
}

function Making({ close }: { close: () => void }) {
  const { orgId } = useSession()
  const changed = useChanged('webhooks')
  const [secret, setSecret] = useState<string>()
  if (secret) return <Once secret={secret} close={close} />
  return (
    <Form
      fields={[
        ADDRESS,
        { name: 'description', label: 'What it is for' },
        { name: 'events', label: 'Events', kind: 'choices', options: types.organization },
      ]}
      submit="Make it"
      onSubmit={async (typed) => {
        const made = await ask(
          api.POST('/v1/organizations/{org_id}/webhooks', {
            params: { path: { org_id: orgId } },
            body: { url: typed.text('url'), events: typed.all('events'), description: typed.optional('description') ?? null },
          }),
        )
        await changed()
        if (made.signing_secret) setSecret(made.signing_secret)
        else close()
      }}
    />
  )
}

function Deliveries() {
  const { can } = useSession()
  const changed = useChanged('deliveries')
  const list = useList(['deliveries'], (cursor) => ask(api.GET('/v1/webhooks/deliveries', { params: { query: { limit: 50, ...(cursor && { cursor }) } } })))
  return (
    <ResourceList
      of={list}
      scope="webhook:read"
      empty={<Empty title="Nothing was delivered yet" />}
      label="Deliveries"
      id={(delivery) => delivery.delivery_id}
      columns={[
        { head: 'When (UTC)', cell: (delivery) => <span className="nowrap">{time(delivery.created_at)}</span> },
        { head: 'Event', cell: (delivery) => <code>{delivery.event_type}</code> },
        { head: 'State', cell: (delivery) => <Badge>{delivery.status}</Badge> },
        { head: 'Tries', isNumber: true, cell: (delivery) => delivery.attempts },
        { head: 'Answered', isNumber: true, cell: (delivery) => delivery.last_status_code ?? '–' },
        { head: 'Trouble', cell: (delivery) => delivery.last_error ?? '–' },
        {
          head: '',
          cell: (delivery) =>
            can('webhook:write') &&
            delivery.status === 'failed' && (
              <Confirm
                label="Send again"
                isGentle
                question={`Send ${delivery.event_type} again, to whoever did not take it? They know it by its event id.`}
                act={() => ask(api.POST('/v1/webhooks/deliveries/{event_id}/replay', { params: { path: { event_id: delivery.event_id } } })).then(changed)}
              />
            ),
        },
      ]}
    />
  )
}
