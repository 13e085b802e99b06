import type { Shapes } from '../api/client'

export type Role = Shapes['Role']

/** All there are; a test of types: one that is missing does not compile. */
const EVERY: Record<Role, true> = { owner: true, admin: true, developer: true, analyst: true, auditor: true, service_account: true }

export const ROLES = Object.keys(EVERY) as Role[]
