/** A statement, run as whoever is signed in. */
import { api, ask, type Shapes } from './api/client'

export async function queried(envId: string, sql: string, signal?: AbortSignal): Promise<Shapes['QueryAnswer']> {
  const answer = await ask(
    api.POST('/v1/environments/{env_id}/query', { params: { path: { env_id: envId } }, body: { sql }, ...(signal && { signal }) }),
  )
  // Of the kinds that the document names, no other than JSON is asked for.
  return answer as Shapes['QueryAnswer']
}
