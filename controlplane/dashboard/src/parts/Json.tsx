/** JSON that an agent or a program left, folded away unless it is what was asked for. */
import { CodeBlock } from './CodeBlock'

export function Json({ value, label, isOpen = false, empty }: { value: unknown; label: string; isOpen?: boolean; empty?: string }) {
  const isNothing = value == null || (typeof value === 'object' && Object.keys(value).length === 0)
  if (isNothing) return empty ? <p>{empty}</p> : null
  return (
    <details open={isOpen}>
      <summary>{label}</summary>
      <CodeBlock label={label} text={JSON.stringify(value, null, 2)} />
    </details>
  )
}
