import { expect, it } from 'vitest'
import { askedOf, auditOf, filterOf } from './auditFilter'

const NOW = Date.parse('2026-05-08T12:00:00Z')

it('an address that says nothing is about the last week', () => {
  expect(filterOf('', NOW)).toEqual({ start_date: '2026-05-01' })
  expect(filterOf('start_date=2026-01-01&table=%20&unknown=x', NOW)).toEqual({ start_date: '2026-01-01' })
})

it('what an address says is what is shown from it', () => {
  const filter = { start_date: '2026-05-01', table: 'main.customer', column: 'c_phone', outcome: 'refused', user_id: 'u&1', min_duration_ms: '5' }
  const [page, search = ''] = auditOf(filter).split('?')
  expect(page).toBe('/audit')
  expect(filterOf(search, NOW)).toEqual(filter)
  expect(auditOf({})).toBe('/audit')
})

it('the platform is asked what it narrows by, and no more', () => {
  const said = { start_date: '2026-05-01', table: 'orders', column: 'o_comment', outcome: 'refused' }
  const asked = { start_date: '2026-05-01', table: 'orders', include_dashboard: true }
  expect(askedOf({ ...said, min_duration_ms: '1.5' })).toEqual({ ...asked, min_duration_ms: 1.5 })
  expect(askedOf({ ...said, min_duration_ms: 'long' })).toEqual(asked)
})

it('what the dashboard asked for itself is left out, unless it is asked for or may have shown a column', () => {
  expect(askedOf({ table: 'orders' })).toEqual({ table: 'orders' })
  expect(askedOf({ table: 'orders', include_dashboard: 'false' })).toEqual({ table: 'orders' })
  for (const more of [{ include_dashboard: 'true' }, { column: 'o_comment' }]) {
    expect(askedOf({ table: 'orders', ...more })).toEqual({ table: 'orders', include_dashboard: true })
  }
})
