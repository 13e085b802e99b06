/** The way in: by password, by a mailed link, with a second factor where there is one. */
import { useState, type ReactNode } from 'react'
import { api, ask, signOn } from '../api/client'
import icon from '../icon.svg'
import { takeRefusal } from '../location'
import { Form, type Field } from '../parts/Form'
import { keptSession, useArrival } from '../session'
import { FactorForm } from './FactorForm'

const EMAIL: Field = { name: 'email', label: 'E-mail', kind: 'email', required: true, autoComplete: 'username' }

type Way = 'password' | 'link' | 'provider' | 'forgotten' | 'signup'

const WAYS: Record<Way, { title: string; other: string }> = {
  password: { title: 'Sign in', other: 'Sign in with a password' },
  link: { title: 'Sign in by mail', other: 'Mail me a sign-in link' },
  provider: { title: 'Sign in with your organization', other: 'Sign in with your organization’s identity provider' },
  forgotten: { title: 'Choose a new password', other: 'I forgot the password' },
  signup: { title: 'Create an organization', other: 'Create an organization' },
}

/** Why a sign-on by a provider was refused. Only codes come with the address: a text could be anybody's. */
function refusal(code: string): string {
  if (code.startsWith('SVC_ERR_403')) return 'Your identity provider knows you, and the organization does not let you in: ask one of its admins.'
  if (code.startsWith('SVC_ERR_5')) return 'The identity provider cannot be asked at the moment: try again in a minute.'
  return 'The sign-on was not accepted, or took longer than ten minutes: begin again.'
}

export function Gate() {
  const [refused] = useState(takeRefusal)
  const [way, setWay] = useState<Way>(refused ? 'provider' : 'password')
  return (
    <GateCard
      title={WAYS[way].title}
      others={(Object.keys(WAYS) as Way[])
        .filter((other) => other !== way)
        .map((other) => (
          <button key={other} type="button" className="link" onClick={() => setWay(other)}>
            {WAYS[other].other}
          </button>
        ))}
    >
      {refused && <p role="alert">{refusal(refused)}</p>}
      {way === 'password' && <ByPassword />}
      {way === 'link' && <Mailed path="/v1/auth/magic-link" />}
      {way === 'provider' && <ByProvider />}
      {way === 'forgotten' && <Mailed path="/v1/auth/forgot-password" />}
      {way === 'signup' && <Signup />}
    </GateCard>
  )
}

/** The page of somebody who is not signed in. */
export function GateCard({ title, others, children }: { title: string; others?: ReactNode; children: ReactNode }) {
  return (
    <main className="gate">
      <div>
        <div className="brand">
          <img src={icon} alt="" /> Sluice
        </div>
        <section className="card" aria-labelledby="way">
          <h1 id="way">{title}</h1>
          {!window.isSecureContext && <NeedsHttps />}
          {children}
        </section>
        {others && <p className="stack">{others}</p>}
      </div>
    </main>
  )
}

/** Browsers drop the session's cookies at such an address, whatever the password. */
function NeedsHttps() {
  return (
    <p role="alert">
      Nobody can sign in at this address: it is plain HTTP, and browsers keep a session only over HTTPS or on localhost. Open{' '}
      <code>https://{location.hostname}</code>, or ask whoever runs this installation for its address.
    </p>
  )
}

function ByPassword() {
  const arrive = useArrival()
  return (
    <FactorForm
      fields={[EMAIL, { name: 'password', label: 'Password', kind: 'password', required: true, autoComplete: 'current-password' }]}
      submit="Sign in"
      onSubmit={async (typed, factor) => {
        await ask(api.POST('/v1/auth/login', { body: { email: typed.text('email'), password: typed.secret('password'), ...factor } }))
        keptSession()
        await arrive()
      }}
    />
  )
}

function ByProvider() {
  return (
    <Form
      fields={[{ name: 'slug', label: 'Short name of the organization', required: true, autoComplete: 'organization' }]}
      submit="Go to the provider"
      onSubmit={(typed) => signOn(typed.text('slug'))}
    />
  )
}

function Mailed({ path }: { path: '/v1/auth/magic-link' | '/v1/auth/forgot-password' }) {
  const [said, setSaid] = useState<string>()
  if (said) return <p role="status">Done: {said}. The link is good once, for 15 minutes.</p>
  return (
    <Form
      fields={[EMAIL]}
      submit="Mail me the link"
      onSubmit={async (typed) => setSaid((await ask(api.POST(path, { body: { email: typed.text('email') } }))).message)}
    />
  )
}

function Signup() {
  const arrive = useArrival()
  return (
    <Form
      fields={[
        { name: 'org_name', label: 'Organization', required: true, autoComplete: 'organization' },
        { name: 'name', label: 'Your name', required: true, autoComplete: 'name' },
        EMAIL,
        { name: 'password', label: 'Password', kind: 'password', required: true, autoComplete: 'new-password' },
      ]}
      submit="Create organization"
      onSubmit={async (typed) => {
        await ask(
          api.POST('/v1/signup', {
            body: { org_name: typed.text('org_name'), name: typed.text('name'), email: typed.text('email'), password: typed.secret('password') },
          }),
        )
        keptSession()
        await arrive()
      }}
    />
  )
}
