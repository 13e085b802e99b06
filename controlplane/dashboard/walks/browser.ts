/** Debian's Chromium, and a page in it that leaves this machine for nothing. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'

function setting(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set: \`./dev test dashboard\` sets it`)
  return value
}

export const platform = {
  url: setting('SLUICE_URL'),
  orgId: setting('SLUICE_ORG_ID'),
  envId: setting('SLUICE_ENV_ID'),
  key: setting('SLUICE_KEY'),
  tools: setting('SLUICE_MCP_URL'),
  owner: { email: setting('SLUICE_OWNER_EMAIL'), password: setting('SLUICE_OWNER_PASSWORD') },
}

/** The platform by a name that is not this machine's own, over plain HTTP: browsers keep no session there. */
export const elsewhere = platform.url.replace(/\/\/[^:/]+/, '//sluice.test')

const QUIET = ['--host-resolver-rules=MAP sluice.test 127.0.0.1', '--disable-quic', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']

let browser: Browser

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: setting('SLUICE_CHROMIUM'), args: QUIET, chromiumSandbox: process.getuid?.() !== 0 })
})

afterAll(async () => {
  await browser.close()
})

export interface Walker {
  context: BrowserContext
  page: Page
}

interface Looks {
  width?: number
  colorScheme?: 'light' | 'dark'
  url?: string
}

/** Somebody in front of a browser of their own. What the page's policy blocks, or a script throws, fails. */
export async function walker<T>(walk: (walker: Walker) => Promise<T>, { width = 1440, colorScheme = 'light', url = platform.url }: Looks = {}): Promise<T> {
  const context = await browser.newContext({ baseURL: url, viewport: { width, height: 900 }, colorScheme, reducedMotion: 'reduce' })
  const wrong: string[] = []
  await context.route('**/*', (route) => {
    const { origin } = new URL(route.request().url())
    if (origin === url) return route.continue()
    wrong.push(`left for ${route.request().url()}`)
    return route.abort()
  })
  const page = await context.newPage()
  page.setDefaultTimeout(10_000)
  page.on('pageerror', (error) => wrong.push(`threw: ${error.message}`))
  page.on('console', (message) => {
    if (/Content.Security.Policy/i.test(message.text())) wrong.push(message.text())
  })
  try {
    const result = await walk({ context, page })
    expect(wrong).toEqual([])
    return result
  } finally {
    await context.close()
  }
}

export async function signIn(page: Page, who: { email: string; password: string } = platform.owner): Promise<void> {
  await page.goto('/')
  await page.getByLabel('E-mail').fill(who.email)
  await page.getByLabel('Password').fill(who.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
}

/** A page of the dashboard, once it shows more than that it loads. */
export async function open(page: Page, path: string, title: string): Promise<void> {
  await page.goto(`/#${path}`)
  await page.getByRole('heading', { level: 1, name: title }).waitFor()
  await page.waitForFunction(() => !document.querySelector('.skeleton'))
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe holds against the page as it is. The debugger brings it in, once for each document: the page's policy lets no script in. */
export async function violations(page: Page): Promise<string[]> {
  const devtools = await page.context().newCDPSession(page)
  const known = await devtools.send('Runtime.evaluate', { expression: 'typeof axe' })
  if (known.result.value === 'undefined') await devtools.send('Runtime.evaluate', { expression: axe })
  const asked = await devtools.send('Runtime.evaluate', {
    expression: `axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html + ' ' + node.failureSummary).join('; ')))`,
    awaitPromise: true,
    returnByValue: true,
  })
  await devtools.detach()
  return asked.result.value as string[]
}

/** The platform as a program sees it, by the demo's key. */
export async function asProgram(method: string, path: string, body?: unknown, key = platform.key): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(platform.url + path, {
    method,
    headers: { authorization: `ApiKey ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

export const queried = (sql: string, key?: string) => asProgram('POST', `/v1/environments/${platform.envId}/query`, { sql }, key)

/** A tool of the agent tool server, called with the demo's key. */
export async function asAgent(name: string, args: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(platform.tools, {
    method: 'POST',
    headers: { authorization: `ApiKey ${platform.key}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  })
  const { result } = (await response.json()) as { result?: { isError?: boolean; structuredContent: Record<string, unknown> } }
  if (!result || result.isError) throw new Error(`${name}: ${JSON.stringify(result)}`)
  return result.structuredContent
}

/** What was made, or what was answered instead. */
export async function made(path: string, body: unknown, method = 'POST'): Promise<Record<string, unknown>> {
  const answer = await asProgram(method, path, body)
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

export const unique = (name: string) => `${name}-${Date.now().toString(36)}`

export async function type(page: Page, sql: string): Promise<void> {
  await page.getByRole('textbox', { name: 'SQL' }).focus()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(sql)
}

export async function run(page: Page, sql: string): Promise<void> {
  await type(page, sql)
  await page.getByRole('button', { name: 'Run', exact: true }).click()
}

export async function press(page: Page, name: string, dialog?: string): Promise<void> {
  const scope = dialog ? page.getByRole('dialog', { name: dialog }) : page
  await scope.getByRole('button', { name, exact: true }).click()
}

/** Chooses a file that the test makes up, where data is added. */
export async function choose(page: Page, name: string, text: string): Promise<void> {
  await page.getByLabel('File', { exact: true }).setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(text) })
}

export const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text })

/** Somebody new, with a password and this role. */
export async function member(role: string): Promise<{ email: string; password: string }> {
  const who = { email: `${unique(role)}@held.example`, password: 'a long walk in the park' }
  const { invitation_token: token } = await made(`/v1/organizations/${platform.orgId}/users/invite`, { email: who.email, role })
  await made('/v1/auth/accept-invitation', { token, password: who.password, name: role })
  return who
}

/** The links of the side; where it is narrow, they are behind a button. */
export async function links(page: Page): Promise<{ path: string; title: string }[]> {
  return page.locator('nav[aria-label=Pages] a').evaluateAll((all) =>
    all.map((one) => ({ path: one.getAttribute('href')?.replace(/^#/, '') ?? '', title: one.textContent ?? '' })),
  )
}
