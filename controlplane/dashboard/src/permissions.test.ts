import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ADMINS, may, OWNER, ROLES_OF, rolesWith, WRITERS, type Scope } from './permissions'

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

  it.each([
    ['put', '/v1/organizations/{org_id}/sso', OWNER],
    ['get', '/v1/organizations/{org_id}/sso', ADMINS],
    ['post', '/v1/organizations/{org_id}/federation/providers', ADMINS],
    ['post', '/v1/environments/{env_id}/policies/test', ADMINS],
    ['post', '/v1/organizations/{org_id}/branches/{branch_id}/merge', WRITERS],
    ['delete', '/v1/organizations/{org_id}/branches/{branch_id}', WRITERS],
    ['post', '/v1/organizations/{org_id}/triggers', WRITERS],
    ['delete', '/v1/organizations/{org_id}/triggers/{trigger_id}', WRITERS],
    ['delete', '/v1/organizations/{org_id}/agent-memory/{memory_id}', WRITERS],
    ['put', '/v2/gates/{gate_id}', ADMINS],
    ['put', '/v2/reviews/{review_id}/resolve', WRITERS],
    ['post', '/v2/recovery/{attempt_id}', WRITERS],
    ['post', '/v2/gates/{gate_id}/evaluate', WRITERS],
    ['post', '/v2/releases', WRITERS],
    ['post', '/v2/runtime/tasks/{task_id}/cancel', WRITERS],
  ])('%s %s is of the roles that the document of the API names', (method, path, expected) => {
    expect([...(document.paths[path]?.[method]?.security[0]?.session ?? [])].sort()).toEqual([...expected].sort())
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
