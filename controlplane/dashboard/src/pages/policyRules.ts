/** The rules of an environment's policies for one table. */
import type { Shapes } from '../api/client'

export type Policy = Shapes['Policy']

export interface Mask {
  policy: string
  column: string
  function: string
  exempt: readonly string[]
}

export interface RowFilter {
  policy: string
  filter: string
  exempt: readonly string[]
}

/** A rule names its table with or without a schema; names are the same in any case. */
function isOf(rule: { table: string }, table: string): boolean {
  return rule.table.split('.').pop()?.toLowerCase() === table.toLowerCase()
}

export function masksOf(policies: readonly Policy[], table: string): Mask[] {
  return policies
    .filter((policy) => policy.enabled)
    .flatMap((policy) =>
      policy.type === 'column_masking'
        ? policy.rules
            .filter((rule) => isOf(rule, table))
            .map((rule) => ({ policy: policy.name, column: rule.column, function: rule.function, exempt: rule.exempt_roles }))
        : [],
    )
}

export function filtersOf(policies: readonly Policy[], table: string): RowFilter[] {
  return policies
    .filter((policy) => policy.enabled)
    .flatMap((policy) =>
      policy.type === 'row_level_security'
        ? policy.rules.filter((rule) => isOf(rule, table)).map((rule) => ({ policy: policy.name, filter: rule.filter, exempt: rule.exempt_roles }))
        : [],
    )
}
