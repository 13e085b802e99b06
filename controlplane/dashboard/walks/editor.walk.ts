/** Actions in the editor besides running one statement. */
import { expect, it } from 'vitest'
import { open, press, queried, run, signIn, type, unique, violations, walker } from './browser'

it('statements stand side by side, each with its result, as long as the browser\'s tab', () =>
  walker(async ({ page }) => {
    const heads = page.getByRole('tablist', { name: 'Statements' }).getByRole('tab')
    await signIn(page)
    await open(page, '/sql', 'SQL editor')
    await run(page, 'select 6 * 7 as answer')
    await page.getByRole('cell', { name: '42' }).waitFor()
    await press(page, 'New statement')
    await page.keyboard.insertText('-- how many\nselect count(*) as nations from nation')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('cell', { name: '25' }).waitFor()
    expect(await page.getByRole('cell', { name: '42' }).count()).toBe(0)
    expect(await heads.allTextContents()).toEqual(['select 6 * 7', 'how many select count(*)'])
    expect(await violations(page)).toEqual([])
    await heads.first().click()
    await page.getByRole('cell', { name: '42' }).waitFor()
    await page.reload()
    await heads.first().waitFor()
    expect(await heads.allTextContents()).toEqual(['select 6 * 7', 'how many select count(*)'])
    await page.getByRole('textbox', { name: 'SQL' }).getByText('answer').waitFor()
    await press(page, 'Sign out')
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
  }))

it('whoever has only a keyboard walks along the statements and closes them', () =>
  walker(async ({ page }) => {
    const heads = page.getByRole('tablist', { name: 'Statements' }).getByRole('tab')
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    await signIn(page)
    await open(page, '/sql', 'SQL editor')
    await type(page, 'select 1')
    for (const sql of ['select 2', 'select 3']) {
      await page.getByRole('button', { name: 'New statement' }).focus()
      await page.keyboard.press('Enter')
      await page.keyboard.insertText(sql)
    }
    await heads.last().focus()
    await page.keyboard.press('ArrowLeft')
    expect(await focused()).toBe('select 2')
    await page.keyboard.press('Delete')
    expect([await focused(), await heads.allTextContents()]).toEqual(['select 3', ['select 1', 'select 3']])
    await page.keyboard.press('ArrowRight')
    expect(await focused()).toBe('select 1')
    await page.getByRole('textbox', { name: 'SQL' }).getByText('1').waitFor()
    await page.keyboard.press('Delete')
    await page.keyboard.press('Delete')
    expect(await heads.allTextContents()).toEqual(['New statement'])
    await page.getByText('select …').waitFor()
  }))

it('a statement is laid out, comments too, and what could not be is left as it is', () =>
  walker(async ({ page }) => {
    await signIn(page)
    await open(page, '/sql', 'SQL editor')
    await type(page, 'select n_name,n_regionkey from nation -- of Europe\nwhere n_regionkey=3 order by n_name')
    await press(page, 'Format')
    const lines = page.getByRole('textbox', { name: 'SQL' }).locator('.cm-line')
    await lines.getByText('of Europe').waitFor()
    await expect.poll(() => lines.count()).toBeGreaterThan(3)
    await press(page, 'Run')
    await page.getByRole('cell', { name: 'FRANCE' }).waitFor()
    await run(page, 'select $$a,b$$ as quoted')
    await press(page, 'Format')
    await page.getByRole('alert').getByText('other white space could change').waitFor()
    await lines.getByText('$$a,b$$').waitFor()
  }))

it('a name that is not there is suggested, and run by whoever takes the suggestion', () =>
  walker(async ({ page }) => {
    await signIn(page)
    await open(page, '/sql', 'SQL editor')
    await run(page, 'select count(*) as nations from natoin')
    const suggestion = page.getByRole('region', { name: 'Suggestion' })
    await suggestion.getByText('It was not run').waitFor()
    expect(await page.getByRole('cell', { name: '25' }).count()).toBe(0)
    await press(page, 'Put it in the editor')
    await press(page, 'Run')
    await page.getByRole('cell', { name: '25' }).waitFor()
  }))

it('what was exported as JSON has each row under the names of its columns', () =>
  walker(async ({ page }) => {
    await signIn(page)
    await open(page, '/sql', 'SQL editor')
    await run(page, 'select n_name, n_nationkey from nation where n_nationkey = 6')
    const download = page.waitForEvent('download')
    await press(page, 'Export JSON')
    const chunks: Buffer[] = []
    for await (const chunk of await (await download).createReadStream()) chunks.push(chunk as Buffer)
    expect(JSON.parse(Buffer.concat(chunks).toString('utf8'))).toEqual([{ n_name: 'FRANCE', n_nationkey: 6 }])
  }))

it('what was exported as Parquet is a file of that kind, and what changes something is not run once more for it', () =>
  walker(async ({ page }) => {
    await signIn(page)
    await open(page, '/sql', 'SQL editor')
    await run(page, 'select n_name, n_nationkey from nation where n_nationkey = 6')
    const download = page.waitForEvent('download')
    await press(page, 'Export Parquet')
    const file = await download
    expect(file.suggestedFilename()).toMatch(/\.parquet$/)
    const chunks: Buffer[] = []
    for await (const chunk of await file.createReadStream()) chunks.push(chunk as Buffer)
    const bytes = Buffer.concat(chunks)
    expect([bytes.subarray(0, 4).toString(), bytes.subarray(-4).toString()]).toEqual(['PAR1', 'PAR1'])
    const stage = unique('files').replaceAll('-', '_')
    expect((await queried(`create stage ${stage}`)).status).toBe(200)
    await run(page, `copy into @${stage} from nation file_format = (type = csv) detailed_output = true`)
    await page.getByRole('button', { name: 'Export Parquet' }).click()
    await page.getByRole('alert').getByText('only statements that read').waitFor()
    expect((await queried(`drop stage ${stage}`)).status).toBe(200)
  }))
