/** A word with a colour that says what kind of word it is. The word says it too. */
const TONES: Record<string, 'good' | 'bad' | 'warn'> = {
  active: 'good',
  approved: 'good',
  completed: 'good',
  delivered: 'good',
  enabled: 'good',
  allow: 'good',
  running: 'good',
  succeeded: 'good',
  denied: 'bad',
  deny: 'bad',
  disabled: 'bad',
  error: 'bad',
  failed: 'bad',
  dead: 'bad',
  refused: 'bad',
  revoked: 'bad',
  suspended: 'bad',
  expired: 'warn',
  invited: 'warn',
  pending: 'warn',
  provisioning: 'warn',
  cancelled: 'warn',
}

export function Badge({ children, tone }: { children: string; tone?: 'good' | 'bad' | 'warn' | 'plain' }) {
  return <span className={`badge ${tone ?? TONES[children.toLowerCase()] ?? 'plain'}`}>{children.replaceAll('_', ' ')}</span>
}
