import { describe, expect, it } from 'vitest'
import { keysOf } from './branchKeys'

describe('keys of tables', () => {
  it('are a line each', () => {
    expect(keysOf(' stock: sku, place\n\nsales.offer:id \n')).toEqual({ stock: ['sku', 'place'], 'sales.offer': ['id'] })
    expect(keysOf('  \n')).toEqual({})
  })

  it('that name no column are for the platform to refuse', () => {
    expect(keysOf('stock')).toEqual({ stock: [] })
  })
})
