/**
 * Who may do what. The platform decides; this only saves people from what it would refuse, and names
 * the role to ask. A test holds the table against the document of the API.
 */
export const ROLES_OF = {
  'query:read': ['owner', 'admin', 'developer', 'analyst'],
  'policy:read': ['owner', 'admin', 'developer', 'analyst', 'auditor', 'service_account'],
  'policy:write': ['owner', 'admin'],
  'key:read': ['owner', 'admin'],
  'key:write': ['owner', 'admin'],
  'user:read': ['owner', 'admin'],
  'user:write': ['owner', 'admin'],
  'audit:read': ['owner', 'admin', 'auditor'],
  'environment:read': ['owner', 'admin', 'developer', 'analyst', 'auditor', 'service_account'],
  'environment:write': ['owner', 'admin'],
  'webhook:read': ['owner', 'admin'],
  'webhook:write': ['owner', 'admin'],
  'billing:read': ['owner'],
  'billing:write': ['owner'],
  'agent:*': ['owner', 'admin', 'developer', 'analyst', 'auditor', 'service_account'],
} as const satisfies Record<string, readonly string[]>

export type Scope = keyof typeof ROLES_OF

export interface Permitted {
  permissions: readonly string[]
}

export function may(who: Permitted, scope: Scope | undefined): boolean {
  return scope === undefined || who.permissions.includes(scope)
}

/** Roles that something is left to which no scope tells of. */
export const OWNER = ['owner'] as const
export const ADMINS = ['owner', 'admin'] as const
/** Who changes tables, branches of them and things of the runtime. */
export const WRITERS = ['owner', 'admin', 'developer', 'service_account'] as const

/** `owner or admin`. */
export function either(roles: readonly string[]): string {
  const names = roles.map((role) => role.replace('_', ' '))
  const last = names.pop()
  return names.length === 0 ? String(last) : `${names.join(', ')} or ${last}`
}

export const rolesWith = (scope: Scope): string => either(ROLES_OF[scope])
