import { describe, expect, it } from 'vitest'
import { whole, wholeFile } from './whole'

/** A body that gives these pieces, and then fails where `broken` says why. */
function body(pieces: string[], broken?: unknown): ReadableStream {
  const bytes = new TextEncoder()
  return new ReadableStream({
    pull: (controller) => {
      const piece = pieces.shift()
      if (piece !== undefined) controller.enqueue(bytes.encode(piece))
      else if (broken) controller.error(broken)
      else controller.close()
    },
  })
}

describe('an answer', () => {
  it('is read to its end', async () => {
    expect(await whole(body(['{"rows":', '[]}']), 'q1')).toBe('{"rows":[]}')
  })

  it('that breaks off is incomplete, and says where the cause stands', async () => {
    const part = whole(body(['{"rows":[[1]'], new TypeError('network error')), 'q1')
    await expect(part).rejects.toMatchObject({ code: 'INCOMPLETE', message: expect.stringMatching(/incomplete.*q1/) as string })
  })

  it('that was cancelled says so', async () => {
    const part = whole(body(['{'], new DOMException('aborted', 'AbortError')), 'q1')
    await expect(part).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('that is a file is whole or none', async () => {
    expect(await (await wholeFile(body(['PAR1', 'PAR1']), 'q1')).text()).toBe('PAR1PAR1')
    const part = wholeFile(body(['PAR1'], new TypeError('network error')), 'q1')
    await expect(part).rejects.toMatchObject({ code: 'INCOMPLETE' })
  })
})
