/** A form that asks for a second factor once the platform has said that the account has one. */
import { useState } from 'react'
import { Problem } from '../api/problem'
import { Form, type Field, type Typed } from '../parts/Form'

/** The code of an authenticator, or one of the account's recovery codes. */
export interface Factor {
  totp?: string
  recovery_code?: string
}

const CODES: Record<'none' | keyof Factor, Field[]> = {
  none: [],
  totp: [{ name: 'code', label: 'Code of your authenticator', autoComplete: 'one-time-code', required: true }],
  recovery_code: [{ name: 'code', label: 'Recovery code', required: true }],
}

export function FactorForm({
  fields,
  submit,
  onSubmit,
}: {
  fields: readonly Field[]
  submit: string
  onSubmit: (typed: Typed, factor: Factor) => Promise<unknown>
}) {
  const [factor, setFactor] = useState<keyof typeof CODES>('none')
  return (
    <>
      <Form
        label={submit}
        fields={[...fields, ...CODES[factor]]}
        submit={submit}
        onSubmit={async (typed) => {
          const code = typed.optional('code')
          try {
            await onSubmit(typed, code && factor !== 'none' ? { [factor]: code } : {})
          } catch (error) {
            if (!(error instanceof Problem && error.reason === 'mfa_required' && factor === 'none')) throw error
            setFactor('totp')
          }
        }}
      />
      {factor !== 'none' && (
        <button type="button" className="link" onClick={() => setFactor(factor === 'totp' ? 'recovery_code' : 'totp')}>
          {factor === 'totp' ? 'I have a recovery code instead' : 'I have my authenticator'}
        </button>
      )}
    </>
  )
}
