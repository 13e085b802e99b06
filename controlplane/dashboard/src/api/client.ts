/** The one way to the platform: its public API, by the session in the browser's cookies. */
import createClient from 'openapi-fetch'
import type { components, paths } from './schema'
import { Problem } from './problem'

export type Shapes = components['schemas']

const CSRF = '__Host-sluice_csrf'

/** The cookie that only our own page can read. */
export function csrf(cookies: string): string | undefined {
  const pair = cookies.split('; ').find((cookie) => cookie.startsWith(`${CSRF}=`))
  return pair?.slice(CSRF.length + 1)
}

function sent(request: Request): Promise<Response> {
  request.headers.set('X-Requested-With', 'sluice-dashboard')
  const token = csrf(document.cookie)
  if (token) request.headers.set('X-CSRF-Token', token)
  return fetch(request)
}

/** One refresh at a time: a refresh token is good once. */
let refreshing: Promise<Response> | undefined

function refresh(body: { org_id?: string }): Promise<Response> {
  refreshing ??= sent(
    new Request('/v1/auth/token/refresh', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  ).finally(() => {
    refreshing = undefined
  })
  return refreshing
}

/** The session goes on in another organization of whoever is signed in. */
export async function enter(orgId: string): Promise<void> {
  while (refreshing) await refreshing.catch(() => undefined)
  const response = await refresh({ org_id: orgId }).catch((cause: unknown) => {
    throw Problem.unreachable(cause)
  })
  if (!response.ok) throw await Problem.of(response.clone())
}

/** Whether a refusal says that the token is over, and not that somebody is not who they say. */
async function isOver(response: Response): Promise<boolean> {
  if (response.status !== 401 || !csrf(document.cookie)) return false
  const problem = await Problem.of(response.clone())
  return ['SVC_ERR_401_EXPIRED_TOKEN', 'SVC_ERR_401_MISSING_AUTH'].includes(problem.stableCode)
}

async function patient(request: Request): Promise<Response> {
  const again = request.clone()
  const response = await sent(request)
  return (await isOver(response)) && (await refresh({})).ok ? sent(again) : response
}

export const api = createClient<paths>({ baseUrl: location.origin, fetch: patient })

/** The answer, or the [`Problem`] that was answered instead. */
export async function ask<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<NonNullable<T>> {
  const { data, error, response } = await call.catch((cause: unknown) => {
    throw Problem.unreachable(cause)
  })
  if (!response.ok) throw Problem.read(response, error)
  return data as NonNullable<T>
}

/** The version that a change is meant for; the platform refuses it if there is a later one. */
export const ifMatch = (record: { updated_at: string }) => ({ 'If-Match': `W/"${record.updated_at}"` })
