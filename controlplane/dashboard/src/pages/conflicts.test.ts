import { describe, expect, it } from 'vitest'
import { areDecidable, cellsOf, inOrder, isDecided, rowOf, strategies, type Conflict } from './conflicts'

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

const WHOLE: Conflict = {
  conflict_id: 'c2',
  table: 'main.note',
  kind: 'table',
  key: {},
  base: { rows: 3 },
  ours: { rows: 4, added: 1, deleted: 0 },
  theirs: { rows: 1, added: 0, deleted: 2 },
  columns: [],
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

  it('of a table without a key says how many rows each side has and has changed', () => {
    expect(rowOf(WHOLE)).toBe('the whole table')
    expect(cellsOf(WHOLE)).toEqual([
      { column: 'Rows', values: { base: '3', ours: '4', theirs: '1' }, differs: true },
      { column: 'Rows added', values: { base: '–', ours: '1', theirs: '0' }, differs: true },
      { column: 'Rows deleted', values: { base: '–', ours: '0', theirs: '2' }, differs: true },
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

  it('begins with nobody being right, and of a table no side is', () => {
    expect(strategies([CHANGED], 1)).toEqual(['fail_on_conflict', 'manual', 'branch_wins', 'main_wins'])
    expect(strategies([CHANGED], 51)).toEqual(['fail_on_conflict', 'branch_wins', 'main_wins'])
    expect(strategies([CHANGED, WHOLE], 2)).toEqual(['fail_on_conflict', 'manual'])
    expect(strategies([CHANGED, WHOLE], 51)).toEqual(['fail_on_conflict'])
  })

  it('is decided by who is right, or each by itself', () => {
    expect(isDecided('fail_on_conflict', [], {})).toBe(true)
    expect(isDecided('fail_on_conflict', [CHANGED], { c1: 'ours' })).toBe(false)
    expect(isDecided('branch_wins', [CHANGED], {})).toBe(true)
    expect(isDecided('manual', [CHANGED, WHOLE], { c1: 'ours' })).toBe(false)
    expect(isDecided('manual', [CHANGED, WHOLE], { c1: 'ours', c2: 'theirs' })).toBe(true)
  })
})
