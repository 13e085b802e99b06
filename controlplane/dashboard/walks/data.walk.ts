/** How data comes in: from a file on disk to a table, and what is said where it does not. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { choose, member, open, platform, press, queried, rowOf, signIn, unique, violations, walker } from './browser'

const CLICKS_MAX = 6
const WITHIN_MS = 60_000
/** So slow that whoever wants to cancel can. */
const BYTES_A_SECOND = 50_000

const RAIN = 'place,day,rain\nBonn,2024-01-01,1.5\nUlm,2024-01-02,12\nHof,2024-01-03,\n'

const fresh = (name: string) => unique(name).replaceAll('-', '_')

/** How many rows a table has; none where it is not there. */
async function rows(table: string): Promise<unknown> {
  const { status, body } = await queried(`select count(*) from ${table}`)
  return status === 200 ? (body['rows'] as unknown[][])[0]?.[0] : undefined
}

async function clicksAreCounted(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const { dataset } = document.documentElement
    addEventListener('pointerdown', () => (dataset['clicks'] = String(Number(dataset['clicks'] ?? 0) + 1)), true)
  })
  return () => page.evaluate(() => Number(document.documentElement.dataset['clicks']))
}

it('a CSV on disk is a chart in at most six clicks, and within a minute', () =>
  walker(async ({ page }) => {
    const table = fresh('rain')
    const folder = mkdtempSync(join(tmpdir(), 'sluice-walk-'))
    try {
      writeFileSync(join(folder, `${table}.csv`), RAIN)
      await signIn(page)
      const clicks = await clicksAreCounted(page)
      const began = Date.now()
      await page.getByRole('link', { name: 'Add data', exact: true }).click()
      await page.getByRole('heading', { level: 1, name: 'Add data' }).waitFor()
      const chooser = page.waitForEvent('filechooser')
      await page.getByLabel('File', { exact: true }).click()
      await (await chooser).setFiles(join(folder, `${table}.csv`))
      const shown = page.getByRole('region', { name: 'First rows' })
      await shown.getByRole('columnheader', { name: 'day date' }).waitFor()
      await shown.getByRole('cell', { name: '2024-01-02' }).waitFor()
      expect(await rows(table), 'nothing is loaded yet').toBeUndefined()
      await press(page, 'Load it')
      await page.getByText(`3 rows were loaded into main.${table}.`).waitFor()
      expect(await violations(page)).toEqual([])
      await page.getByRole('link', { name: 'Show it in the editor' }).click()
      await page.getByRole('region', { name: 'Result' }).getByRole('cell', { name: 'Ulm' }).waitFor()
      await press(page, 'Chart')
      await page.getByRole('dialog').getByRole('region', { name: 'Chart' }).getByRole('cell', { name: 'Bonn' }).waitFor()
      const took = Date.now() - began
      expect(await clicks()).toBeLessThanOrEqual(CLICKS_MAX)
      expect(took).toBeLessThan(WITHIN_MS)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }))

it('whoever has only a keyboard adds the rows of a file to a table that the catalogue shows', () =>
  walker(async ({ page }) => {
    const table = fresh('added')
    expect((await queried(`create table ${table} (place varchar, rain double, day date)`)).status).toBe(200)
    await signIn(page)
    await open(page, '/catalogue', 'Catalogue')
    await page.getByLabel('Find a table or column').fill(table)
    await page.locator('summary').filter({ hasText: table }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Add rows from a file' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Add data' }).waitFor()
    const chooser = page.waitForEvent('filechooser')
    await page.getByLabel('File', { exact: true }).focus()
    await page.keyboard.press('Enter')
    await (await chooser).setFiles({ name: 'rain.csv', mimeType: 'text/csv', buffer: Buffer.from(RAIN) })
    await page.getByText('3 columns; the first rows').waitFor()
    expect(await page.getByLabel('Table', { exact: true }).inputValue()).toBe(`main.${table}`)
    await page.getByRole('button', { name: 'Load it' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText(`3 rows were loaded into main.${table}.`).waitFor()
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Show it in the editor')
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: 'Result' }).getByRole('cell', { name: 'Hof' }).waitFor()
  }))

it('a type that was found is changed before anything is loaded', () =>
  walker(async ({ page }) => {
    const table = fresh('typed')
    await signIn(page)
    await open(page, '/add-data', 'Add data')
    await choose(page, `${table}.csv`, RAIN)
    await page.getByLabel('Type of place').selectOption('BIGINT')
    await press(page, 'Load it')
    await page.getByRole('alert').getByText('line 2 of the file: column place has a value that is no BIGINT; nothing was loaded').waitFor()
    await page.getByLabel('Type of place').selectOption('VARCHAR')
    await page.getByLabel('Type of rain').selectOption('DECIMAL(18,2)')
    await press(page, 'Load it')
    await page.getByRole('link', { name: 'Show it in the editor' }).click()
    const result = page.getByRole('region', { name: 'Result' })
    await result.getByRole('columnheader', { name: 'place varchar' }).waitFor()
    await result.getByRole('columnheader', { name: 'rain decimal(18,2)' }).waitFor()
  }))

it('a file that is refused says so in the words of the platform, and loads nothing', () =>
  walker(async ({ page }) => {
    const table = fresh('refused')
    expect((await queried(`create table ${table} (place varchar)`)).status).toBe(200)
    await signIn(page)
    await open(page, '/add-data', 'Add data')
    await choose(page, `${table}.csv`, 'place,day\nBonn,2024-01-01\nUlm\n')
    const refusal = page.getByRole('alert')
    await refusal.getByText('line 3 of the file: it has 1 values for 2 columns; nothing was loaded').waitFor()
    await refusal.getByRole('link').waitFor()
    expect(await violations(page)).toEqual([])
    await choose(page, `${table}.txt`, 'place\nBonn\n')
    await page.getByText('Its name does not say how it is written').waitFor()
    await page.getByLabel('It is written as').selectOption('csv')
    await press(page, 'Load it')
    await refusal.getByText('a thing of that name already exists').waitFor()
    await page.getByLabel('Table', { exact: true }).fill('a.b.c')
    await press(page, 'Load it')
    await refusal.getByText('a table is written as name or schema.name').waitFor()
    await page.getByLabel('Table', { exact: true }).fill(table)
    await page.getByLabel('It becomes').selectOption('replace')
    await press(page, 'Load it')
    await page.getByText(`1 row was loaded into main.${table}.`).waitFor()
  }))

it('a load tells how much has left, and whoever cancels it has loaded nothing', () =>
  walker(async ({ page, context }) => {
    const table = fresh('cancelled')
    await signIn(page)
    await open(page, '/add-data', 'Add data')
    await choose(page, `${table}.csv`, `n\n${'1234567\n'.repeat(250_000)}`)
    const load = page.getByRole('button', { name: 'Load it' })
    await load.waitFor()
    const devtools = await context.newCDPSession(page)
    await devtools.send('Network.enable')
    await devtools.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: BYTES_A_SECOND })
    await load.click()
    await page.getByText(/^[1-9][0-9.]* kB of 2 MB$/).waitFor()
    await page.getByRole('progressbar', { name: 'Sent' }).waitFor()
    expect(await violations(page)).toEqual([])
    await press(page, 'Cancel')
    await page.getByRole('alert').getByText('you cancelled it: nothing was loaded').waitFor()
    await devtools.detach()
    expect(await rows(table)).toBeUndefined()
  }))

it('whoever reads data only is told who adds it', () =>
  walker(async ({ page }) => {
    await signIn(page, await member('analyst'))
    for (const [path, title] of [['/', 'Overview'], ['/sql', 'SQL editor'], ['/catalogue', 'Catalogue']] as const) {
      await open(page, path, title)
      await page.getByText('An owner, admin, developer or service account adds data.').waitFor()
    }
    await page.getByRole('link', { name: 'Add data', exact: true }).click()
    await page.getByText('Your role reads data, and adds none').waitFor()
    expect(await violations(page)).toEqual([])
    expect(await page.getByLabel('File', { exact: true }).count()).toBe(0)
    await press(page, 'I was lent such a role')
    await choose(page, 'rain.csv', RAIN)
    await page.getByRole('alert').getByText('developer').waitFor()
  }))

const NARROW = 360
const LONG = `${'a-very-long-name-of-a-file-without-any-blank-'.repeat(4)}.csv`

it('a stage is a folder: a file is put there, taken from there and removed', () =>
  walker(async ({ page }) => {
    const stage = fresh('folder')
    expect((await queried(`create stage ${stage}`)).status).toBe(200)
    await signIn(page)
    await open(page, '/catalogue', 'Catalogue')
    await page.locator('summary').filter({ hasText: stage }).click()
    await page.getByText('No file is here.').waitFor()
    const input = page.getByLabel('Put a file here')
    await input.setInputFiles({ name: 'rain.csv', mimeType: 'text/csv', buffer: Buffer.from(RAIN) })
    await page.getByText('rain.csv is in the stage.').waitFor()
    const files = page.getByRole('region', { name: `Files of ${stage}` })
    await files.getByRole('cell', { name: 'rain.csv', exact: true }).waitFor()
    expect(await violations(page)).toEqual([])
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download rain.csv' }).click()
    expect((await saved).suggestedFilename()).toBe('rain.csv')
    await rowOf(page, 'rain.csv').getByRole('button', { name: 'Remove' }).click()
    await press(page, 'Remove', 'Remove')
    await page.getByText('No file is here.').waitFor()
  }))

it('whoever reads data only takes files of a stage, however narrow the page and long the name', () =>
  walker(
    async ({ page }) => {
      const stage = fresh('kept')
      expect((await queried(`create stage ${stage}`)).status).toBe(200)
      const headers = { authorization: `ApiKey ${platform.key}`, 'content-type': 'application/octet-stream' }
      const address = `${platform.url}/v1/environments/${platform.envId}/stages/${stage}/files/${LONG}`
      expect((await fetch(address, { method: 'PUT', headers, body: 'a' })).status).toBe(200)
      await signIn(page, await member('analyst'))
      await open(page, '/catalogue', 'Catalogue')
      await page.locator('summary').filter({ hasText: stage }).click()
      await page.getByText('Your role reads these files. An owner, admin, developer or service account puts files here').waitFor()
      await page.getByRole('button', { name: `Download ${LONG}` }).waitFor()
      expect(await page.getByRole('button', { name: 'Remove' }).count()).toBe(0)
      expect(await page.getByLabel('Put a file here').count()).toBe(0)
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      expect(sideways).toBeLessThanOrEqual(0)
      expect(await violations(page)).toEqual([])
    },
    { width: NARROW },
  ))
