/** JSON with every digit. */

/** What newer browsers hand to a reviver: the number as it was written. */
type Written = { source?: string } | undefined

/** The value; a number that a double cannot hold stays as it was written. */
export function exact(text: string): unknown {
  const reviver = (_: string, value: unknown, written?: Written) =>
    typeof value === 'number' && written?.source && String(value) !== written.source ? written.source : value
  return JSON.parse(text, reviver)
}
