/** The organization's OpenID provider. Its secret goes in and is never shown. */
import { useQuery } from '@tanstack/react-query'
import { api, ask, type Shapes } from '../api/client'
import { time, words } from '../format'
import { useChanged } from '../lists'
import { CodeBlock } from '../parts/CodeBlock'
import { Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Answered, Empty, orNothing } from '../parts/Page'
import { either, OWNER } from '../permissions'
import { useSession } from '../session'
import { SignOnOnly } from './SignOnOnly'

type SingleSignOn = Shapes['SingleSignOn']
type DefaultRole = Shapes['DefaultRole']

const BECOMES: Record<DefaultRole, true> = { analyst: true, developer: true, auditor: true }

export function IdentityProvider() {
  const { orgId, is } = useSession()
  const provider = useQuery({
    queryKey: ['sso', orgId],
    queryFn: () => orNothing(ask(api.GET('/v1/organizations/{org_id}/sso', { params: { path: { org_id: orgId } } }))),
  })
  const names = is(OWNER)
  return (
    <Answered of={provider}>
      {(one) => (
        <>
          {one ? <><About provider={one} /><SignOnOnly /></> : <Empty title="No identity provider yet"><p>People sign in with a password or a mailed link. An OpenID provider of yours can vouch for them instead.</p></Empty>}
          {names ? <Acts provider={one} /> : <p className="fine">The role {either(OWNER)} names it: who controls the provider can be anybody in the organization.</p>}
        </>
      )}
    </Answered>
  )
}

function About({ provider }: { provider: SingleSignOn }) {
  return (
    <section className="card" aria-labelledby="provider">
      <h2 id="provider">
        <code>{provider.issuer}</code>
      </h2>
      <dl className="facts">
        <dt>Client</dt>
        <dd>
          <code>{provider.client_id}</code>
        </dd>
        <dt>Is believed for</dt>
        <dd>{provider.email_domains.join(', ')}</dd>
        <dt>Whom it brings in is</dt>
        <dd>{provider.default_role}</dd>
        <dt>Changed (UTC)</dt>
        <dd>{time(provider.updated_at)}</dd>
      </dl>
      <p className="fine">The provider has to allow this address:</p>
      <CodeBlock label="Redirect address" text={provider.redirect_uri} />
      <p className="fine">People begin here:</p>
      <CodeBlock label="Sign-on address" text={provider.sign_on_url} />
    </section>
  )
}

function Acts({ provider }: { provider: SingleSignOn | null }) {
  const { orgId } = useSession()
  const changed = useChanged('sso', 'organization')
  const params = { path: { org_id: orgId } }
  return (
    <div className="row">
      <Opens label={provider ? 'Change it' : 'Name a provider'} title="Identity provider" className="primary">
        {(close) => (
          <Form
            fields={[
              { name: 'issuer', label: 'Issuer', kind: 'url', required: true, initial: provider?.issuer, hint: 'Its address, as its discovery document has it' },
              { name: 'client_id', label: 'Client', required: true, initial: provider?.client_id },
              { name: 'client_secret', label: 'Secret of the client', kind: 'password', required: !provider, autoComplete: 'off', ...(provider && { hint: 'Empty: it stays, where the issuer does' }) },
              { name: 'email_domains', label: 'Domains it is believed for', required: true, initial: provider?.email_domains.join(', ') },
              { name: 'default_role', label: 'Whom it brings in is', kind: 'select', options: Object.keys(BECOMES), initial: provider?.default_role },
            ]}
            submit="Save it"
            says="Saved"
            onSubmit={(typed) => {
              const client_secret = typed.secret('client_secret')
              const body = {
                issuer: typed.text('issuer'),
                client_id: typed.text('client_id'),
                email_domains: words(typed.text('email_domains')),
                default_role: typed.choice<DefaultRole>('default_role'),
                ...(client_secret && { client_secret }),
              }
              return ask(api.PUT('/v1/organizations/{org_id}/sso', { params, body })).then(changed)
            }}
            onDone={close}
          />
        )}
      </Opens>
      {provider && (
        <Opens label="Let it go" className="danger">
          {(close) => (
            <Form fields={[]} submit="Let it go" onSubmit={() => ask(api.DELETE('/v1/organizations/{org_id}/sso', { params })).then(changed)} onDone={close}>
              <p>Whoever came by it is signed out.</p>
            </Form>
          )}
        </Opens>
      )}
    </div>
  )
}
