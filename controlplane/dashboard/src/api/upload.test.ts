import { afterEach, expect, it, vi } from 'vitest'
import { problemOf } from './problem'
import { upload } from './upload'

/** A request of a browser that has been sent; the test says what becomes of it. */
class Sent {
  static last: Sent
  readonly upload: { onprogress?: (event: { loaded: number }) => void } = {}
  readonly headers: [string, string][] = []
  onload?: () => void
  onabort?: () => void
  onerror?: () => void
  onloadend?: () => void
  status = 0
  statusText = ''
  responseText = ''
  body: unknown

  constructor() {
    Sent.last = this
  }

  open(): void {}
  setRequestHeader(name: string, value: string): void {
    this.headers.push([name, value])
  }
  getResponseHeader(): string {
    return 'req-1'
  }
  send(body: unknown): void {
    this.body = body
  }
  abort(): void {
    this.onabort?.()
    this.onloadend?.()
  }
}

const file = new Blob(['a\n1\n'])

function begun() {
  vi.stubGlobal('XMLHttpRequest', Sent)
  const abort = new AbortController()
  const told: number[] = []
  const answer = upload('/load', new Headers({ 'x-csrf-token': 'held' }), file, { signal: abort.signal, sent: (bytes) => told.push(bytes) })
  return { abort, told, answer, sent: Sent.last }
}

afterEach(() => {
  vi.unstubAllGlobals()
})

it('a file is the body, what has left is told, and the answer is that of the platform', async () => {
  const { sent, told, answer } = begun()
  expect([sent.body, sent.headers]).toEqual([file, [['x-csrf-token', 'held']]])
  sent.upload.onprogress?.({ loaded: 2 })
  sent.upload.onprogress?.({ loaded: 4 })
  Object.assign(sent, { status: 409, responseText: '{"error":{}}' })
  sent.onload?.()
  const response = await answer
  expect([told, response.status, await response.text(), response.headers.get('x-request-id')]).toEqual([[2, 4], 409, '{"error":{}}', 'req-1'])
})

it('whoever cancels is told so, before it begins as well', async () => {
  const { abort, answer } = begun()
  abort.abort()
  expect(problemOf(await answer.catch((error: unknown) => error)).code).toBe('CANCELLED')
  const late = upload('/load', new Headers(), file, { signal: abort.signal, sent: () => undefined })
  expect(problemOf(await late.catch((error: unknown) => error)).code).toBe('CANCELLED')
})

it('a connection that breaks is no answer', async () => {
  const { sent, answer } = begun()
  sent.onerror?.()
  expect(problemOf(await answer.catch((error: unknown) => error)).code).toBe('UNREACHABLE')
})
