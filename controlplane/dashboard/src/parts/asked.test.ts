import { expect, it } from 'vitest'
import { firstChoices, isAsked } from './asked'

const FIELDS = [
  { name: 'kind', label: 'Kind', kind: 'select', options: ['s3', { value: 'file', label: 'A folder' }] },
  { name: 'size', label: 'Size', kind: 'select', initial: 'large', options: ['small', 'large'] },
  { name: 'note', label: 'Note' },
] as const

it('a select has its first option until another is chosen', () => {
  expect(firstChoices(FIELDS)).toEqual({ kind: 's3', size: 'large' })
})

it('a field is asked while the selects that it names have one of its values', () => {
  const chosen = firstChoices(FIELDS)
  expect(isAsked({}, chosen)).toBe(true)
  expect(isAsked({ only: { kind: ['s3', 'azure'] } }, chosen)).toBe(true)
  expect(isAsked({ only: { kind: ['file'] } }, chosen)).toBe(false)
  expect(isAsked({ only: { kind: ['s3'], size: ['small'] } }, chosen)).toBe(false)
  expect(isAsked({ only: { kind: ['s3'], size: ['small'] } }, { ...chosen, size: 'small' })).toBe(true)
  // a form without that select, which changes credentials alone, asks
  expect(isAsked({ only: { other: ['x'] } }, chosen)).toBe(true)
})
