/** Facts of a gate, as somebody types them. */
import { Problem } from '../api/problem'

/** What a gate asks for, to be filled in: `tests.pass_rate` as `{"tests": {"pass_rate": null}}`. */
export function blank(keys: readonly string[]): Record<string, unknown> {
  const facts: Record<string, unknown> = {}
  for (const key of keys) {
    const path = key.split('.')
    const last = path.pop() ?? key
    let at = facts
    for (const part of path) {
      const next = at[part]
      at = (isObject(next) ? next : (at[part] = {})) as Record<string, unknown>
    }
    at[last] ??= null
  }
  return facts
}

/** The object that a field holds as JSON, or a refusal that names the field. */
export function objectIn(field: string, text: string): Record<string, unknown> {
  const value = parsed(field, text)
  if (!isObject(value)) throw Problem.typed(field, 'this is JSON, but no object')
  return value
}

export function listIn(field: string, text: string): unknown[] {
  const value = parsed(field, text)
  if (!Array.isArray(value)) throw Problem.typed(field, 'this is JSON, but no list')
  return value
}

function parsed(field: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw Problem.typed(field, `this is no JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
