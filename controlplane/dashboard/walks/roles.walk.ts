/** The page offers somebody exactly the actions that the platform lets them do. */
import { beforeAll, expect, it } from 'vitest'
import { links, member, open, signIn, walker } from './browser'
import { aDayOfUse, type Place } from './world'

let places: Place[]

beforeAll(async () => {
  places = await aDayOfUse()
})

it.each(['developer', 'analyst', 'auditor'])('the role %s opens every page that is offered to it, and nothing there is refused', (role) =>
  walker(async ({ page }) => {
    await signIn(page, await member(role))
    const pages = await links(page)
    const offered = places.filter((place) => pages.some(({ path }) => path !== '/' && [`${path}/`, `${path}?`].some((start) => place.path.startsWith(start))))
    expect(pages.length).toBeGreaterThan(10)
    for (const { path, title } of [...pages, ...offered]) {
      await open(page, path, title)
      expect(await page.getByRole('alert').allTextContents(), path).toEqual([])
      expect(await page.getByText('Your role does not open this page').count(), path).toBe(0)
    }
  }),
)
