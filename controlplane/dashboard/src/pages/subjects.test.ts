import { expect, it } from 'vitest'
import { problemOf } from '../api/problem'
import { linesOf, subjectsIn } from './subjects'

it('a subject is a line, and its role stands behind the last sign', () => {
  const subjects = [
    { match: 'system:etl=nightly', role: 'developer' as const },
    { match: '*', role: 'analyst' as const },
  ]
  expect(subjectsIn('subjects', ' system:etl=nightly = developer\n\n*=analyst\n')).toEqual(subjects)
  expect(subjectsIn('subjects', linesOf(subjects))).toEqual(subjects)
})

it.each(['nobody', '= analyst', '* = owner', '* ='])('a line that says nobody or no role is refused: %s', (line) => {
  let problem
  try {
    subjectsIn('subjects', line)
  } catch (error) {
    problem = problemOf(error)
  }
  expect(problem?.field).toBe('subjects')
})
