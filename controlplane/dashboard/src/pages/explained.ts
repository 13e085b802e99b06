/** The explanation of a statement, without running it: for oneself, or for somebody imagined. */
import { useQuery } from '@tanstack/react-query'
import { api, ask, type Shapes } from '../api/client'
import { ADMINS } from '../permissions'
import { useSession } from '../session'

export type RunAs = Shapes['RunAs']
/** Only who writes policies is told what they did. */
export type Explained = Shapes['Transpiled'] & Partial<Omit<Shapes['Tested'], keyof Shapes['Transpiled']>>

export function useExplained(envId: string, sql: string, as: RunAs) {
  const { is } = useSession()
  const params = { path: { env_id: envId } }
  return useQuery({
    queryKey: ['explained', envId, sql, as],
    queryFn: async (): Promise<Explained> =>
      is(ADMINS)
        ? ask(api.POST('/v1/environments/{env_id}/policies/test', { params, body: { sql, as } }))
        : ask(api.POST('/v1/environments/{env_id}/transpile', { params, body: { sql } })),
    // A policy may have changed since.
    staleTime: 0,
  })
}
