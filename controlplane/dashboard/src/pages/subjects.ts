/** Who of a cloud may come, and as what: a line each. */
import type { Shapes } from '../api/client'
import { Problem } from '../api/problem'

export type Subject = Shapes['FederatedSubject']

const BECOMES: Record<Shapes['FederatedRole'], true> = { developer: true, analyst: true, auditor: true }

const isRole = (word: string): word is Shapes['FederatedRole'] => Object.hasOwn(BECOMES, word)

/** `subject = role`; the role stands behind the last sign, for subjects have some of their own. */
export function subjectsIn(field: string, text: string): Subject[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line) => {
    const at = line.lastIndexOf('=')
    const [match, role] = [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    if (at < 1 || !match || !isRole(role)) throw Problem.typed(field, `“${line.trim()}” is no line such as: * = analyst; roles are ${Object.keys(BECOMES).join(', ')}`)
    return { match, role }
  })
}

export const linesOf = (subjects: readonly Subject[]): string => subjects.map(({ match, role }) => `${match} = ${role}`).join('\n')
