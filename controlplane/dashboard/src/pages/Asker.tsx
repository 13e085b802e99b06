/** Who asked a query: a person or a key by name where that may be known, as whom, and from which origin. */
import type { Shapes } from '../api/client'
import { useNames } from '../names'

export function Asker({ of: entry }: { of: Shapes['QueryEntry'] }) {
  const named = useNames()
  const id = entry.user_id ?? entry.key_id ?? '–'
  const name = named(id) ?? (entry.key_id && named(entry.key_id))
  return (
    <>
      {name ? <span title={id} className="breaks">{name}</span> : <code title={id}>{id.slice(-8)}</code>}{' '}
      <span className="fine nowrap">
        {entry.role.replaceAll('_', ' ')} by {entry.origin}
        {entry.agent_metadata?.agent_id && `, ${entry.agent_metadata.agent_id}`}
      </span>
    </>
  )
}
