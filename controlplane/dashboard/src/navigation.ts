/** Every page: where it is, what it needs, and what shows it. */
import { lazy, type ComponentType } from 'react'
import type { Scope } from './permissions'

export const GROUPS = ['Home', 'Data', 'Agents', 'Govern', 'Runtime', 'Admin'] as const

export interface PageRow {
  group?: (typeof GROUPS)[number]
  path: string
  title: string
  needs?: Scope
  ofEnvironment?: boolean
  page: ComponentType
}

const page = (load: () => Promise<{ default: ComponentType }>) => lazy(load)

export const PAGES: readonly PageRow[] = [
  { group: 'Home', path: '/', title: 'Overview', page: page(() => import('./pages/Overview')) },
  { group: 'Home', path: '/connect', title: 'Connect', needs: 'environment:read', ofEnvironment: true, page: page(() => import('./pages/Connect')) },
  { group: 'Data', path: '/sql', title: 'SQL editor', needs: 'query:read', ofEnvironment: true, page: page(() => import('./pages/Sql')) },
  { group: 'Data', path: '/catalogue', title: 'Catalogue', needs: 'query:read', ofEnvironment: true, page: page(() => import('./pages/Catalogue')) },
  { group: 'Agents', path: '/agents', title: 'Fleet', needs: 'audit:read', ofEnvironment: true, page: page(() => import('./pages/Agents')) },
  { group: 'Agents', path: '/capabilities', title: 'Capabilities', needs: 'policy:write', ofEnvironment: true, page: page(() => import('./pages/Capabilities')) },
  { group: 'Agents', path: '/memory', title: 'Memory', needs: 'agent:*', ofEnvironment: true, page: page(() => import('./pages/Memory')) },
  { group: 'Govern', path: '/policies', title: 'Policies', needs: 'policy:read', ofEnvironment: true, page: page(() => import('./pages/Policies')) },
  { group: 'Govern', path: '/abac', title: 'Attribute policies', needs: 'policy:read', ofEnvironment: true, page: page(() => import('./pages/Abac')) },
  { group: 'Govern', path: '/audit', title: 'Audit', needs: 'audit:read', ofEnvironment: true, page: page(() => import('./pages/Audit')) },
  { group: 'Govern', path: '/jit', title: 'Just-in-time access', ofEnvironment: true, page: page(() => import('./pages/Jit')) },
  { group: 'Govern', path: '/shadow', title: 'Shadow mode', needs: 'environment:write', ofEnvironment: true, page: page(() => import('./pages/Shadow')) },
  { group: 'Runtime', path: '/tasks', title: 'Tasks', needs: 'agent:*', page: page(() => import('./pages/Tasks')) },
  { group: 'Runtime', path: '/costs', title: 'Costs and confidence', needs: 'agent:*', page: page(() => import('./pages/Costs')) },
  { group: 'Admin', path: '/keys', title: 'API keys', needs: 'key:read', ofEnvironment: true, page: page(() => import('./pages/Keys')) },
  { group: 'Admin', path: '/users', title: 'Users', needs: 'user:read', page: page(() => import('./pages/Users')) },
  { group: 'Admin', path: '/environments', title: 'Environments', needs: 'environment:read', page: page(() => import('./pages/Environments')) },
  { group: 'Admin', path: '/webhooks', title: 'Webhooks', needs: 'webhook:read', page: page(() => import('./pages/Webhooks')) },
  { group: 'Admin', path: '/billing', title: 'Billing', needs: 'billing:read', page: page(() => import('./pages/Billing')) },
  { path: '/account', title: 'Account', page: page(() => import('./pages/Account')) },
]
