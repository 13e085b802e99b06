import { describe, expect, it } from 'vitest'
import { bars, drawable } from './charted'

const first = (row: readonly unknown[]) => String(row[0])

describe('a chart', () => {
  it('names bars by what is no number, where there is such a column', () => {
    expect(drawable([{ type: 'BIGINT' }, { type: 'VARCHAR' }, { type: 'DECIMAL(12,2)' }])).toEqual({ names: [1], numbers: [0, 2] })
    expect(drawable([{ type: 'INTEGER' }, { type: 'DOUBLE' }])).toEqual({ names: [0, 1], numbers: [0, 1] })
    expect(drawable([{ type: 'DATE' }]).numbers).toEqual([])
  })

  it('has one scale, from zero', () => {
    expect(bars([['a', 10], ['b', '5'], ['c', null]], first, 1)).toEqual([
      { name: 'a', value: 10, from: 0, width: 100 },
      { name: 'b', value: 5, from: 0, width: 50 },
    ])
  })

  it('draws what is below zero to the other side', () => {
    expect(bars([['a', -1], ['b', 3]], first, 1)).toEqual([
      { name: 'a', value: -1, from: 0, width: 25 },
      { name: 'b', value: 3, from: 25, width: 75 },
    ])
  })

  it('of nothing but zeros is empty and no error', () => {
    expect(bars([['a', 0]], first, 1)).toEqual([{ name: 'a', value: 0, from: 0, width: 0 }])
  })
})
