/** The life of an environment by its buttons: made, suspended, resumed, deleted. */
import { expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { open, press, rowOf, signIn, unique, violations, walker } from './browser'

const SECONDS = { timeout: 60_000, interval: 500 }

/** The status of a statement that the person in front of the page asks in an environment. */
const asked = (page: Page, envId: string, sql: string) =>
  page.evaluate(
    async ([path, sql]) => {
      const csrf = document.cookie.match(/__Host-sluice_csrf=([^;]+)/)?.[1] ?? ''
      const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf }
      return (await fetch(path, { method: 'POST', headers, body: JSON.stringify({ sql }) })).status
    },
    [`/v1/environments/${envId}/query`, sql] as const,
  )

/** Until its row says so: what a data plane does takes its time, and the page is as of when it was opened. */
async function becomes(page: Page, name: string, state: string): Promise<void> {
  const said = async () => {
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Environments' }).waitFor()
    return rowOf(page, name).textContent()
  }
  await expect.poll(said, SECONDS).toContain(state)
}

it(
  'an environment is made, suspended, resumed with its data, and deleted by who types its name',
  () =>
    walker(async ({ page }) => {
      const name = unique('nursery')
      await signIn(page)
      await open(page, '/environments', 'Environments')
      await press(page, 'New environment')
      const making = page.getByRole('dialog', { name: 'New environment' })
      await making.getByLabel('Name', { exact: true }).fill(name)
      await making.getByLabel('Slug').fill(name)
      await press(page, 'Make it', 'New environment')
      await rowOf(page, name).waitFor()
      const envId = (await page.locator('option', { hasText: name }).getAttribute('value')) ?? ''
      await becomes(page, name, 'active')
      await expect.poll(() => asked(page, envId, 'create table if not exists tree (height integer)'), SECONDS).toBe(200)

      await rowOf(page, name).getByRole('button', { name: 'Suspend' }).click()
      expect(await violations(page)).toEqual([])
      await press(page, 'Leave it', 'Suspend')
      expect(await asked(page, envId, 'select * from tree')).toBe(200)
      await rowOf(page, name).getByRole('button', { name: 'Suspend' }).click()
      await press(page, 'Suspend', 'Suspend')
      await rowOf(page, name).getByText('suspended', { exact: true }).waitFor()
      expect(await asked(page, envId, 'select * from tree')).toBe(503)

      await rowOf(page, name).getByRole('button', { name: 'Resume' }).click()
      await press(page, 'Resume', 'Resume')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await becomes(page, name, 'active')
      await expect.poll(() => asked(page, envId, 'select * from tree'), SECONDS).toBe(200)

      const deletion = `Delete ${name}`
      await rowOf(page, name).getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('dialog', { name: deletion }).getByRole('textbox').fill('another')
      await press(page, 'Delete it', deletion)
      await page.getByRole('dialog', { name: deletion }).getByRole('alert').waitFor()
      expect(await violations(page)).toEqual([])
      await page.getByRole('dialog', { name: deletion }).getByRole('textbox').fill(name)
      await press(page, 'Delete it', deletion)
      await rowOf(page, name).getByText('decommissioning', { exact: true }).waitFor()
      expect(await rowOf(page, name).getByRole('button').count()).toBe(0)
      expect(await asked(page, envId, 'select * from tree')).not.toBe(200)
    }),
  180_000,
)
