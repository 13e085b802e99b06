/** Every page: where it is, what it needs, and what shows it. */
import { lazy, type ComponentType } from 'react'
import { ADMINS, type Scope } from './permissions'

export const GROUPS = ['Home', 'Data', 'Agents', 'Govern', 'Runtime', 'Admin'] as const

export interface PageRow {
  /** Without one, it is reached from other pages. */
  group?: (typeof GROUPS)[number]
  path: string
  title: string
  needs?: Scope
  roles?: readonly string[]
  ofEnvironment?: boolean
  page: ComponentType
}

const page = (load: () => Promise<{ default: ComponentType }>) => lazy(load)

export const PAGES: readonly PageRow[] = [
  { group: 'Home', path: '/', title: 'Overview', page: page(() => import('./pages/Overview')) },
  { group: 'Home', path: '/connect', title: 'Connect', needs: 'environment:read', ofEnvironment: true, page: page(() => import('./pages/Connect')) },
  { group: 'Data', path: '/sql', title: 'SQL editor', needs: 'query:read', ofEnvironment: true, page: page(() => import('./pages/Sql')) },
  { group: 'Data', path: '/catalogue', title: 'Catalogue', needs: 'query:read', ofEnvironment: true, page: page(() => import('./pages/Catalogue')) },
  { path: '/add-data', title: 'Add data', needs: 'query:read', ofEnvironment: true, page: page(() => import('./pages/AddData')) },
  { group: 'Data', path: '/branches', title: 'Branches', needs: 'agent:*', ofEnvironment: true, page: page(() => import('./pages/Branches')) },
  { path: '/branches/:branch_id', title: 'Branch', needs: 'agent:*', ofEnvironment: true, page: page(() => import('./pages/Branch')) },
  { group: 'Agents', path: '/agents', title: 'Fleet', needs: 'audit:read', ofEnvironment: true, page: page(() => import('./pages/Agents')) },
  { group: 'Agents', path: '/capabilities', title: 'Capabilities', needs: 'policy:write', ofEnvironment: true, page: page(() => import('./pages/Capabilities')) },
  { group: 'Agents', path: '/memory', title: 'Memory', needs: 'agent:*', ofEnvironment: true, page: page(() => import('./pages/Memory')) },
  { group: 'Agents', path: '/reasoning', title: 'Reasoning', needs: 'agent:*', ofEnvironment: true, page: page(() => import('./pages/Reasoning')) },
  { path: '/reasoning/:session_id', title: 'Session', needs: 'agent:*', ofEnvironment: true, page: page(() => import('./pages/ReasoningSession')) },
  { group: 'Agents', path: '/triggers', title: 'Triggers', needs: 'agent:*', ofEnvironment: true, page: page(() => import('./pages/Triggers')) },
  { group: 'Govern', path: '/policies', title: 'Policies', needs: 'policy:read', ofEnvironment: true, page: page(() => import('./pages/Policies')) },
  { group: 'Govern', path: '/abac', title: 'Attribute policies', needs: 'policy:read', ofEnvironment: true, page: page(() => import('./pages/Abac')) },
  { group: 'Govern', path: '/audit', title: 'Audit', needs: 'audit:read', ofEnvironment: true, page: page(() => import('./pages/Audit')) },
  { group: 'Govern', path: '/jit', title: 'Just-in-time access', ofEnvironment: true, page: page(() => import('./pages/Jit')) },
  { group: 'Govern', path: '/shadow', title: 'Shadow mode', needs: 'environment:write', ofEnvironment: true, page: page(() => import('./pages/Shadow')) },
  { group: 'Runtime', path: '/tasks', title: 'Tasks', needs: 'agent:*', page: page(() => import('./pages/Tasks')) },
  { path: '/tasks/:task_id', title: 'Task', needs: 'agent:*', page: page(() => import('./pages/Task')) },
  { group: 'Runtime', path: '/reviews', title: 'Reviews', needs: 'agent:*', page: page(() => import('./pages/Reviews')) },
  { path: '/reviews/:review_id', title: 'Review', needs: 'agent:*', page: page(() => import('./pages/Review')) },
  { group: 'Runtime', path: '/gates', title: 'Gates', needs: 'agent:*', page: page(() => import('./pages/Gates')) },
  { group: 'Runtime', path: '/releases', title: 'Releases', needs: 'agent:*', page: page(() => import('./pages/Releases')) },
  { group: 'Runtime', path: '/recovery', title: 'Recovery', needs: 'agent:*', page: page(() => import('./pages/Recovery')) },
  { group: 'Runtime', path: '/explain', title: 'Explain', needs: 'agent:*', page: page(() => import('./pages/Explain')) },
  { path: '/explain/:id', title: 'Explain', needs: 'agent:*', page: page(() => import('./pages/Explain')) },
  { group: 'Runtime', path: '/costs', title: 'Models', needs: 'agent:*', page: page(() => import('./pages/Costs')) },
  { group: 'Admin', path: '/keys', title: 'API keys', needs: 'key:read', ofEnvironment: true, page: page(() => import('./pages/Keys')) },
  { group: 'Admin', path: '/users', title: 'Users', needs: 'user:read', page: page(() => import('./pages/Users')) },
  { group: 'Admin', path: '/sign-on', title: 'Single sign-on', roles: ADMINS, page: page(() => import('./pages/SignOn')) },
  { group: 'Admin', path: '/environments', title: 'Environments', needs: 'environment:read', page: page(() => import('./pages/Environments')) },
  { group: 'Admin', path: '/tenants', title: 'Tenants', roles: ADMINS, page: page(() => import('./pages/Tenants')) },
  { group: 'Admin', path: '/storage', title: 'Storage integrations', roles: ADMINS, ofEnvironment: true, page: page(() => import('./pages/Storage')) },
  { group: 'Admin', path: '/webhooks', title: 'Webhooks', needs: 'webhook:read', page: page(() => import('./pages/Webhooks')) },
  { group: 'Admin', path: '/billing', title: 'Billing', needs: 'billing:read', page: page(() => import('./pages/Billing')) },
  { group: 'Admin', path: '/system', title: 'System', page: page(() => import('./pages/System')) },
  { path: '/account', title: 'Account', page: page(() => import('./pages/Account')) },
]
