import { expect, it } from 'vitest'
import { added, closed, opened, SHEETS_MAX, titleOf, typed, type Sheets } from './sheets'

const three: Sheets = { all: [{ id: 1, text: 'a' }, { id: 2, text: 'b' }, { id: 5, text: 'c' }], at: 1 }
const ids = ({ all }: Sheets) => all.map(({ id }) => id)

it('a new one is empty, last, shown, and no other has its id', () => {
  const four = added(three)
  expect(four.all.at(-1)).toEqual({ id: 6, text: '' })
  expect(four.at).toBe(3)
})

it('there are only so many', () => {
  let many = three
  for (let n = 0; n < 20; n += 1) many = added(many)
  expect(many.all.length).toBe(SHEETS_MAX)
})

it.each([
  [0, [2, 5], 2],
  [1, [1, 5], 5],
  [2, [1, 2], 2],
])('closing the one at %i leaves %j and shows %i', (place, left, shown) => {
  const after = closed(three, place)
  expect(ids(after)).toEqual(left)
  expect(after.all[after.at]?.id).toBe(shown)
})

it('the last that is closed leaves an empty one that is not itself', () => {
  const one = closed(closed(closed(three, 0), 0), 0)
  expect(one).toEqual({ all: [{ id: 6, text: '' }], at: 0 })
})

it('what is typed into one changes no other', () => {
  expect(typed(three, 2, 'select 1').all.map(({ text }) => text)).toEqual(['a', 'select 1', 'c'])
})

it('a statement that somebody is led to is shown, and is there once', () => {
  const four = opened(three, 'd')
  expect([four.all.at(-1)?.text, four.at]).toEqual(['d', 3])
  expect(opened({ ...four, at: 0 }, 'd')).toEqual(four)
  expect(opened({ all: [{ id: 1, text: ' ' }], at: 0 }, 'd')).toEqual({ all: [{ id: 1, text: 'd' }], at: 0 })
})

it.each([
  ['', 'New statement'],
  ['  \n', 'New statement'],
  ['select  *\nfrom orders where o_orderkey = 1', 'select * from orders'],
  ['-- revenue by nation\nselect 1', 'revenue by nation select'],
  ['select a_column_with_quite_a_long_name from t', 'select a_column_with_quite_a…'],
])('%j is called %j', (text, title) => {
  expect(titleOf(text)).toBe(title)
})
