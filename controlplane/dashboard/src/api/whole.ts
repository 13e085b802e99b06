/** Bodies that are read to their end, or not at all. */
import { Problem } from './problem'

/** All of an answer; one that breaks off on its way is none. */
export function whole(body: ReadableStream | null, queryId: string | null): Promise<string> {
  return orIncomplete(new Response(body).text(), queryId)
}

/** The same of an answer that is a file. */
export function wholeFile(body: ReadableStream | null, queryId: string | null): Promise<Blob> {
  return orIncomplete(new Response(body).blob(), queryId)
}

function orIncomplete<T>(read: Promise<T>, queryId: string | null): Promise<T> {
  return read.catch((cause: unknown) => {
    throw Problem.incomplete(cause, queryId)
  })
}
