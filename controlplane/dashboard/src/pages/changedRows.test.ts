import { expect, it } from 'vitest'
import { linesOf } from './changedRows'

it('a changed row has each value as it was and as it is', () => {
  const rows = [
    { change: 'changed', times: 1, before: { sku: '1', amount: '10' }, after: { sku: '1', amount: null } },
    { change: 'added', times: 2, before: null, after: { sku: '2', amount: '20' } },
    { change: 'deleted', times: 1, before: { sku: '3', amount: '30' }, after: null },
  ]
  expect(linesOf(rows)).toEqual({
    columns: ['sku', 'amount'],
    lines: [
      { change: 'changed', times: 1, cells: [{ before: '1', after: '1', differs: false }, { before: '10', after: 'NULL', differs: true }] },
      { change: 'added', times: 2, cells: [{ after: '2', differs: false }, { after: '20', differs: false }] },
      { change: 'deleted', times: 1, cells: [{ before: '3', differs: false }, { before: '30', differs: false }] },
    ],
  })
})
