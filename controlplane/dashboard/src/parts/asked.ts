/** Which fields of a form are asked, by what its selects have. */
import type { Field } from './Form'

type Choices = Readonly<Record<string, string>>

/** What each select has before anybody has changed it. */
export function firstChoices(fields: readonly Field[]): Choices {
  const selects = fields.filter((field) => field.kind === 'select')
  return Object.fromEntries(selects.map(({ name, initial, options }) => [name, String(initial ?? valueOf(options?.[0]))]))
}

const valueOf = (option: string | { value: string } | undefined) => (typeof option === 'object' ? option.value : (option ?? ''))

export function isAsked({ only = {} }: Pick<Field, 'only'>, chosen: Choices): boolean {
  return Object.entries(only).every(([name, values]) => chosen[name] === undefined || values.includes(chosen[name]))
}
