/** Rules of attribute policies in words. */
import type { Shapes } from '../api/client'

type Rule = Shapes['AbacPolicy']['rules'][number]

/** What each condition asks about. */
export const CONDITIONS = {
  AgentFrameworkIs: 'the agent’s framework is',
  AgentIdIs: 'the agent is',
  RoleIs: 'the role is',
  UserIs: 'the user is',
  QueryOriginIs: 'it comes through',
  TableIs: 'it is about the table',
  StageIs: 'it is about the stage',
  StorageIntegrationIs: 'it reaches files by the storage integration',
  OperationIs: 'it would',
  SourceIpIn: 'it comes from the address',
  TimeOfDay: 'the time of day is',
  DayOfWeek: 'the day is',
} as const

const worded = (condition: string) => (condition in CONDITIONS ? CONDITIONS[condition as keyof typeof CONDITIONS] : condition)

/** `deny if the role is analyst or auditor`. */
export function sentence(rule: Rule): string {
  const when = rule.start && rule.end ? `${rule.start}–${rule.end} ${rule.timezone ?? 'UTC'}` : (rule.values ?? []).join(' or ')
  return `${rule.action.replaceAll('_', ' ')} if ${worded(rule.condition)} ${when}`
}
