import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { may, ROLES_OF, rolesWith, type Scope } from './permissions'

interface Operation {
  security: [{ session?: string[] }?, { key?: string[] }?]
}
const document = JSON.parse(readFileSync(new URL('../../../tests/golden/openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>
}
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))

/** Whoever has a session that some endpoint of the scope takes. */
function roles(scope: string): string[] {
  const own = operations.filter((operation) => operation.security[1]?.key?.includes(scope))
  return [...new Set(own.flatMap((operation) => operation.security[0]?.session ?? []))]
}

describe('who may do what', () => {
  const scopes = (Object.keys(ROLES_OF) as Scope[]).filter((scope) => scope !== 'query:read')
  it.each(scopes)('%s is of the roles that the document of the API names', (scope) => {
    expect([...ROLES_OF[scope]].sort()).toEqual(roles(scope).sort())
  })

  it('a scope that is not granted hides what needs it', () => {
    expect(may({ permissions: ['key:read'] }, 'key:write')).toBe(false)
    expect(may({ permissions: ['key:read'] }, 'key:read')).toBe(true)
    expect(may({ permissions: [] }, undefined)).toBe(true)
  })

  it('the role to ask is named', () => {
    expect(rolesWith('billing:read')).toBe('owner')
    expect(rolesWith('audit:read')).toBe('owner, admin or auditor')
  })
})
