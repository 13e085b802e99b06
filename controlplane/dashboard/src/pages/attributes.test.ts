import { expect, it } from 'vitest'
import { problemOf } from '../api/problem'
import { attributesIn } from './attributes'

it('attributes are a line each, and a value may have a sign of its own', () => {
  expect(attributesIn('attributes', 'region = EU\n\nteam=a=b')).toEqual({ region: 'EU', team: 'a=b' })
  expect(attributesIn('attributes', '')).toEqual({})
})

it.each(['region', '= EU'])('a line without a name is refused by its field: %s', (line) => {
  let problem
  try {
    attributesIn('attributes', line)
  } catch (error) {
    problem = problemOf(error)
  }
  expect(problem?.field).toBe('attributes')
})
