/** Where the links of mails lead: fetching one does nothing, its button does. */
import { useEffect, useState, type ReactNode } from 'react'
import { api, ask } from '../api/client'
import type { Field, Typed } from '../parts/Form'
import { keptSession } from '../session'
import { FactorForm, type Factor } from './FactorForm'
import { GateCard } from './Gate'

interface Link {
  title: string
  lead?: string
  submit: string
  fields: readonly Field[]
  send: (token: string, typed: Typed, factor: Factor) => Promise<unknown>
  /** Said when it is done; without it whoever followed the link is signed in by it. */
  done?: string
}

const password = (label: string, autoComplete: string): Field => ({ name: 'password', label, kind: 'password', required: true, autoComplete })

/** By the path of the link, which is also where its button posts. */
const LINKS: Record<string, Link> = {
  '/v1/auth/magic-link/callback': {
    title: 'Sign in to Sluice',
    submit: 'Sign in',
    fields: [],
    send: (token, _, factor) => ask(api.POST('/v1/auth/magic-link/callback', { body: { token, ...factor } })),
  },
  '/v1/auth/verify-email': {
    title: 'Confirm your e-mail address',
    submit: 'Confirm',
    fields: [],
    send: (token) => ask(api.POST('/v1/auth/verify-email', { body: { token } })),
    done: 'Your address is confirmed.',
  },
  '/v1/auth/reset-password': {
    title: 'Choose a new password',
    lead: 'Everybody who is signed in to your account is signed out by it.',
    submit: 'Change the password',
    fields: [password('New password', 'new-password')],
    send: (token, typed) => ask(api.POST('/v1/auth/reset-password', { body: { token, password: typed.secret('password') } })),
    done: 'Your password is changed.',
  },
  '/v1/auth/accept-invitation': {
    title: 'Accept the invitation',
    lead: 'It is for the address that it was mailed to. If that has an account here already, give its password.',
    submit: 'Accept',
    fields: [
      { name: 'name', label: 'Your name', autoComplete: 'name' },
      password('Your password, or one for your new account', 'current-password'),
    ],
    send: (token, typed, factor) =>
      ask(api.POST('/v1/auth/accept-invitation', { body: { token, password: typed.secret('password'), name: typed.optional('name') ?? null, ...factor } })),
  },
}

/** The page of the link that was followed, if it was one. */
export function mailedLink(): ReactNode {
  const link = LINKS[location.pathname]
  return link && <MailedLink link={link} token={new URLSearchParams(location.search).get('token') ?? ''} />
}

function MailedLink({ link, token }: { link: Link; token: string }) {
  const [isDone, setDone] = useState(false)
  useEffect(() => {
    document.title = `${link.title} · Sluice`
  }, [link])
  return (
    <GateCard title={link.title}>
      {isDone ? (
        <>
          <p role="status">{link.done}</p>
          <p>
            <a href="/">Go to the dashboard</a>
          </p>
        </>
      ) : (
        <>
          {link.lead && <p>{link.lead}</p>}
          <FactorForm
            fields={link.fields}
            submit={link.submit}
            onSubmit={async (typed, factor) => {
              await link.send(token, typed, factor)
              if (link.done) {
                setDone(true)
                return
              }
              keptSession()
              location.replace('/')
            }}
          />
        </>
      )}
    </GateCard>
  )
}
