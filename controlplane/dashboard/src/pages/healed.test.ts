import { expect, it } from 'vitest'
import { healed, pieces } from './healed'

const slip = { wrong: 'nmae', right: 'name' }

it('a warning of healing tells both names, any other warning none', () => {
  expect(healed('healed: column nmae does not exist, name was taken instead')).toEqual(slip)
  expect(healed('healed: table my ordres does not exist, my orders was taken instead')).toEqual({ wrong: 'my ordres', right: 'my orders' })
  for (const other of ['SVC_ERR_403_COLUMN_MASKED: ssn', 'nmae does not exist', { message: 'healed' }, null]) expect(healed(other)).toBeNull()
})

it('only names are struck, and the statement stays whole', () => {
  const cases: [string, string[]][] = [
    ['select nmae from t', ['nmae']],
    ["select t.NMAE, 'nmae' from t -- nmae", ['NMAE']],
    ['select "nmae" from nmae_x /* nmae */', ['"nmae"']],
    ["select 'it''s nmae', $$nmae$$ from t", []],
    ['select nmae, nmae from ü', ['nmae', 'nmae']],
  ]
  for (const [sql, struck] of cases) {
    const all = pieces(sql, slip)
    expect(all.map(({ text }) => text).join('')).toBe(sql)
    expect(all.filter(({ wrong }) => wrong).map(({ text }) => text)).toEqual(struck)
  }
})
