/** Under which keys of a Secret the parts of credentials are, as somebody types it. */
import type { Shapes } from './api/client'
import { Problem } from './api/problem'

export type SecretKeys = Shapes['StorageSecretKeys']

const PARTS = ['access_key_id', 'secret_access_key', 'session_token', 'user', 'password', 'sas_token'] as const

/** Of `part=key`, one in a line; null where nothing is typed: each part is under its own name then. */
export function secretKeys(typed: string): SecretKeys | null {
  const keys: SecretKeys = {}
  const lines = typed.split('\n').filter((line) => line.trim() !== '')
  for (const line of lines) {
    const [said, key, ...more] = line.split('=').map((word) => word.trim())
    const part = PARTS.find((known) => known === said)
    if (!part || !key || more.length > 0) {
      throw Problem.typed('keys', `a line is part=key, and a part is ${PARTS.join(', ')}`)
    }
    if (keys[part]) throw Problem.typed('keys', `${part} has one key`)
    keys[part] = key
  }
  return lines.length > 0 ? keys : null
}
