import { expect, it } from 'vitest'
import { tablesOf } from '../tables'
import { caret } from './Place'

it('a caret stands under the column of its line', () => {
  expect(caret('select\n  x', 2, 3)).toBe('2 |   x\n      ^')
  expect(caret('select', 7, 1)).toBeUndefined()
  expect(caret('select', Number(undefined), Number(undefined))).toBeUndefined()
})

it('columns are gathered by their table', () => {
  const rows = [
    ['main', 'a', 'x', 'INTEGER'],
    ['main', 'a', 'y', 'VARCHAR'],
    ['sales', 'a', 'x', 'DATE'],
  ]
  expect(tablesOf(rows).map((table) => [table.schema, table.name, table.columns.length])).toEqual([
    ['main', 'a', 2],
    ['sales', 'a', 1],
  ])
})
