/** Who is behind an id, for those who may know it: people by their address, keys by their name. */
import { useQuery } from '@tanstack/react-query'
import { api, ask } from './api/client'
import { useSession } from './session'

/** So many are known by name; others stay ids. */
const KNOWN = 200
const FRESH = 60_000

export function usePeople(): { id: string; email: string }[] {
  const { can, orgId } = useSession()
  const { data } = useQuery({
    queryKey: ['names-of-people', orgId],
    queryFn: () => ask(api.GET('/v1/organizations/{org_id}/users', { params: { path: { org_id: orgId }, query: { limit: KNOWN } } })),
    enabled: can('user:read'),
    staleTime: FRESH,
  })
  return (data?.data ?? []).map((user) => ({ id: user.user_id, email: user.email }))
}

/** The name of a person or key, if it is known. */
export function useNames(): (id: string) => string | undefined {
  const { can, environment } = useSession()
  const people = usePeople()
  const env_id = environment?.env_id ?? ''
  const { data } = useQuery({
    queryKey: ['names-of-keys', env_id],
    queryFn: () => ask(api.GET('/v1/environments/{env_id}/api-keys', { params: { path: { env_id }, query: { limit: KNOWN } } })),
    enabled: can('key:read') && env_id !== '',
    staleTime: FRESH,
  })
  const names = new Map(people.map(({ id, email }) => [id, email]))
  for (const key of data?.data ?? []) names.set(key.key_id, `key ${key.name}`)
  return (id) => names.get(id)
}
