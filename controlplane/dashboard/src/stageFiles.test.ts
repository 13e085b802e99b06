import { describe, expect, it } from 'vitest'
import { fileAddress, ownName, stageName, stagesOf } from './stageFiles'

describe('a stage', () => {
  it('is read by the names of the columns', () => {
    const columns = ['created_on', 'name', 'schema_name', 'url', 'comment'].map((name) => ({ name }))
    expect(stagesOf(columns, [[null, 'files', 'main', null, 'of today']])).toEqual([{ schema: 'main', name: 'files', comment: 'of today' }])
    expect(stagesOf([], [])).toEqual([])
  })

  it.each([
    ['main', 'files', 'main.files'],
    ['main', 'of today', 'main."of today"'],
    ['Sales', '2026', 'Sales."2026"'],
    ['main', 'a"b', 'main."a""b"'],
  ])('%s %s is written as %s', (schema, name, written) => {
    expect(stageName({ schema, name })).toBe(written)
  })

  it.each([
    ['a.csv', '/v1/environments/e/stages/main.files/files/a.csv', 'a.csv'],
    ['2026/a b.csv', '/v1/environments/e/stages/main.files/files/2026%2Fa%20b.csv', 'a b.csv'],
    ['a?b#c', '/v1/environments/e/stages/main.files/files/a%3Fb%23c', 'a?b#c'],
  ])('%s has one address', (path, address, name) => {
    expect(fileAddress('e', 'main.files', path)).toBe(address)
    expect(ownName(path)).toBe(name)
  })
})
