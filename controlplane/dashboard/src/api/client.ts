/** The one way to the platform: its public API, by the session in the browser's cookies. */
import createClient from 'openapi-fetch'
import type { components, paths } from './schema'
import { keepPlace } from '../location'
import { Problem } from './problem'
import { Refresher } from './refresh'
import { upload, type SendMethod, type Watch } from './upload'

export type Shapes = components['schemas']

const CSRF = '__Host-sluice_csrf'

/** The cookie that only our own page can read. */
export function csrf(cookies: string): string | undefined {
  const pair = cookies.split('; ').find((cookie) => cookie.startsWith(`${CSRF}=`))
  return pair?.slice(CSRF.length + 1)
}

/** What each request of the page says of where it comes from. */
function ownHeaders(): Headers {
  const headers = new Headers({ 'X-Requested-With': 'sluice-dashboard' })
  const token = csrf(document.cookie)
  if (token) headers.set('X-CSRF-Token', token)
  return headers
}

function sent(request: Request): Promise<Response> {
  ownHeaders().forEach((value, name) => request.headers.set(name, value))
  return fetch(request)
}

const session = new Refresher({
  mark: () => csrf(document.cookie),
  // Where there are no locks the page is no secure context, and has no session either.
  alone: (work) =>
    navigator.locks
      ? new Promise((resolve, reject) => void navigator.locks.request('sluice.refresh', () => work().then(resolve, reject)))
      : work(),
  send: (body) =>
    sent(
      new Request('/v1/auth/token/refresh', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    ),
})

/** The session goes on in another organization of whoever is signed in. */
export async function enter(orgId: string): Promise<void> {
  const response = await session.enter(orgId).catch((cause: unknown) => {
    throw Problem.unreachable(cause)
  })
  if (!response.ok) throw await Problem.of(response.clone())
}

let sayOver: () => void = () => undefined

/** Calls back when the platform says that nobody is signed in any more. */
export function onSessionOver(listener: () => void): void {
  sayOver = listener
}

/** Codes that say that the session's token is over, and not that somebody is not who they say. */
const OVER = ['SVC_ERR_401_EXPIRED_TOKEN', 'SVC_ERR_401_MISSING_AUTH', 'SVC_ERR_401_INVALID_TOKEN']

async function isOver(response: Response): Promise<boolean> {
  return response.status === 401 && OVER.includes((await Problem.of(response.clone())).stableCode)
}

async function patient(request: Request): Promise<Response> {
  const again = request.clone()
  const mark = csrf(document.cookie)
  const response = await sent(request)
  if (!(await isOver(response))) return response
  const outcome = await session.renew(mark)
  if (outcome === 'later') return response
  const last = outcome === 'renewed' ? await sent(again) : response
  if (await isOver(last)) sayOver()
  return last
}

/** Off to the identity provider of an organization, whose way back leads into the dashboard. */
export async function signOn(slug: string): Promise<void> {
  const path = `/v1/auth/sso/${encodeURIComponent(slug)}`
  // Whether there is one is asked first: what it refuses belongs on this page, not in place of it.
  const response = await fetch(path, { redirect: 'manual' }).catch((cause: unknown) => {
    throw Problem.unreachable(cause)
  })
  if (response.type !== 'opaqueredirect') throw await Problem.of(response)
  keepPlace()
  location.assign(path)
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

/** Sends a file, as an operation if it has a name. A session that is over is renewed first: later, all of the file would have to be sent again. */
export async function sendFile(path: string, file: Blob, watch: Watch, method: SendMethod = 'POST', operation?: string): Promise<Response> {
  await ask(api.GET('/v1/auth/me', { signal: watch.signal }))
  const headers = ownHeaders()
  if (operation) headers.set('Sluice-Operation', operation)
  headers.set('Content-Type', 'application/octet-stream')
  return upload(path, headers, file, watch, method)
}

/** Has the browser save what is at this address. A session that is over is renewed first: a link cannot do that. */
export async function saveFile(path: string, name: string): Promise<void> {
  await ask(api.GET('/v1/auth/me'))
  const link = document.createElement('a')
  link.href = path
  link.download = name
  link.click()
}

/** The version that a change is meant for; the platform refuses it if there is a later one. */
export const ifMatch = (record: { updated_at: string }) => ({ 'If-Match': `W/"${record.updated_at}"` })
