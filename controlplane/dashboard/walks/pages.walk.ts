/** Every page of the navigation, as everybody may meet it: at three widths, light and dark. */
import { mkdirSync } from 'node:fs'
import { beforeAll, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { choose, links, open, platform, press, run, signIn, violations, walker } from './browser'
import { aDayOfUse, type Place } from './world'

/** Where somebody who wants to look finds what the walks saw: `npm run shots`. */
const SHOTS = process.env['SLUICE_SHOTS']
if (SHOTS) mkdirSync(SHOTS, { recursive: true })

/** Of the widths and schemes together as few as meet each; who looks wants the rest too. */
const LOOKS = [
  { width: 1440, colorScheme: 'light' },
  { width: 768, colorScheme: 'dark' },
  { width: 360, colorScheme: 'light' },
  ...(SHOTS ? ([{ width: 1440, colorScheme: 'dark' }, { width: 360, colorScheme: 'dark' }] as const) : []),
] as const

/** What somebody does there first. */
const USED: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  '/': async (page) => {
    await press(page, 'Verify the chain')
    await page.getByText('The chain is whole.').waitFor()
  },
  '/sql': async (page) => {
    await run(page, 'select n_name, n_regionkey from nation order by n_name limit 5')
    await page.getByRole('cell', { name: 'ALGERIA' }).waitFor()
  },
  '/add-data': async (page) => {
    await choose(page, 'rain.csv', 'place,day,rain\nBonn,2024-01-01,1.5\n')
    await page.getByRole('button', { name: 'Load it' }).waitFor()
  },
}

let places: Place[]

beforeAll(async () => {
  places = await aDayOfUse()
})

/** A file's name: ids say nothing there, and two of a kind are told apart. */
function shots(look: { width: number; colorScheme: string }) {
  const taken = new Map<string, number>()
  return async (page: Page, path: string) => {
    if (!SHOTS) return
    const name = path.slice(1).replace(/[/?].*/, '-one') || 'overview'
    const nth = (taken.get(name) ?? 0) + 1
    taken.set(name, nth)
    await page.screenshot({ path: `${SHOTS}/${name}${nth > 1 ? `-${nth}` : ''}-${look.width}-${look.colorScheme}.png`, fullPage: true })
  }
}

/** Tables of which somebody has to scroll to see all; what a query answers may be as wide as it likes. */
const tooWide = (page: Page) =>
  page.locator('.scroll:not(.result)').evaluateAll((all) =>
    all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => `${one.getAttribute('aria-label')}, by ${one.scrollWidth - one.clientWidth} px`),
  )

it.each(LOOKS)('every page is accessible and fits, $width wide and $colorScheme', (look) =>
  walker(async ({ page }) => {
    const shot = shots(look)
    const cut: string[] = []
    await page.goto('/')
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    expect(await violations(page)).toEqual([])
    await shot(page, '/gate')
    await signIn(page)
    const pages = [...(await links(page)), { path: '/account', title: 'Account' }, ...places]
    expect(pages.length).toBeGreaterThan(35)
    for (const { path, title } of pages) {
      await open(page, path, title)
      await USED[path]?.(page)
      await shot(page, path)
      expect(await violations(page), path).toEqual([])
      expect(await page.getByRole('alert').allTextContents(), path).toEqual([])
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      expect(sideways, `${path} scrolls sideways`).toBeLessThanOrEqual(0)
      cut.push(...(await tooWide(page)).map((table) => `${path}: ${table}`))
    }
    expect(cut, 'tables that scroll sideways').toEqual([])
  }, look),
)

it('whoever has only a keyboard signs in, opens a page, asks and signs out', () =>
  walker(async ({ page }) => {
    await page.goto('/')
    await page.getByLabel('E-mail').focus()
    await page.keyboard.type(platform.owner.email)
    await page.keyboard.press('Tab')
    await page.keyboard.type(platform.owner.password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.getByRole('link', { name: 'SQL editor' }).focus()
    await page.keyboard.press('Enter')
    const editor = page.getByRole('textbox', { name: 'SQL' })
    await editor.focus()
    await page.keyboard.press('Control+a')
    await page.keyboard.type('select 6 * 7 as answer')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('cell', { name: '42' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
  }))

it('a page that cannot be fetched says so, and the links stay', () =>
  walker(async ({ page }) => {
    await signIn(page)
    await page.route('**/assets/Gates-*.js', (route) => route.abort())
    await page.getByRole('link', { name: 'Gates' }).click()
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('link', { name: 'Reviews' }).click()
    await page.getByRole('heading', { level: 1, name: 'Reviews' }).waitFor()
  }))

it('a key of the dashboard is nobody to a script: its cookies are out of reach', () =>
  walker(async ({ page, context }) => {
    await signIn(page)
    const seen = await page.evaluate(() => document.cookie)
    expect(seen).not.toContain('session')
    expect(seen).not.toContain('refresh')
    const session = (await context.cookies()).find((cookie) => cookie.name === '__Host-sluice_session')
    expect(session).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Strict' })
    // Without the header that repeats the second cookie the session changes nothing.
    const status = await page.evaluate(async () => (await fetch('/v1/auth/logout', { method: 'POST' })).status)
    expect(status).toBe(403)
  }))
