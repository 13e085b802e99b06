/** A word with a colour that says what kind of word it is. The word says it too. */
const TONES: Record<string, 'good' | 'bad' | 'warn'> = {
  active: 'good',
  approved: 'good',
  autoapproved: 'good',
  completed: 'good',
  merged: 'good',
  pass: 'good',
  delivered: 'good',
  enabled: 'good',
  allow: 'good',
  running: 'good',
  succeeded: 'good',
  blocked: 'bad',
  critical: 'bad',
  denied: 'bad',
  deny: 'bad',
  disabled: 'bad',
  error: 'bad',
  fail: 'bad',
  failed: 'bad',
  rejected: 'bad',
  timed_out: 'bad',
  dead: 'bad',
  refused: 'bad',
  revoked: 'bad',
  suspended: 'bad',
  deferred: 'warn',
  high: 'warn',
  in_review: 'warn',
  pendingmanual: 'warn',
  warning: 'warn',
  expired: 'warn',
  invited: 'warn',
  pending: 'warn',
  provisioning: 'warn',
  cancelled: 'warn',
}

interface BadgeProps {
  children: string
  tone?: 'good' | 'bad' | 'warn' | 'plain'
  /** It has names of columns or tables in it, whose underscores stay. */
  hasNames?: boolean
}

export function Badge({ children, tone, hasNames }: BadgeProps) {
  return <span className={`badge ${tone ?? TONES[children.toLowerCase()] ?? 'plain'}`}>{hasNames ? children : children.replaceAll('_', ' ')}</span>
}
