/** How every kind of client gets in, with what is true of this environment. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask, type Shapes } from '../api/client'
import { CodeBlock } from '../parts/CodeBlock'
import { Form } from '../parts/Form'
import { Answered, Page } from '../parts/Page'
import { Tabs } from '../parts/Tabs'
import { useEnvironment, useSession } from '../session'
import { snippets } from './snippets'

export default function Connect() {
  const { orgId } = useSession()
  const { env_id } = useEnvironment()
  const [key, setKey] = useState<string>()
  const connection = useQuery({
    queryKey: ['connection', env_id],
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}/environments/{env_id}/connection-info', { params: { path: { org_id: orgId, env_id } } })),
  })
  return (
    <Page title="Connect" needs="environment:read" lead="The same key, the same rows, masks and refusals over every protocol.">
      <KeyInPlace taken={key} take={setKey} />
      <Answered of={connection}>{(info) => <Ways info={info} apiKey={key} />}</Answered>
    </Page>
  )
}

function Ways({ info, apiKey }: { info: Shapes['ConnectionInfo']; apiKey: string | undefined }) {
  const tabs = snippets(info, apiKey, location.origin).map(({ name, text, note }) => ({
    name,
    panel: () => (
      <>
        <CodeBlock label={name} text={text} />
        {note && <p className="fine">{note}</p>}
      </>
    ),
  }))
  return <Tabs label="Clients" tabs={tabs} />
}

/** A key is shown once, so it is made here to be in what is copied. */
function KeyInPlace({ taken, take }: { taken: string | undefined; take: (key: string) => void }) {
  const { can } = useSession()
  const { env_id } = useEnvironment()
  if (taken) {
    return (
      <p className="notice" role="status">
        The new key is in the lines below. It is shown until you leave this page, and never again.
      </p>
    )
  }
  if (!can('key:write')) return <p className="fine">Put a key of yours where the lines say YOUR_KEY; an owner or admin makes one.</p>
  return (
    <section className="card" aria-labelledby="new-key">
      <h2 id="new-key">A key for these lines</h2>
      <Form
        isInline
        fields={[
          { name: 'name', label: 'Name of the key', required: true, initial: 'my-machine' },
          {
            name: 'scope',
            label: 'It may',
            kind: 'select',
            options: [
              { value: 'query:read', label: 'read' },
              { value: 'query:write', label: 'read and write' },
            ],
          },
          { name: 'days', label: 'Expires in days', kind: 'number', initial: 30, required: true },
        ]}
        submit="Make a key"
        onSubmit={async (typed) => {
          const scopes = typed.text('scope') === 'query:write' ? ['query:read', 'query:write'] : ['query:read']
          const made = await ask(
            api.POST('/v1/environments/{env_id}/api-keys', {
              params: { path: { env_id } },
              body: { name: typed.text('name'), scopes, expires_in_days: typed.number('days') ?? null },
            }),
          )
          if (made.key) take(made.key)
        }}
      />
    </section>
  )
}
