/** Everyday mishaps: a click too many, odd names, no network, links from elsewhere, a shared computer. */
import { expect, it } from 'vitest'
import { asProgram, elsewhere, made, open, platform, press, rowOf, run, signIn, unique, violations, walker } from './browser'

const keys = `/v1/environments/${platform.envId}/api-keys`

/** How many keys have this name, revoked ones too. */
async function named(name: string): Promise<number> {
  const { body } = await asProgram('GET', `${keys}?limit=200`)
  return (body['data'] as { name: string }[]).filter((key) => key.name === name).length
}

it('whoever clicks twice makes one key, from the address of the example', () =>
  walker(async ({ page }) => {
    const name = unique('twice')
    await signIn(page)
    await open(page, '/keys', 'API keys')
    await press(page, 'New key')
    const making = page.getByRole('dialog', { name: 'New key' })
    await making.getByLabel('Name').fill(name)
    await making.getByLabel('Addresses it may come from').fill('10.0.0.0/8, 192.0.2.7')
    await making.getByRole('button', { name: 'Make it' }).dblclick()
    await page.getByRole('region', { name: 'The secret' }).waitFor()
    expect(await named(name)).toBe(1)
    await press(page, 'I have it')
    await rowOf(page, name).getByRole('button', { name: 'Revoke' }).click()
    await press(page, 'Revoke', 'Revoke')
    await rowOf(page, name).getByText('revoked').waitFor()
  }))

it('a name that looks like a page is shown as it is', () =>
  walker(async ({ page }) => {
    const name = `<img src=x onerror="document.title='taken'"><b>${unique('bold')}</b>`
    const key = await made(keys, { name, scopes: ['query:read'] })
    await signIn(page)
    await open(page, '/keys', 'API keys')
    await page.getByRole('cell', { name, exact: true }).waitFor()
    expect(await page.locator('img[src=x]').count()).toBe(0)
    expect(await page.title()).not.toBe('taken')
    expect((await asProgram('DELETE', `${keys}/${String(key['key_id'])}`)).status).toBe(200)
  }))

it('without a network a page says so, and goes on when it is back', () =>
  walker(async ({ page, context }) => {
    await signIn(page)
    await open(page, '/sql', 'SQL editor')
    await context.setOffline(true)
    await run(page, 'select 6 * 7 as answer')
    await page.getByRole('alert').waitFor()
    await context.setOffline(false)
    await run(page, 'select 6 * 7 as answer')
    await page.getByRole('cell', { name: '42' }).waitFor()
  }))

it('a link from elsewhere leads to its page once its reader has signed in, and back leads nowhere once they have left', () =>
  walker(async ({ page }) => {
    await page.goto('/#/keys')
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await page.getByLabel('E-mail').fill(platform.owner.email)
    await page.getByLabel('Password').fill(platform.owner.password)
    await press(page, 'Sign in')
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
    await open(page, '/users', 'Users')
    await page.getByRole('cell', { name: platform.owner.email }).first().waitFor()
    await press(page, 'Sign out')
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    expect(await page.getByRole('row').count()).toBe(0)
    expect(await page.getByText(platform.owner.email).count()).toBe(0)
  }))

it('over plain HTTP by another name than localhost the page says that nobody can sign in, and what is wrong with a password', () =>
  walker(
    async ({ page }) => {
      await page.goto('/')
      await page.getByRole('alert').filter({ hasText: 'Nobody can sign in at this address: it is plain HTTP' }).waitFor()
      expect(await violations(page)).toEqual([])
      await page.getByLabel('E-mail').fill(platform.owner.email)
      await page.getByLabel('Password').fill('another than the right one')
      await press(page, 'Sign in')
      await page.getByText('e-mail or password is wrong').waitFor()
    },
    { url: elsewhere },
  ))
