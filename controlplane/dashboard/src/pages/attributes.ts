/** Attributes of somebody, as they are typed. */
import { Problem } from '../api/problem'

/** `region = EU`, a line each. */
export function attributesIn(field: string, text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const pairs = lines.map((line) => {
    const at = line.indexOf('=')
    const name = line.slice(0, at).trim()
    if (at < 1 || !name) throw Problem.typed(field, `“${line.trim()}” is no line such as: region = EU`)
    return [name, line.slice(at + 1).trim()] as const
  })
  return Object.fromEntries(pairs)
}
