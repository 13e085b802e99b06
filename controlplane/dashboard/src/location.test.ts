import { expect, it } from 'vitest'
import { apart } from './location'

it.each([
  ['', '/', ''],
  ['#/', '/', ''],
  ['#/audit', '/audit', ''],
  ['#/audit?table=main.orders&outcome=refused', '/audit', 'table=main.orders&outcome=refused'],
  ['#audit?table=a?b', '/audit', 'table=a?b'],
  ['#/reasoning/paths%252Fa', '/reasoning/paths%252Fa', ''],
])('%s is a page and what it is narrowed to', (hash, page, narrowed) => {
  expect(apart(hash)).toEqual([page, narrowed])
})
