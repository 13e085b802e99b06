/** Bodies that are read to their end, or not at all. */
import { Problem } from './problem'

/** All of an answer; one that breaks off on its way is none. */
export function whole(body: ReadableStream | null, queryId: string | null): Promise<string> {
  return new Response(body).text().catch((cause: unknown) => {
    throw Problem.incomplete(cause, queryId)
  })
}
