/** What an agent or a program left as JSON, as people read it; nothing where there is nothing. */
import { CodeBlock } from './CodeBlock'

export function Json({ value, label }: { value: unknown; label: string }) {
  const isNothing = value == null || (typeof value === 'object' && Object.keys(value).length === 0)
  return isNothing ? null : <CodeBlock label={label} text={JSON.stringify(value, null, 2)} />
}
