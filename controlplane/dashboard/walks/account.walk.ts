/** Whoever belongs to several organizations. */
import { expect, it } from 'vitest'
import { open, signIn, unique, violations, walker } from './browser'

it('somebody of two organizations goes from one to the other without signing in again', () =>
  walker(async ({ page }) => {
    const slug = unique('orchard')
    await signIn(page)
    await open(page, '/users', 'Users')
    const before = await page.getByRole('row').count()
    expect(
      await page.evaluate(async (name) => {
        const csrf = document.cookie.match(/__Host-sluice_csrf=([^;]+)/)?.[1] ?? ''
        const headers = { 'content-type': 'application/json', 'x-requested-with': 'sluice-dashboard', 'x-csrf-token': csrf }
        const body = JSON.stringify({ name, slug: name, billing_email: 'bills@held.example' })
        return (await fetch('/v1/organizations', { method: 'POST', headers, body })).status
      }, slug),
    ).toBe(201)
    await page.reload()
    await page.getByLabel('Organization').selectOption({ label: `${slug} (owner)` })
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await expect.poll(() => page.getByLabel('Organization').locator('option:checked').textContent()).toBe(`${slug} (owner)`)
    await open(page, '/sql', 'SQL editor')
    await page.getByText('There is no environment yet').waitFor()
    expect(await violations(page)).toEqual([])
    await open(page, '/users', 'Users')
    expect(await page.getByRole('row').count()).toBe(2)
    await page.getByLabel('Organization').selectOption({ index: (await page.getByLabel('Organization').locator('option').allTextContents()).findIndex((label) => label.startsWith('Demo')) })
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await open(page, '/users', 'Users')
    await expect.poll(() => page.getByRole('row').count()).toBe(before)
  }))
