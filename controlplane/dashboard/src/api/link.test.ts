import { expect, test } from 'vitest'
import { nextCursor } from './link'

test('the next page is the one that the header leads to', () => {
  expect(nextCursor('</v1/organizations/o/agent-memory?limit=2&cursor=MTI6bQ>; rel="next"')).toBe('MTI6bQ')
  expect(nextCursor('</docs>; rel="deprecation", </v1/x?cursor=c&limit=1>; rel="next"')).toBe('c')
})

test('the last page leads nowhere', () => {
  expect(nextCursor(null)).toBeUndefined()
  expect(nextCursor('</docs?cursor=c>; rel="deprecation"; type="text/html"')).toBeUndefined()
})
