import { describe, expect, it } from 'vitest'
import { formatOf, isTable, otherTypes, pathOf, selectOf, tableOf, typesBeside } from './tableFiles'

describe('the name of a file', () => {
  it.each([
    ['people.csv', 'csv'],
    ['a.b.NDJSON', 'jsonl'],
    ['events.json', 'jsonl'],
    ['events.parquet', 'parquet'],
    ['events.arrow', 'arrow'],
    ['people.xls', undefined],
    ['csv', 'csv'],
    ['x.constructor', undefined],
    ['', undefined],
  ])('%j says the format %j', (file, format) => {
    expect(formatOf(file)).toBe(format)
  })

  it.each([
    ['people.csv', 'people'],
    ['Umsätze 2024 (neu).CSV', 'umsätze_2024_neu'],
    ['2024-sales.eu.parquet', 't_2024_sales_eu'],
    ['.csv', 'csv'],
    ['---.csv', 'loaded'],
  ])('%j is a table %j', (file, table) => {
    expect(tableOf(file)).toBe(table)
    expect(isTable(table)).toBe(true)
  })
})

it.each(['', '.', '..', 'a.', '.a', 'a.b.c'])('%j is no table', (table) => {
  expect(isTable(table)).toBe(false)
})

it('a table is shown by its quoted name', () => {
  expect(selectOf('main.or"der')).toBe('select * from "main"."or""der" limit 1000')
})

it('a type that was found comes first, and is offered once', () => {
  expect(typesBeside('DATE').filter((type) => type === 'DATE')).toEqual(['DATE'])
  expect(typesBeside('FLOAT[]')[0]).toBe('FLOAT[]')
})

it('a type that was chosen and is the one that was found is not said', () => {
  const columns = [{ name: 'a', type: 'BIGINT' }, { name: 'constructor', type: 'DATE' }, { name: 'c', type: 'FLOAT[]' }]
  const chosen = new Map([['a', 'VARCHAR'], ['c', 'FLOAT[]'], ['gone', 'DATE']])
  expect(otherTypes(columns, chosen)).toEqual({ a: 'VARCHAR' })
})

it('a load goes to the table, and names the file and the types that were chosen', () => {
  expect(pathOf('env-1', 'a&b.csv', { table: 's.t u', mode: 'append', format: 'csv' })).toBe('/v1/environments/env-1/tables/s.t%20u/load?mode=append&format=csv&file=a%26b.csv')
  expect(pathOf('env-1', 'a.csv', { table: 'a', mode: 'create', format: 'csv', isDryRun: true, types: {} })).toMatch(/file=a.csv&dry_run=true$/)
  expect(pathOf('env-1', 'a.csv', { table: 'a', mode: 'create', format: 'csv', types: { 'z:p': 'DATE' } })).toContain('&types=%7B%22z%3Ap%22%3A%22DATE%22%7D')
})
