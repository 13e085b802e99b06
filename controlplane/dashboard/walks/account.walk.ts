/** Whoever belongs to several organizations; and a second factor, from the first code to none. */
import { createHmac } from 'node:crypto'
import { expect, it } from 'vitest'
import { member, open, press, signIn, unique, violations, walker } from './browser'

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

it('a session that ended elsewhere leads to the sign-in page, and from there back', () =>
  walker(async ({ page }) => {
    const who = await member('analyst')
    await signIn(page, who)
    await open(page, '/account', 'Account')
    // As a program of the same person would: the browser's cookies stay.
    const ended = await page.evaluate(async () => {
      const csrf = document.cookie.match(/__Host-sluice_csrf=([^;]+)/)?.[1] ?? ''
      return (await fetch('/v1/auth/logout', { method: 'POST', headers: { 'x-csrf-token': csrf } })).status
    })
    expect(ended).toBe(200)
    await page.evaluate(() => (location.hash = '#/sql'))
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await page.getByLabel('E-mail').fill(who.email)
    await page.getByLabel('Password').fill(who.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'SQL editor' }).waitFor()
  }))

/** What an authenticator shows for a secret in base 32 (RFC 6238). */
function code(secret: string): string {
  const bits = [...secret].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from(bits.match(/.{8}/g)?.map((byte) => parseInt(byte, 2)) ?? [])
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)))
  const mac = createHmac('sha1', key).update(counter).digest()
  return String((mac.readUInt32BE((mac.at(-1) ?? 0) & 15) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

it('a second factor is set up by a code of it, and can be removed once it is there', () =>
  walker(async ({ page }) => {
    await signIn(page, await member('analyst'))
    await open(page, '/account', 'Account')
    expect(await page.getByRole('button', { name: 'Remove it' }).count()).toBe(0)
    await press(page, 'Set up an authenticator')
    const dialog = 'Set up an authenticator'
    await press(page, 'Make a secret', dialog)
    const secret = (await page.getByRole('region', { name: 'The secret' }).textContent()) ?? ''
    await page.getByLabel('The code that it shows').fill(code(secret.replace(/[^A-Z2-7]/g, '')))
    await press(page, 'Confirm', dialog)
    await page.getByRole('region', { name: 'Recovery codes' }).waitFor()
    expect(await violations(page)).toEqual([])
    await press(page, 'I have them', dialog)
    await page.getByRole('button', { name: 'Remove it' }).waitFor()
    expect(await page.getByRole('button', { name: 'Set up an authenticator' }).count()).toBe(0)
  }))
