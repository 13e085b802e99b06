/** Who did something, as records name them: `user:…`, `agent:…`, `system`. */
import { useSession } from '../session'

export function Actor({ of }: { of: string }) {
  const { me } = useSession()
  const [kind, id] = of.split(':', 2)
  if (of === `user:${me.user_id}`) return <>you</>
  return kind === 'user' && id ? <span title={of}>user {id.slice(-8)}</span> : <>{of.replace(':', ' ')}</>
}
