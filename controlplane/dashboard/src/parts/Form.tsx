/**
 * Fields as data. What the platform refuses is shown with the field it names; a record that somebody
 * else has changed meanwhile can be loaded again; a change that asks for a fresh second factor gets it.
 */
import { useId, useState, type ChangeEvent, type FormEvent, type ReactNode } from 'react'
import { api, ask } from '../api/client'
import { problemOf, type Problem } from '../api/problem'
import { Refusal } from './Page'
import { toast } from './Toast'
import { firstChoices, isAsked } from './asked'

export interface Field {
  name: string
  label: string
  kind?: 'text' | 'email' | 'password' | 'number' | 'date' | 'datetime-local' | 'select' | 'checkbox' | 'textarea' | 'choices' | 'url'
  options?: readonly (string | { value: string; label: string })[]
  initial?: string | number | boolean | readonly string[] | null | undefined
  hint?: string
  required?: boolean
  autoComplete?: string
  /** What is likely meant; anything else may be typed. */
  suggestions?: readonly string[]
  /** Where fields stand in a row: for what is long. */
  isWide?: boolean
  /** It is asked only while each of these selects has one of these values. */
  only?: Readonly<Record<string, readonly string[]>>
}

/** What was typed: text, except of boxes. */
export class Typed {
  constructor(private readonly data: FormData) {}

  text(name: string): string {
    const value = this.data.get(name)
    return typeof value === 'string' ? value.trim() : ''
  }

  /** As it was typed, spaces too. */
  secret(name: string): string {
    const value = this.data.get(name)
    return typeof value === 'string' ? value : ''
  }

  optional(name: string): string | undefined {
    return this.text(name) || undefined
  }

  number(name: string): number | undefined {
    const text = this.text(name)
    return text === '' ? undefined : Number(text)
  }

  isChecked(name: string): boolean {
    return this.data.has(name)
  }

  all(name: string): string[] {
    return this.data.getAll(name).filter((value) => typeof value === 'string')
  }

  /** One of the options that the field has, so that it is of their type. */
  choice<T extends string>(name: string): T {
    return this.text(name) as T
  }
}

interface FormProps {
  fields: readonly Field[]
  submit: string
  onSubmit: (typed: Typed) => Promise<unknown>
  onDone?: () => void
  /** Told in a toast when it is done. */
  says?: string
  /** What to do when somebody else was faster. */
  reload?: (() => void) | undefined
  children?: ReactNode
  isInline?: boolean
  label?: string
}

export function Form({ fields, submit, onSubmit, onDone, says, reload, children, isInline, label }: FormProps) {
  const [problem, setProblem] = useState<Problem>()
  const [isBusy, setBusy] = useState(false)
  const [chosen, setChosen] = useState(() => firstChoices(fields))
  const needsCode = problem?.reason === 'step_up_required' || problem?.reason === 'wrong_code'

  const go = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const typed = new Typed(new FormData(event.currentTarget))
    setBusy(true)
    try {
      const code = typed.optional('step-up')
      if (needsCode && code) await ask(api.POST('/v1/auth/mfa/verify', { body: { totp: code } }))
      await onSubmit(typed)
      setProblem(undefined)
      if (says) toast(says)
      onDone?.()
    } catch (error) {
      setProblem(problemOf(error))
    } finally {
      setBusy(false)
    }
  }

  const choose = ({ target }: ChangeEvent<HTMLFormElement>) => {
    const changed: unknown = target
    if (changed instanceof HTMLSelectElement) setChosen({ ...chosen, [changed.name]: changed.value })
  }

  return (
    <form className={isInline ? 'inline' : undefined} onSubmit={(event) => void go(event)} onChange={choose} aria-label={label}>
      {fields.filter((field) => isAsked(field, chosen)).map((field) => (
        <Input key={field.name} field={field} problem={isAbout(problem, field.name) ? problem : undefined} />
      ))}
      {children}
      {needsCode && (
        <Input
          field={{ name: 'step-up', label: 'Code of your authenticator', autoComplete: 'one-time-code', required: true }}
          problem={undefined}
        />
      )}
      {problem && !problem.isStale && <Refusal problem={problem} />}
      {problem?.isStale && (
        <div className="refusal" role="alert">
          <p>
            <strong>Somebody else has changed this since you opened it.</strong> Nothing of yours was saved.
          </p>
          {reload && (
            <button type="button" onClick={reload}>
              Load it again
            </button>
          )}
        </div>
      )}
      <footer>
        <button type="submit" className="primary" disabled={isBusy}>
          {submit}
        </button>
      </footer>
    </form>
  )
}

/** A refusal names the member of the body that it is about: `name`, `config.role_arn`, `rules[0].table`. */
const isAbout = (problem: Problem | undefined, name: string) => problem?.field?.split(/[.[\]]+/).includes(name) ?? false

function Input({ field, problem }: { field: Field; problem: Problem | undefined }) {
  const id = useId()
  const { name, label, kind = 'text', options = [], initial, hint, required, autoComplete, suggestions, isWide } = field
  const about = hint || problem ? `${id}-about` : undefined
  const common = { id, name, required, 'aria-describedby': about, 'aria-invalid': problem ? true : undefined }
  const chosen = Array.isArray(initial) ? (initial as readonly string[]) : []
  const choices = options.map((option) => (typeof option === 'string' ? { value: option, label: option } : option))

  if (kind === 'choices') {
    return (
      <fieldset aria-describedby={about}>
        <legend>{label}</legend>
        <div className="choices">
          {choices.map((choice) => (
            <label key={choice.value} className="check">
              <input type="checkbox" name={name} value={choice.value} defaultChecked={chosen.includes(choice.value)} />
              {choice.label}
            </label>
          ))}
        </div>
        <About id={about} hint={hint} problem={problem} />
      </fieldset>
    )
  }
  if (kind === 'checkbox') {
    return (
      <div className="field">
        <label className="check">
          <input type="checkbox" {...common} defaultChecked={initial === true} /> {label}
        </label>
        <About id={about} hint={hint} problem={problem} />
      </div>
    )
  }
  const value = initial === undefined || initial === null ? undefined : String(initial)
  return (
    <div className={isWide ? 'field wide' : 'field'}>
      <label htmlFor={id}>{label}</label>
      {kind === 'select' ? (
        <select {...common} defaultValue={value}>
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      ) : kind === 'textarea' ? (
        <textarea {...common} defaultValue={value} rows={4} spellCheck={false} />
      ) : (
        <input
          {...common}
          type={kind}
          step={kind === 'number' ? 'any' : undefined}
          defaultValue={value}
          autoComplete={autoComplete ?? 'off'}
          list={suggestions && `${id}-suggestions`}
        />
      )}
      {suggestions && (
        <datalist id={`${id}-suggestions`}>
          {suggestions.map((suggestion) => (
            <option key={suggestion} value={suggestion} />
          ))}
        </datalist>
      )}
      <About id={about} hint={hint} problem={problem} />
    </div>
  )
}

function About({ id, hint, problem }: { id: string | undefined; hint: string | undefined; problem: Problem | undefined }) {
  if (!id) return null
  return (
    <p id={id} className={problem ? 'fine bad' : 'fine'}>
      {problem ? problem.message : hint}
    </p>
  )
}
