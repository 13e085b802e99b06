import { expect, it } from 'vitest'
import { sentence } from './abacRules'

type Rule = Parameters<typeof sentence>[0]

it.each([
  [{ condition: 'RoleIs', values: ['analyst', 'auditor'], action: 'deny' }, 'deny if the role is analyst or auditor'],
  [{ condition: 'StageIs', values: ['raw.landing'], action: 'deny' }, 'deny if it is about the stage raw.landing'],
  [{ condition: 'TimeOfDay', start: '22:00', end: '06:00', timezone: null, action: 'read_only' }, 'read only if the time of day is 22:00–06:00 UTC'],
  [{ condition: 'OfLater', values: ['x'], action: 'allow' }, 'allow if OfLater x'],
])('%o is told in words', (rule, words) => {
  expect(sentence(rule as unknown as Rule)).toBe(words)
})
