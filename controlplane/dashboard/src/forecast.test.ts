import { expect, it } from 'vitest'
import { atItsEnd } from './forecast'

const DAY = 86_400_000

it.each([
  ['goes on as it began', 10 * DAY, 300],
  ['is what was used when it is over', 40 * DAY, 100],
  ['is not told on its first day', DAY - 1, undefined],
])('a period %s', (_, now, expected) => {
  expect(atItsEnd(100, 0, 30 * DAY, now)).toBe(expected)
})
