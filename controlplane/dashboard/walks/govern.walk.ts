/** The purposes of people: to hide, to lend, to see who asked, and to hold on to none of it by mistake. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { asProgram, open, platform, press, queried, rowOf, run, signIn, unique, violations, walker } from './browser'

it('a column is masked from the next query on, and said to be', () =>
  walker(async ({ page }) => {
    const name = unique('phones')
    await signIn(page)
    await open(page, '/sql', 'SQL editor')
    await run(page, 'select c_phone from customer where c_custkey = 2')
    await page.getByText('nothing masked').waitFor()
    await open(page, '/policies', 'Policies')
    await press(page, 'Mask a column')
    const dialog = page.getByRole('dialog', { name: 'Mask a column' })
    await dialog.getByLabel('Name of the policy').fill(name)
    await dialog.getByLabel('Table', { exact: true }).fill('customer')
    await dialog.getByLabel('Column', { exact: true }).fill('c_phone')
    await dialog.getByLabel('What is seen instead').selectOption('partial')
    await press(page, 'Mask it', 'Mask a column')
    await rowOf(page, name).getByText('enabled').waitFor()
    await open(page, '/sql', 'SQL editor')
    await run(page, 'select c_phone from customer where c_custkey = 2')
    await page.getByText('masked: c_phone').waitFor()
    expect(await page.getByRole('cell').first().textContent()).toMatch(/^\*\*\*\d{4}$/)
    await open(page, '/catalogue', 'Catalogue')
    await page.getByLabel('Find a table or column').fill('c_phone')
    await page.getByRole('row').filter({ hasText: 'c_phone' }).getByText(name).waitFor()
    await open(page, '/policies', 'Policies')
    await rowOf(page, name).getByRole('button', { name: 'Delete' }).click()
    await press(page, 'Delete', 'Delete')
    await rowOf(page, name).waitFor({ state: 'detached' })
  }))

it('a mask of a column that is not there is refused, and marked where it is kept all the same', () =>
  walker(async ({ page }) => {
    const name = unique('typo')
    await signIn(page)
    await open(page, '/policies', 'Policies')
    await press(page, 'Mask a column')
    const dialog = page.getByRole('dialog', { name: 'Mask a column' })
    await dialog.getByLabel('Name of the policy').fill(name)
    await dialog.getByLabel('Table', { exact: true }).fill('custmer')
    await dialog.getByLabel('Column', { exact: true }).fill('c_phone')
    await press(page, 'Mask it', 'Mask a column')
    await dialog.getByText('main.customer').first().waitFor()
    await dialog.getByLabel('Keep it if the table or column is not there yet').check()
    await press(page, 'Mask it', 'Mask a column')
    await rowOf(page, name).getByText('rules nothing yet').waitFor()
    expect(await violations(page)).toEqual([])
    await rowOf(page, name).getByRole('button', { name: 'Delete' }).click()
    await press(page, 'Delete', 'Delete')
    await rowOf(page, name).waitFor({ state: 'detached' })
  }))

it('who has asked of a table is a link away from it, by name', () =>
  walker(async ({ page }) => {
    await queried('select r_name from region where r_regionkey = 3')
    await signIn(page)
    await open(page, '/catalogue', 'Catalogue')
    await page.getByLabel('Find a table or column').fill('r_comment')
    await page.locator('summary').filter({ hasText: 'region' }).click()
    await page.getByRole('link', { name: 'Who has asked of it this week' }).click()
    await expect.poll(async () => {
      await page.reload()
      await page.getByRole('button', { name: 'Show', exact: true }).waitFor()
      return rowOf(page, 'r_regionkey').count()
    }, { timeout: 20_000 }).toBeGreaterThan(0)
    expect(await page.getByLabel('Table').inputValue()).toBe('main.region')
    await rowOf(page, 'r_regionkey').first().getByText(/^key |@/).first().waitFor()
    expect(await rowOf(page, 'read_csv').count()).toBe(0)
  }))

it('who saw a column last week is a link away from it, and the link can be passed on', () =>
  walker(async ({ page }) => {
    await queried('select s_comment from supplier where s_suppkey = 3')
    await queried('select count(*) from supplier where s_suppkey = 4')
    await queried('select s_comment from supplier where s_suppkey = 0')
    await signIn(page)
    await open(page, '/catalogue', 'Catalogue')
    await page.getByLabel('Find a table or column').fill('s_comment')
    await page.locator('summary').filter({ hasText: 'supplier' }).click()
    await page.getByRole('link', { name: 'Who saw it: s_comment' }).click()
    const whoSaw = page.getByRole('region', { name: 'Who asked for s_comment' })
    await expect.poll(async () => {
      await page.reload()
      await page.getByText('of the newest').waitFor()
      return whoSaw.getByRole('row').filter({ hasText: /(^key |@).*unmasked/ }).count()
    }, { timeout: 20_000 }).toBe(1)
    const listed = page.getByRole('region', { name: 'Queries' })
    expect(await listed.getByText('count(*)').count()).toBe(0)
    await listed.getByText('no row').first().waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByLabel('Outcome').selectOption('refused')
    await press(page, 'Show')
    await page.getByText('No query fits').waitFor()
    expect(new URL(page.url()).hash).toContain('table=main.supplier&column=s_comment&outcome=refused')
    await page.goBack()
    await whoSaw.waitFor()
    expect(await page.getByLabel('Outcome').inputValue()).toBe('')
    expect(await page.getByLabel('Column').inputValue()).toBe('s_comment')
  }))

it('a tenant is founded and renamed, and counted from here', () =>
  walker(async ({ page }) => {
    const slug = unique('meadow')
    await signIn(page)
    await open(page, '/tenants', 'Tenants')
    await press(page, 'New tenant')
    const dialog = page.getByRole('dialog', { name: 'New tenant' })
    await dialog.getByLabel('Name').fill('The meadow')
    await dialog.getByLabel('Slug').fill('No Slug')
    await press(page, 'Make it', 'New tenant')
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Slug').fill(slug)
    await press(page, 'Make it', 'New tenant')
    await rowOf(page, slug).getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('dialog', { name: 'Rename The meadow' }).getByLabel('Name').fill(`The ${slug}`)
    await press(page, 'Rename it', 'Rename The meadow')
    await rowOf(page, slug).getByText(`The ${slug}`).waitFor()
    await page.getByRole('status', { name: 'Saved' }).getByText('Saved').waitFor()
  }))

it('why a statement was refused stands under it, and in the audit log', () =>
  walker(async ({ page }) => {
    await signIn(page)
    await open(page, '/sql', 'SQL editor')
    await run(page, "select * from read_csv('/etc/passwd')")
    const refusal = page.getByRole('alert')
    await refusal.getByText('read_csv is not supported').waitFor()
    expect(await refusal.getByRole('link').getAttribute('href')).toBe('/docs/errors#TRANSPILATION_ERROR')
    expect(await page.getByRole('region', { name: 'Where in the statement' }).textContent()).toContain('^')
    await open(page, '/audit', 'Audit')
    await expect.poll(async () => {
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await page.reload()
      await page.getByRole('table').first().waitFor()
      return rowOf(page, 'read_csv').count()
    }, { timeout: 20_000 }).toBeGreaterThan(0)
    await rowOf(page, 'read_csv').first().getByText('TRANSPILATION_ERROR').waitFor()
  }))

it('a key is shown once, works, is rotated with an overlap, and is refused when it is revoked', () =>
  walker(async ({ page }) => {
    const name = unique('walk')
    await signIn(page)
    await open(page, '/keys', 'API keys')
    await press(page, 'New key')
    await page.getByRole('dialog').getByLabel('Name').fill(name)
    await press(page, 'Make it', 'New key')
    const first = (await page.getByRole('region', { name: 'The secret' }).textContent()) ?? ''
    expect(first).toMatch(/^svc_test_/)
    await press(page, 'I have it')
    expect((await queried('select 1', first)).status).toBe(200)
    await rowOf(page, name).getByRole('button', { name: 'Rotate' }).click()
    await press(page, 'Rotate it', `Rotate ${name}`)
    const second = (await page.getByRole('region', { name: 'The secret' }).textContent()) ?? ''
    await press(page, 'I have it')
    expect([(await queried('select 1', first)).status, (await queried('select 1', second)).status]).toEqual([200, 200])
    await rowOf(page, name).getByRole('button', { name: 'Revoke' }).click()
    await press(page, 'Revoke', 'Revoke')
    await rowOf(page, name).getByText('revoked').waitFor()
    expect([(await queried('select 1', first)).status, (await queried('select 1', second)).status]).toEqual([401, 401])
  }))

it('an analyst is invited, comes, sees no more than their role, and is lent another', () =>
  walker(async ({ page }) => {
    const email = `${unique('ana')}@held.example`
    const password = 'a long walk in the park'
    await signIn(page)
    await open(page, '/users', 'Users')
    await press(page, 'Invite somebody')
    await page.getByRole('dialog').getByLabel('E-mail').fill(email)
    await page.getByRole('dialog').getByLabel('Role', { exact: true }).selectOption('analyst')
    await press(page, 'Invite', 'Invite somebody')
    const link = (await page.getByRole('region', { name: 'The invitation' }).textContent()) ?? ''
    await press(page, 'Done')
    await walker(async ({ page: theirs }) => {
      await theirs.goto(link)
      await theirs.getByLabel('Your name').fill('Ana')
      await theirs.getByLabel(/Your password/).fill('short')
      await theirs.getByRole('button', { name: 'Accept' }).click()
      await theirs.getByLabel(/Your password/).and(theirs.locator('[aria-invalid=true]')).waitFor()
      await theirs.getByLabel(/Your password/).fill(password)
      await theirs.getByRole('button', { name: 'Accept' }).click()
      await theirs.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      expect(await theirs.getByRole('link', { name: 'API keys' }).count()).toBe(0)
      await open(theirs, '/keys', 'API keys')
      await theirs.getByText('the role owner or admin').waitFor()
      await open(theirs, '/sign-on', 'Single sign-on')
      await theirs.getByText('It needs the role owner or admin').waitFor()
      await open(theirs, '/gates', 'Gates')
      expect(await theirs.getByRole('button', { name: 'Evaluate' }).count()).toBe(0)
      await open(theirs, '/jit', 'Just-in-time access')
      await press(theirs, 'Ask for a role')
      await theirs.getByRole('dialog').getByLabel('Role', { exact: true }).selectOption('admin')
      await theirs.getByLabel('Why').fill('to walk')
      await press(theirs, 'Ask', 'Ask for a role')
      await theirs.getByText('An owner or admin decides').waitFor()
    })
    await open(page, '/jit', 'Just-in-time access')
    await rowOf(page, email).getByRole('button', { name: 'Approve' }).click()
    await press(page, 'Approve', 'Approve')
    await rowOf(page, email).getByText(/min.* left|h left/).waitFor()
    await rowOf(page, email).getByRole('button', { name: 'Revoke' }).click()
    await press(page, 'Revoke', 'Revoke')
    await rowOf(page, email).getByText('revoked').waitFor()
    await open(page, '/users', 'Users')
    await rowOf(page, email).getByRole('button', { name: 'Remove' }).click()
    await press(page, 'Remove', 'Remove')
    await rowOf(page, email).waitFor({ state: 'detached' })
  }))

it('two who change one policy at once do not overwrite each other', () =>
  walker(async ({ page }) => {
    const name = unique('stale')
    const rules = [{ table: 'orders', filter: 'o_orderkey > 0', exempt_roles: [] }]
    const made = await asProgram('POST', `/v1/environments/${platform.envId}/policies`, { name, type: 'row_level_security', enabled: false, rules })
    const path = `/v1/environments/${platform.envId}/policies/${String(made.body['policy_id'])}`
    await signIn(page)
    await open(page, '/policies', 'Policies')
    await rowOf(page, name).waitFor()
    expect((await asProgram('PUT', path, { name: `${name}-too` })).status).toBe(200)
    await rowOf(page, name).getByRole('button', { name: 'Enable' }).click()
    await press(page, 'Enable it')
    await page.getByText('Somebody else has changed this').waitFor()
    await press(page, 'Load it again')
    await rowOf(page, `${name}-too`).waitFor()
    expect((await asProgram('DELETE', path)).status).toBe(200)
  }))

it('the chain of changes is verified by a button', () =>
  walker(async ({ page }) => {
    await signIn(page)
    await open(page, '/audit', 'Audit')
    await page.getByRole('tab', { name: 'Changes' }).click()
    await press(page, 'Verify the chain')
    await page.getByText('The chain is whole.').waitFor()
  }))

it('an attribute policy is tried before it rules', () =>
  walker(async ({ page }) => {
    const name = unique('nights')
    await signIn(page)
    await open(page, '/abac', 'Attribute policies')
    await press(page, 'New policy')
    const dialog = page.getByRole('dialog', { name: 'New policy' })
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByLabel('If', { exact: true }).selectOption('AgentFrameworkIs')
    await dialog.getByLabel('Is one of').fill('sleepwalker')
    await dialog.getByLabel('Then').selectOption('deny')
    await press(page, 'Make it', 'New policy')
    await rowOf(page, name).waitFor()
    await page.getByLabel('By an agent of the framework').fill('sleepwalker')
    await press(page, 'Simulate')
    await page.locator('.verdict').getByText(name).first().waitFor()
    await rowOf(page, name).getByRole('button', { name: 'Delete' }).click()
    await press(page, 'Delete', 'Delete')
    await rowOf(page, name).waitFor({ state: 'detached' })
  }))

it('a result has every digit that the engine answers', () =>
  walker(async ({ page }) => {
    await signIn(page)
    await open(page, '/sql', 'SQL editor')
    await run(page, 'select 9007199254740993 as big, cast(1.10 as decimal(4, 2)) as price, null as nothing')
    await page.getByRole('cell', { name: '9007199254740993', exact: true }).waitFor()
    expect(await page.getByRole('cell').allTextContents()).toEqual(['9007199254740993', '1.10', 'NULL'])
  }))

it('a result is drawn as bars', () =>
  walker(async ({ page }) => {
    await signIn(page)
    await open(page, '/sql', 'SQL editor')
    await run(page, 'select n_regionkey, n_name, n_nationkey - 2 as moved from nation order by n_nationkey limit 4')
    await press(page, 'Chart')
    const dialog = page.getByRole('dialog', { name: 'Chart' })
    await dialog.getByLabel('As long as').selectOption({ label: 'moved' })
    await dialog.getByRole('row').filter({ hasText: 'ALGERIA' }).getByText('-2').waitFor()
    const drawn = await dialog.locator('rect').evaluateAll((all) => all.map((one) => [Number(one.getAttribute('x')), Number(one.getAttribute('width'))]))
    expect(drawn.map(([, width]) => Math.round(width ?? 0))).toEqual([67, 33, 0, 33])
    expect(await violations(page)).toEqual([])
  }))

it('a statement that takes too long is cancelled by a button', () =>
  walker(async ({ page }) => {
    await signIn(page)
    await open(page, '/sql', 'SQL editor')
    await run(page, 'select count(*) from lineitem a, lineitem b where a.l_orderkey < b.l_partkey')
    await press(page, 'Cancel')
    await page.getByText('you cancelled it').waitFor()
  }))

it('a webhook is tested, and what is told is seen to be delivered', () =>
  walker(async ({ page }) => {
    const received: string[] = []
    const receiver = createServer((request, response) => {
      received.push(String(request.headers['x-service-signature']))
      response.end()
    })
    await new Promise<void>((ready) => receiver.listen(0, '127.0.0.1', ready))
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
    try {
      await signIn(page)
      await open(page, '/webhooks', 'Webhooks')
      await press(page, 'New webhook')
      await page.getByRole('dialog').getByLabel('Address').fill(url)
      await page.getByRole('dialog').getByLabel('policy.deleted').check()
      await press(page, 'Make it', 'New webhook')
      await press(page, 'I have it')
      await rowOf(page, url).getByRole('button', { name: 'Test' }).click()
      await press(page, 'Send a test')
      await page.getByText(/^Delivered: answered 200/).waitFor()
      await press(page, 'Close')
      await rowOf(page, url).getByRole('button', { name: 'Delete' }).click()
      await press(page, 'Delete', 'Delete')
      await rowOf(page, url).waitFor({ state: 'detached' })
      await page.getByRole('tab', { name: 'Of notices', exact: true }).click()
      await press(page, 'New receiver of notices')
      await page.getByRole('dialog').getByLabel('Address').fill(url)
      await page.getByRole('dialog').getByLabel('Secret that signs').fill('a-secret-of-the-walk-alone')
      await page.getByRole('dialog').getByLabel('agent.key_revoked').check()
      await press(page, 'Make it', 'New receiver of notices')
      await rowOf(page, url).waitFor()
      const keys = `/v1/environments/${platform.envId}/api-keys`
      const key = await asProgram('POST', keys, { name: unique('short-lived'), scopes: ['query:read'] })
      await asProgram('DELETE', `${keys}/${String(key.body['key_id'])}`)
      await expect.poll(() => received.length, { timeout: 20_000 }).toBe(2)
      expect(received.every((signature) => signature.startsWith('sha256='))).toBe(true)
      await expect.poll(async () => {
        await page.reload()
        await page.getByRole('tab', { name: 'Deliveries of notices' }).click()
        await page.getByRole('table').waitFor()
        return rowOf(page, 'agent.key_revoked').first().getByText('delivered').count()
      }, { timeout: 20_000 }).toBe(1)
      await page.getByRole('tab', { name: 'Of notices', exact: true }).click()
      await rowOf(page, url).getByRole('button', { name: 'Delete' }).click()
      await press(page, 'Delete', 'Delete')
      await rowOf(page, url).waitFor({ state: 'detached' })
    } finally {
      receiver.closeAllConnections()
      receiver.close()
    }
  }))

it('a log of another warehouse is replayed, and what differs is told', () =>
  walker(async ({ page }) => {
    await signIn(page)
    await open(page, '/shadow', 'Shadow mode')
    await press(page, 'Start a session')
    await press(page, 'Start', 'Start a session')
    const lines = ['{"sql": "select count(*) from region", "row_count": 1}', '{"sql": "select * from region", "row_count": 7}']
    await page.getByLabel('File of JSON lines').setInputFiles({ name: 'log.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(lines.join('\n')) })
    await page.getByText('2 queries are being replayed').waitFor()
    await expect.poll(async () => {
      await page.reload()
      await page.getByText('Replayed', { exact: true }).waitFor()
      return page.getByText('2: 1 the same, 1 not').count()
    }, { timeout: 20_000 }).toBe(1)
    await page.getByRole('region', { name: 'What differed' }).getByText('select * from region', { exact: false }).first().waitFor()
    await press(page, 'Stop')
    await press(page, 'Stop', 'Stop')
    await page.getByText('stopped').waitFor()
  }))
