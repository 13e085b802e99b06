import { expect, it } from 'vitest'
import { difference, healed, pieces } from './healed'

const slip = { wrong: 'nmae', right: 'name' }

it('a warning of healing tells what was read as what, any other warning nothing', () => {
  expect(healed('healed: form was read as FROM')).toEqual({ wrong: 'form', right: 'FROM' })
  expect(healed('healed: my KÄSE was read as my Käse')).toEqual({ wrong: 'my KÄSE', right: 'my Käse' })
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

it('what differs stands in both texts, and all of both is there', () => {
  const cases: [string, string, string[]][] = [
    ['select nmae, nmae from t', 'select name, name from t', ['nmae>name', 'nmae>name']],
    ["select 'nmae' from ordres", "select 'nmae' from orders", ['ordres>orders']],
    ['select 1 form t', 'select 1 from t', ['form>from']],
    ['select a from t', 'select "a b", c from t', ['a>"a b", c']],
    ['select 1', 'select 1', []],
    ['', 'select 1', ['>select 1']],
  ]
  for (const [sql, other, changes] of cases) {
    const all = difference(sql, other)
    expect(all.map(({ gone }) => gone).join('')).toBe(sql)
    expect(all.map(({ come }) => come).join('')).toBe(other)
    expect(all.filter(({ gone, come }) => gone !== come).map(({ gone, come }) => `${gone}>${come}`)).toEqual(changes)
  }
})
