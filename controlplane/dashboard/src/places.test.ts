import { describe, expect, it } from 'vitest'
import { inPath, ofPath } from './places'

describe('an id in a path', () => {
  it.each(['plain', 'a/b', '50 % of it', 'a%2Fb', 'ü?#&', '%'])('%s comes out as it went in', (id) => {
    const path = `/reasoning/${inPath(id)}`
    expect(path.split('/')).toHaveLength(3)
    // What the router does to a path.
    expect(ofPath(decodeURI(path).split('/')[2] ?? '')).toBe(id)
  })

  it('what was typed and cannot be decoded is taken as it is', () => {
    expect(ofPath('50%')).toBe('50%')
  })
})
