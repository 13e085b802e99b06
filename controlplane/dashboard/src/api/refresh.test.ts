import { describe, expect, it } from 'vitest'
import { Refresher, type Means } from './refresh'

/** Two pages of one browser: they share the cookie and the lock, and `sent` counts what left. */
function browser(status: () => number) {
  const shared = { mark: 'a' as string | undefined, sent: 0, last: Promise.resolve() as Promise<unknown> }
  const means: Means = {
    mark: () => shared.mark,
    alone: (work) => {
      const done = shared.last.then(work)
      shared.last = done.catch(() => undefined)
      return done
    },
    send: async () => {
      shared.sent += 1
      await Promise.resolve()
      const response = new Response(null, { status: status() })
      if (response.ok) shared.mark = `${shared.mark}'`
      return response
    },
  }
  return { shared, pages: [new Refresher(means), new Refresher(means)] as const }
}

describe('a refresh', () => {
  it('is one for all pages and all requests', async () => {
    const { shared, pages } = browser(() => 200)
    const outcomes = await Promise.all([pages[0].renew('a'), pages[0].renew('a'), pages[1].renew('a')])
    expect(outcomes).toEqual(['renewed', 'renewed', 'renewed'])
    expect(shared.sent).toBe(1)
  })

  it('that is refused says once that the session is over', async () => {
    const { shared, pages } = browser(() => 401)
    expect(await Promise.all([pages[0].renew('a'), pages[0].renew('a')])).toEqual(['over', 'over'])
    expect(shared.sent).toBe(1)
    shared.mark = 'signed in again'
    expect(await pages[0].renew('a')).toBe('renewed')
  })

  it('is not asked for when nobody is signed in', async () => {
    const { shared, pages } = browser(() => 200)
    shared.mark = undefined
    expect(await pages[0].renew('a')).toBe('over')
    expect(shared.sent).toBe(0)
  })

  it('that could not be answered says nothing of the session', async () => {
    const { pages } = browser(() => 503)
    expect(await pages[0].renew('a')).toBe('later')
  })
})
