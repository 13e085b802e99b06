/** Decisions of people on the work of agents: whose changes count, what goes out, and what is noticed. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, expect, it } from 'vitest'
import { asAgent, asProgram, open, platform, press, queried, rowOf, run, signIn, type, unique, violations, walker } from './browser'
import { change, disputed, silent, strayed, thought, undecidable } from './world'

/** The shortest lease there is; it runs out while the other walks are walked. */
const LEASE_SECS = 30
let lost: string

beforeAll(async () => {
  lost = await silent(LEASE_SECS)
})

it('a branch is made, each conflict decided, and merged as it was decided', () =>
  walker(async ({ page }) => {
    const name = unique('beds')
    const table = name.replaceAll('-', '_')
    expect((await queried(`create table ${table} (sku integer primary key, amount integer)`)).status).toBe(200)
    expect((await queried(`insert into ${table} values (1, 10), (2, 20), (3, 30)`)).status).toBe(200)
    await signIn(page)
    await open(page, '/branches', 'Branches')
    await press(page, 'New branch')
    const dialog = page.getByRole('dialog', { name: 'New branch' })
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByLabel(`main.${table}`).check()
    await dialog.getByLabel('For the agent').fill('gardener')
    await press(page, 'Make it', 'New branch')
    await page.getByText('Nothing that was changed here').waitFor()
    await change(page.url().split('/').pop() ?? '', table)
    await page.reload()
    await page.getByText('0 of 2 are decided.').waitFor()
    expect(await page.getByRole('button', { name: 'Merge', exact: true }).count()).toBe(0)
    await page.getByRole('radiogroup', { name: 'sku = 1' }).getByLabel('Branch').check()
    await page.getByRole('radiogroup', { name: 'sku = 2' }).getByLabel('Mainline').check()
    await page.getByText('2 of 2 are decided.').waitFor()
    expect(await violations(page)).toEqual([])
    await press(page, 'Dry run')
    await page.getByText(`It would bring the changes of main.${table}, with 2 conflicts`).waitFor()
    await press(page, 'Merge')
    await press(page, 'Merge it', 'Merge the branch')
    await page.getByText('Merged: 2 rows').waitFor()
    const left = await queried(`select amount from ${table} order by sku`)
    expect(left.body['rows']).toEqual([[11], [22], [31]])
  }))

it('whoever has only a keyboard decides conflicts and merges', () =>
  walker(async ({ page }) => {
    const { id, table } = await disputed(unique('lawns'))
    await signIn(page)
    await open(page, `/branches/${id}`, 'Branch')
    await page.getByRole('radiogroup').first().getByRole('radio').first().focus()
    await page.keyboard.press('Space')
    await page.keyboard.press('ArrowRight')
    await page.getByText('1 of 2 are decided.').waitFor()
    await page.getByRole('radiogroup').last().getByRole('radio').first().focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    await page.getByText('2 of 2 are decided.').waitFor()
    await page.getByRole('button', { name: 'Merge', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Merge the branch' }).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('Merged: 2 rows').waitFor()
    expect((await queried(`select amount from ${table} order by sku`)).body['rows']).toEqual([[12], [21], [31]])
  }))

it('the rows that a branch has changed are shown before it is merged, and the editor works on it', () =>
  walker(async ({ page }) => {
    const { id, table } = await disputed(unique('ponds'))
    await signIn(page)
    await open(page, `/branches/${id}`, 'Branch')
    const rows = page.getByRole('region', { name: `Changed rows of main.${table}` })
    await rows.getByText('30 31').waitFor()
    expect(await rows.getByRole('row').count()).toBe(4)
    expect(await violations(page)).toEqual([])
    await page.getByRole('link', { name: 'Work on it in the SQL editor' }).click()
    await run(page, `insert into ${table} values (4, 40, 'D')`)
    await page.getByText('nothing masked').waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByRole('link', { name: 'What it has changed, and its merge' }).click()
    await rows.getByText('added').waitFor()
    expect((await queried(`select count(*) from ${table}`)).body['rows']).toEqual([[3]])
  }))

it('a table without a key that both sides have changed is decided as a whole', () =>
  walker(async ({ page }) => {
    const { id, table } = await undecidable(unique('weeds'))
    await signIn(page)
    await open(page, `/branches/${id}`, 'Branch')
    await page.getByText(`no key tells the rows of main.${table} apart`).waitFor()
    const sides = page.getByLabel('Where both sides changed the same, take')
    expect(await sides.locator('option').allTextContents()).toEqual(['nobody: then nothing is merged', 'what is chosen above'])
    await page.getByRole('radiogroup', { name: 'the whole table' }).getByLabel('Branch').check()
    await page.getByText('1 of 1 are decided.').waitFor()
    expect(await violations(page)).toEqual([])
    await press(page, 'Merge')
    await press(page, 'Merge it', 'Merge the branch')
    await page.getByText('Merged:').waitFor()
    expect((await queried(`select name from ${table} order by name`)).body['rows']).toEqual([['moss'], ['theirs']])
  }))

it('a branch is given up, and the mainline stays as it is', () =>
  walker(async ({ page }) => {
    const { id, table } = await disputed(unique('hedges'))
    await signIn(page)
    await open(page, `/branches/${id}`, 'Branch')
    await press(page, 'Discard')
    await press(page, 'Discard', 'Discard')
    await page.getByText('discarded').waitFor()
    expect((await queried(`select amount from ${table} order by sku`)).body['rows']).toEqual([[12], [22], [30]])
  }))

it('a trigger is made, tried, switched off and on again', () =>
  walker(async ({ page }) => {
    const name = unique('leaving')
    await signIn(page)
    await open(page, '/triggers', 'Triggers')
    await press(page, 'New trigger')
    const dialog = page.getByRole('dialog', { name: 'New trigger' })
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByLabel('What is to be noticed').fill('a customer wants to cancel the contract')
    await press(page, 'Make it', 'New trigger')
    await rowOf(page, name).getByText('on', { exact: true }).waitFor()
    await rowOf(page, name).getByRole('button', { name: 'Try' }).click()
    const trial = page.getByRole('dialog', { name: `Try ${name}` })
    await trial.getByLabel('A text').fill('a customer wants to cancel the contract')
    await press(page, 'Try it', `Try ${name}`)
    await trial.getByText('It would fire.').waitFor()
    await trial.getByLabel('A text').fill('seven ducks')
    await press(page, 'Try it', `Try ${name}`)
    await trial.getByText('It would not fire.').waitFor()
    expect(await violations(page)).toEqual([])
    await trial.getByRole('button', { name: 'Close' }).click()
    await rowOf(page, name).getByRole('button', { name: 'Switch off' }).click()
    await press(page, 'Switch off', 'Switch off')
    await rowOf(page, name).getByText('off', { exact: true }).waitFor()
    await rowOf(page, name).getByRole('button', { name: 'Switch on' }).click()
    await press(page, 'Switch it on', `Switch ${name} on`)
    await rowOf(page, name).getByText('on', { exact: true }).waitFor()
    expect((await asAgent('list_triggers', { status: 'active' }))['triggers']).toContainEqual(expect.objectContaining({ name, threshold: 0.7 }))
  }))

it('a gate waits for a person, who opens its review, approves it, and a release is written down', () =>
  walker(async ({ page }) => {
    const project = unique('fountain')
    await signIn(page)
    await open(page, '/gates', 'Gates')
    await page.getByLabel('Project').fill(project)
    await press(page, 'Show')
    const gate = page.getByRole('region', { name: /Proposal/ })
    await gate.getByRole('button', { name: 'Evaluate' }).click()
    const dialog = page.getByRole('dialog', { name: 'Evaluate G1' })
    await dialog.getByLabel('Facts').fill('{"proposal": ')
    await press(page, 'Evaluate', 'Evaluate G1')
    await dialog.getByText('this is no JSON').first().waitFor()
    await dialog.getByLabel('Facts').fill('{"proposal": {"document_url": "https://park.example"}}')
    await dialog.getByLabel('Only say what would come of it').uncheck()
    await press(page, 'Evaluate', 'Evaluate G1')
    await dialog.getByRole('link', { name: 'Open its review' }).click()
    await page.getByRole('heading', { level: 1, name: 'Review' }).waitFor()
    await page.getByText('in review', { exact: true }).waitFor()
    await press(page, 'Approve')
    await page.getByRole('dialog', { name: 'Approve' }).getByLabel('Notes').fill('the water is clear')
    await press(page, 'Approve', 'Approve')
    await page.getByText('approved', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Reject' }).count()).toBe(0)
    await open(page, '/releases', 'Releases')
    await rowOf(page, project).getByText('the water is clear').waitFor()
  }))

it('whoever decides a review that somebody else has changed meanwhile is told', () =>
  walker(async ({ page }) => {
    const gate = { project_id: unique('pond'), facts: { proposal: { document_url: 'https://park.example' } } }
    const { body } = await asProgram('POST', '/v2/gates/G1/evaluate', gate)
    await signIn(page)
    await open(page, `/reviews/${String(body['review_id'])}`, 'Review')
    const until = new Date(Date.now() + 86_400_000).toISOString()
    expect((await asProgram('POST', `/v2/reviews/${String(body['review_id'])}/defer`, { until })).status).toBe(200)
    await press(page, 'Reject')
    await page.getByRole('dialog').getByLabel('Why').fill('it is too deep')
    await press(page, 'Reject', 'Reject')
    await page.getByText('Somebody else has changed this').waitFor()
    await press(page, 'Load it again')
    await page.getByText('deferred', { exact: true }).waitFor()
    await press(page, 'Reject')
    await page.getByRole('dialog').getByLabel('Why').fill('it is too deep')
    await press(page, 'Reject', 'Reject')
    await page.getByText('rejected', { exact: true }).waitFor()
  }))

it('an owner sees a statement as an analyst does, and why', () =>
  walker(async ({ page }) => {
    const path = `/v1/environments/${platform.envId}/policies`
    const rules = [{ table: 'supplier', filter: 's_suppkey < 10', exempt_roles: ['owner'] }]
    const policy = await asProgram('POST', path, { name: unique('near ones'), type: 'row_level_security', enabled: true, rules })
    try {
      await signIn(page)
      await open(page, '/sql', 'SQL editor')
      await type(page, 'select count(*) from supplier')
      await press(page, 'Explain')
      await page.getByText('No policy changes what is seen.').waitFor()
      await page.getByText('As somebody else').first().click()
      await page.getByLabel('With the role').selectOption('analyst')
      await page.getByLabel('When').fill('2026-05-01T23:00')
      await page.getByLabel('Attributes').fill('region')
      await press(page, 'Explain as them')
      await page.getByText('is no line such as').first().waitFor()
      await page.getByLabel('Attributes').fill('region = EU')
      await press(page, 'Explain as them')
      await page.getByText('Policies change what is seen.').waitFor()
      await rowOf(page, 'main.supplier').getByText('s_suppkey < 10').waitFor()
      expect(await page.getByRole('region', { name: 'What would run' }).textContent()).toContain('s_suppkey')
      expect(await violations(page)).toEqual([])
    } finally {
      expect((await asProgram('DELETE', `${path}/${String(policy.body['policy_id'])}`)).status).toBe(200)
    }
  }))

it('a cloud is believed, and no more', () =>
  walker(async ({ page }) => {
    const role = `arn:aws:iam::123456789012:role/${unique('mower')}`
    await signIn(page)
    await open(page, '/sign-on', 'Single sign-on')
    await page.getByText('No identity provider yet').waitFor()
    await page.getByRole('tab', { name: 'Workload identity' }).click()
    await press(page, 'Believe a cloud')
    const dialog = page.getByRole('dialog', { name: 'Believe a cloud' })
    await dialog.getByLabel('Role', { exact: true }).fill('no-role-at-all')
    await dialog.getByLabel('Who may come').fill('* = king')
    await press(page, 'Believe it', 'Believe a cloud')
    await dialog.getByText('is no line such as').first().waitFor()
    await dialog.getByLabel('Who may come').fill('* = analyst')
    await press(page, 'Believe it', 'Believe a cloud')
    await dialog.getByText("is a role's, such as").first().waitFor()
    await dialog.getByLabel('Role', { exact: true }).fill(role)
    await press(page, 'Believe it', 'Believe a cloud')
    await rowOf(page, role).getByText('as analyst').waitFor()
    await rowOf(page, role).getByRole('button', { name: 'Remove' }).click()
    await press(page, 'Remove it', 'Remove AWS')
    await rowOf(page, role).waitFor({ state: 'detached' })
  }))

it('an identity provider is asked before it is named, and let go again', () =>
  walker(async ({ page }) => {
    let issuer = ''
    const provider = createServer((request, response) => {
      const document = { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys` }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(request.url === '/keys' ? { keys: [] } : document))
    })
    await new Promise<void>((ready) => provider.listen(0, '127.0.0.1', ready))
    try {
      await signIn(page)
      await open(page, '/sign-on', 'Single sign-on')
      await press(page, 'Name a provider')
      const dialog = page.getByRole('dialog', { name: 'Identity provider' })
      await dialog.getByLabel('Issuer').fill('http://127.0.0.1:9')
      await dialog.getByLabel('Client', { exact: true }).fill('sluice')
      await dialog.getByLabel('Secret of the client').fill('known to nobody')
      await dialog.getByLabel('Domains').fill('held.example')
      await press(page, 'Save it', 'Identity provider')
      await dialog.getByText('the issuer cannot be asked').first().waitFor()
      expect(await violations(page)).toEqual([])
      issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
      await dialog.getByLabel('Issuer').fill(issuer)
      await press(page, 'Save it', 'Identity provider')
      await page.getByRole('heading', { name: issuer }).waitFor()
      expect(await page.getByRole('region', { name: 'Redirect address' }).textContent()).toContain('/v1/auth/sso/callback')
      expect(await page.getByText('known to nobody').count()).toBe(0)
      for (const [act, becomes] of [['Allow nothing else', 'The only way in'], ['Allow passwords again', 'One way in of several']] as const) {
        await press(page, act)
        await press(page, act, act)
        await page.getByRole('heading', { name: becomes }).waitFor()
        expect(await violations(page)).toEqual([])
      }
      await press(page, 'Let it go')
      await press(page, 'Let it go', 'Let it go')
      await page.getByText('No identity provider yet').waitFor()
    } finally {
      provider.closeAllConnections()
      provider.close()
    }
  }))

it('a person decides what becomes of a failure, and it is seen that they did', () =>
  walker(async ({ page }) => {
    const attempt = await strayed()
    await signIn(page)
    await open(page, `/explain/${attempt}`, 'Explain')
    await page.getByText('the compass broke').first().waitFor()
    await press(page, 'Act')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('combobox').selectOption('retry_with_model')
    await dialog.getByRole('textbox', { name: 'Model' }).fill('large')
    await press(page, 'Do it', 'Do something about the attempt')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: 'Recovery' }).click()
    await rowOf(page, 'large').getByText('you', { exact: true }).waitFor()
    await open(page, '/recovery', 'Recovery')
    await rowOf(page, 'large').first().getByText('retry with model').waitFor()
  }))

it('a session of reasoning is told step by step, with the query it ran, and its chain is checked', () =>
  walker(async ({ page }) => {
    const session = await thought(unique('walk'))
    await signIn(page)
    await open(page, '/reasoning', 'Reasoning')
    await page.getByRole('link', { name: session, exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Session' }).waitFor()
    await page.getByText('Take the one along the wall.').waitFor()
    expect(await page.getByRole('list', { name: 'Steps' }).getByRole('listitem').count()).toBe(3)
    await press(page, 'Verify the chain')
    await page.getByText('The chain is whole.').waitFor()
    await expect.poll(async () => {
      await press(page, 'The query it ran')
      const isTold = await page.getByRole('dialog').getByText('completed').waitFor({ timeout: 1_000 }).then(() => true, () => false)
      await page.getByRole('button', { name: 'Close' }).click()
      await page.reload()
      return isTold
    }, { timeout: 20_000 }).toBe(true)
    await open(page, '/reasoning/nowhere', 'Session')
    await page.getByRole('alert').getByText('there is no such session').waitFor()
  }))

it('an attempt whose holder fell silent is seen to have lost its lease', () =>
  walker(async ({ page }) => {
    await signIn(page)
    await open(page, `/tasks/${lost}`, 'Task')
    await rowOf(page, 'sleeper').getByText('timed out').waitFor({ timeout: 50_000 })
    await page.getByRole('table').last().getByText('lease expired').first().waitFor()
  }))
