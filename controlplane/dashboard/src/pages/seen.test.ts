import { expect, it } from 'vitest'
import { asksFor, seen } from './seen'

it.each([
  'select c_phone from customer',
  'SELECT C_Phone FROM customer',
  'select "c_phone" from customer',
  'select c.c_phone || ? from customer c',
  'select 1 from customer where c_phone = ?',
  'select * from customer',
  'select c.*, o.o_orderkey from customer c join orders o on true',
  'select * exclude (c_name) from customer',
  'select count(*), (select * from nation) from customer',
  'from customer',
  'table customer',
  'summarize customer',
  'select columns(?) from customer',
])('%s asks for the column', (sql) => {
  expect(asksFor(sql, 'c_phone')).toBe(true)
})

it.each([
  'select count(*) from customer',
  'select count ( * ) from customer',
  'select c_acctbal * ? from customer',
  'select c_acctbal * c_custkey from customer',
  'select c_phone_2, my_c_phone, c_phone$ from customer',
])('%s does not', (sql) => {
  expect(asksFor(sql, 'c_phone')).toBe(false)
})

it('a column is named as it is, whatever characters it has', () => {
  expect(asksFor('select "a.b" from t', 'a.b')).toBe(true)
  expect(asksFor('select axb from t', 'a.b')).toBe(false)
})

it.each([
  [{ rows_returned: 3, columns_masked: [] }, 'unmasked'],
  [{ rows_returned: 3, columns_masked: ['c_name', 'C_PHONE'] }, 'masked'],
  [{ rows_returned: 3, columns_masked: ['c_name'] }, 'unmasked'],
  [{ rows_returned: 0, columns_masked: [] }, 'no row'],
] as const)('of %o it was seen %s', ({ rows_returned, columns_masked }, expected) => {
  expect(seen({ sql: 'select c_phone from customer', outcome: 'completed', rows_returned, columns_masked: [...columns_masked] }, 'c_phone')).toBe(expected)
})
