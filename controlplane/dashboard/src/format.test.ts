import { describe, expect, it } from 'vitest'
import { bytes, cell, count, csv, daysAgo, json, milliseconds, percent, relative, span, time, usd, words } from './format'

describe('values as people read them', () => {
  it.each([
    [count(1234567.891), '1,234,567.89'],
    [count(null), '–'],
    [usd(0.004249), '0.0042'],
    [usd(0), '0'],
    [usd(1234.567), '1,234.57'],
    [usd(null), '–'],
    [percent(12.5), '12.5 %'],
    [bytes(0), '0 B'],
    [bytes(999), '999 B'],
    [bytes(1_234_567), '1.23 MB'],
    [bytes(5e12), '5,000 GB'],
    [milliseconds(0.25), '250 µs'],
    [milliseconds(12.345), '12.3 ms'],
    [milliseconds(61_000), '61 s'],
    [time('2026-05-01T12:30:00.123Z'), '2026-05-01 12:30:00'],
    [time(undefined), '–'],
    [span(0), '0 s'],
    [span(3_900), '1 h 5 min'],
    [span(3_605), '1 h'],
    [span(200_000), '2 d 7 h'],
    [cell(null), 'NULL'],
    [cell({ a: [1] }), '{"a":[1]}'],
  ])('%s', (is, should) => expect(is).toBe(should))

  it('a moment is told by its distance from now', () => {
    const now = Date.parse('2026-05-01T12:00:00Z')
    expect(relative('2026-05-01T12:05:00Z', now)).toBe('in 5 min')
    expect(relative('2026-05-01T10:00:00Z', now)).toBe('2 h ago')
    expect(relative(null, now)).toBe('never')
    expect(daysAgo(7, now)).toBe('2026-04-24')
  })

  it('a CSV quotes what has to be quoted, and NULL is empty', () => {
    expect(csv(['a', 'b"'], [[1, null], ['x,y', 'two\nlines']])).toBe('a,"b"""\r\n1,\r\n"x,y","two\nlines"\r\n')
  })

  it('a JSON has an object for each row, with each of its columns', () => {
    const text = json(['a', 'a', 'a_2'], [[1, null, { b: [1] }], ['x', 2, 3]])
    expect(text.split('\n').length).toBe(5)
    expect(JSON.parse(text)).toEqual([{ a: 1, a_2: null, a_2_2: { b: [1] } }, { a: 'x', a_2: 2, a_2_2: 3 }])
    expect(JSON.parse(json(['a'], []))).toEqual([])
  })

  it('a list is what stands between commas and spaces', () => {
    expect(words(' a, b  c,,')).toEqual(['a', 'b', 'c'])
  })
})
