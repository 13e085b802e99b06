/**
 * Where somebody is: the page, and what it is narrowed to, both behind the `#`, as in `#/audit?table=orders`. So a link
 * that is passed on shows the same, and the platform is not told what somebody looks for.
 */
import { useSyncExternalStore } from 'react'

const listen = (moved: () => void) => {
  addEventListener('hashchange', moved)
  return () => removeEventListener('hashchange', moved)
}

/** The page, and what stands after its `?`. */
export function apart(hash: string): [page: string, narrowed: string] {
  const [page = '', ...rest] = hash.replace(/^#?\/?/, '').split('?')
  return [`/${page}`, rest.join('?')]
}

function go(to: string, { replace = false }: { replace?: boolean } = {}): void {
  if (replace) location.replace(`#${to}`)
  else location.hash = to
}

const page = () => apart(location.hash)[0]
const narrowed = () => apart(location.hash)[1]

export const usePage = Object.assign((): [string, typeof go] => [useSyncExternalStore(listen, page), go], { hrefs: (to: string) => `#${to}` })
export const useNarrowed = () => useSyncExternalStore(listen, narrowed)

/** The code of a sign-on that was refused, which its way back names once. */
export function takeRefusal(): string | undefined {
  const code = new URLSearchParams(location.search).get('sign_on') ?? undefined
  if (code) history.replaceState(null, '', `/${location.hash}`)
  return code
}

const PLACE = 'sluice.place'

/** Where somebody is, before they leave for a page that leads back to the first one. */
export function keepPlace(): void {
  sessionStorage.setItem(PLACE, location.hash)
}

/** Back to where they were, once. */
export function returnToPlace(): void {
  const place = sessionStorage.getItem(PLACE)
  sessionStorage.removeItem(PLACE)
  if (place?.startsWith('#/') && location.hash === '') location.replace(place)
}
