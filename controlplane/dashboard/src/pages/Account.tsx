/** One's own: sessions, and the second factor. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask, type Shapes } from '../api/client'
import { time } from '../format'
import { useChanged } from '../lists'
import { Badge } from '../parts/Badge'
import { CodeBlock } from '../parts/CodeBlock'
import { Confirm, Opens } from '../parts/Dialog'
import { Form } from '../parts/Form'
import { Answered, Page } from '../parts/Page'
import { Table } from '../parts/Table'
import { useSession } from '../session'

export default function Account() {
  const { me } = useSession()
  return (
    <Page title="Account" lead={`${me.email}, ${me.role.replace('_', ' ')}`}>
      <SecondFactor />
      <Sessions />
    </Page>
  )
}

function SecondFactor() {
  const { me } = useSession()
  const changed = useChanged('me')
  return (
    <section className="card" aria-labelledby="factor">
      <h2 id="factor">
        Second factor <Badge tone={me.mfa_enabled ? 'good' : 'warn'}>{me.mfa_enabled ? 'on' : 'off'}</Badge>
      </h2>
      <p>An authenticator makes a code every 30 seconds. With one, the password alone opens nothing.</p>
      {me.mfa_enabled ? (
        <Opens key="remove" label="Remove it" className="danger" onClosed={changed}>
          {(close) => (
            <Form fields={[]} submit="Remove it" onSubmit={() => ask(api.DELETE('/v1/auth/mfa/totp', {}))} onDone={close}>
              <p>Your password alone then signs you in, and the recovery codes are void.</p>
            </Form>
          )}
        </Opens>
      ) : (
        <Opens key="set up" label="Set up an authenticator" onClosed={changed}>
          {(close) => <Enrolling close={close} />}
        </Opens>
      )}
    </section>
  )
}

function Enrolling({ close }: { close: () => void }) {
  const [enrolment, setEnrolment] = useState<Shapes['AuthenticatorEnrolment']>()
  const [codes, setCodes] = useState<string[]>()
  if (codes) {
    return (
      <>
        <p className="notice">Each of these signs you in once when the authenticator is lost. They are shown only now.</p>
        <CodeBlock label="Recovery codes" text={codes.join('\n')} />
        <footer>
          <button type="button" className="primary" onClick={close}>
            I have them
          </button>
        </footer>
      </>
    )
  }
  if (!enrolment) {
    return (
      <Form fields={[]} submit="Make a secret" onSubmit={async () => setEnrolment(await ask(api.POST('/v1/auth/mfa/totp', {})))}>
        <p>It asks for nothing until you have shown a code of it.</p>
      </Form>
    )
  }
  return (
    <>
      <p>Give this secret to your authenticator:</p>
      <CodeBlock label="The secret" text={enrolment.secret} />
      <p>
        <a href={enrolment.otpauth_uri}>Open it in an authenticator on this device</a>
      </p>
      <Form
        fields={[{ name: 'code', label: 'The code that it shows', required: true, autoComplete: 'one-time-code' }]}
        submit="Confirm"
        onSubmit={async (typed) => setCodes((await ask(api.POST('/v1/auth/mfa/totp/confirm', { body: { code: typed.text('code') } }))).recovery_codes)}
      />
    </>
  )
}

function Sessions() {
  const changed = useChanged('sessions')
  const sessions = useQuery({ queryKey: ['sessions'], queryFn: () => ask(api.GET('/v1/auth/sessions', {})) })
  return (
    <Answered of={sessions}>
      {({ data }) => (
        <Table
          label="Sessions"
          id={(session) => session.session_id}
          rows={data}
          columns={[
            { head: 'Opened (UTC)', cell: (session) => <span className="nowrap">{time(session.created_at)}</span> },
            { head: 'By', cell: (session) => session.method.replace('_', ' ') },
            { head: 'From', cell: (session) => session.source_ip ?? '–' },
            { head: 'Program', cell: (session) => <span className="fine">{session.user_agent ?? '–'}</span> },
            {
              head: '',
              cell: (session) =>
                session.current ? (
                  <Badge tone="good">this one</Badge>
                ) : (
                  <Confirm
                    label="End"
                    question="End this session? Whoever has it is signed out."
                    act={() => ask(api.DELETE('/v1/auth/sessions/{session_id}', { params: { path: { session_id: session.session_id } } })).then(changed)}
                  />
                ),
            },
          ]}
        />
      )}
    </Answered>
  )
}
