import { describe, expect, it } from 'vitest'
import { areDecidable, cellsOf, inOrder, rowOf, type Conflict } from './conflicts'

const CHANGED: Conflict = {
  conflict_id: 'c1',
  table: 'main.stock',
  kind: 'divergent_update',
  key: { sku: 1, place: 'A' },
  base: { amount: 10, note: null },
  ours: { amount: 12, note: null },
  theirs: { amount: 11, note: null },
  columns: ['amount'],
}

describe('a conflict', () => {
  it('has a line for each column, and says which differ', () => {
    expect(cellsOf(CHANGED)).toEqual([
      { column: 'amount', values: { base: '10', ours: '12', theirs: '11' }, differs: true },
      { column: 'note', values: { base: 'NULL', ours: 'NULL', theirs: 'NULL' }, differs: false },
    ])
    expect(rowOf(CHANGED)).toBe('sku = 1, place = A')
  })

  it('of a row that one side has deleted says that there is no row', () => {
    expect(cellsOf({ ...CHANGED, kind: 'delete_update', ours: null }).map((line) => line.values.ours)).toEqual(['no row', 'no row'])
  })

  it('of a row without a key says how often it is there', () => {
    expect(cellsOf({ ...CHANGED, base: 1, ours: 2, theirs: 0 })).toEqual([
      { column: 'how often', values: { base: '1', ours: '2', theirs: '0' }, differs: true },
    ])
  })

  it('stands where somebody looks for its row', () => {
    const rows = [10, 9, 1].map((sku) => ({ ...CHANGED, key: { sku } }))
    expect(inOrder(rows).map(rowOf)).toEqual(['sku = 1', 'sku = 9', 'sku = 10'])
  })

  it('is decided here unless there are more of them, or the shape of a table has changed', () => {
    expect(areDecidable([CHANGED], 1)).toBe(true)
    expect(areDecidable([CHANGED], 51)).toBe(false)
    expect(areDecidable([{ ...CHANGED, kind: 'schema' }], 1)).toBe(false)
  })
})
