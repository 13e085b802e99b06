import { describe, expect, it } from 'vitest'
import { problemOf } from '../api/problem'
import { blank, listIn, objectIn } from './gateFacts'

function refused(act: () => unknown): [string | undefined, string] {
  try {
    act()
  } catch (error) {
    const { field, message } = problemOf(error)
    return [field, message]
  }
  return [undefined, 'it was taken']
}

describe('facts of a gate', () => {
  it('are asked for by the paths of its conditions', () => {
    expect(blank(['tests.pass_rate', 'tests.count', 'plain'])).toEqual({ tests: { pass_rate: null, count: null }, plain: null })
    expect(blank(['a', 'a.b', 'a'])).toEqual({ a: { b: null } })
  })

  it('that cannot be sent are refused by the name of their field', () => {
    expect(objectIn('facts', '{"a": 1}')).toEqual({ a: 1 })
    expect(listIn('predicates', '[1]')).toEqual([1])
    expect(refused(() => objectIn('facts', '[]'))).toEqual(['facts', 'this is JSON, but no object'])
    expect(refused(() => listIn('predicates', '{}'))).toEqual(['predicates', 'this is JSON, but no list'])
    expect(refused(() => objectIn('facts', '{'))[1]).toMatch(/^this is no JSON/)
  })
})
