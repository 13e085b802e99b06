/** Who did something, as records name them: `user:…`, `agent:…`, `system`. */
import { useNames } from '../names'
import { useSession } from '../session'

export function Actor({ of }: { of: string }) {
  const { me } = useSession()
  const named = useNames()
  const [kind, id] = of.split(':', 2)
  if (of === `user:${me.user_id}`) return <>you</>
  return kind === 'user' && id ? <span title={of}>{named(id) ?? `user ${id.slice(-8)}`}</span> : <>{of.replace(':', ' ')}</>
}
