/** Rows, as whoever is signed in gets them: of a statement that they run, and of the catalogue, which the page asks for itself. */
import { api, ask, type Shapes } from './api/client'
import { whole, wholeFile } from './api/whole'
import { exact } from './exact'

type Answer = Shapes['QueryAnswer']

/** A statement of theirs, on the mainline or on a branch. */
export async function queried(envId: string, sql: string, signal?: AbortSignal, branch_id?: string): Promise<Answer> {
  const call = api.POST('/v1/environments/{env_id}/query', {
    params: { path: { env_id: envId } },
    body: { sql, ...(branch_id && { branch_id }) },
    parseAs: 'stream',
    ...(signal && { signal }),
  })
  const body = await ask(call)
  const { response } = await call
  return read(await whole(body, response.headers.get('x-query-id')))
}

/** The rows of a statement of theirs as a Parquet file. It is run once more, so it may only read. */
export async function parquet(envId: string, sql: string, branch_id: string): Promise<Blob> {
  const call = api.POST('/v1/environments/{env_id}/query', {
    params: { path: { env_id: envId } },
    body: { sql, format: 'parquet', reads_only: true, ...(branch_id && { branch_id }) },
    parseAs: 'stream',
  })
  const body = await ask(call)
  const { response } = await call
  return wholeFile(body as ReadableStream, response.headers.get('x-query-id'))
}

/** Columns by schema and table. */
export async function listed(envId: string): Promise<Answer> {
  const call = api.GET('/v1/environments/{env_id}/catalogue', { params: { path: { env_id: envId } }, parseAs: 'stream' })
  const body = await ask(call)
  const { response } = await call
  return read(await whole(body, response.headers.get('x-query-id')))
}

/** The answer, with every digit in its rows: a number that a double cannot hold stays as it was written. */
function read(text: string): Answer {
  const { rows } = exact(text) as Pick<Answer, 'rows'>
  return { ...(JSON.parse(text) as Answer), rows }
}
