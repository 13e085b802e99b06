/** Who asked for a column, each once: how often, and whether it was masked for them. */
import type { Shapes } from '../api/client'
import { count, time } from '../format'
import { Badge } from '../parts/Badge'
import { Table } from '../parts/Table'
import { Asker } from './Asker'
import { seen, type Seen } from './seen'

type Entry = Shapes['QueryEntry']

export const TONES = { unmasked: 'warn', masked: 'good', 'no row': 'plain' } as const satisfies Record<Seen, string>

export function WhoSaw({ entries, column }: { entries: readonly Entry[]; column: string }) {
  return (
    <Table
      label={`Who asked for ${column}`}
      id={({ last }) => last.query_id}
      rows={byAsker(entries, column)}
      columns={[
        { head: 'Who', cell: ({ last }) => <Asker of={last} /> },
        { head: 'Saw it', cell: ({ best }) => <Badge tone={TONES[best]}>{best}</Badge> },
        { head: 'Unmasked', isNumber: true, cell: ({ times }) => count(times.unmasked) },
        { head: 'Masked', isNumber: true, cell: ({ times }) => count(times.masked) },
        { head: 'No row', isNumber: true, cell: ({ times }) => count(times['no row']) },
        { head: 'Last (UTC)', cell: ({ last }) => <span className="nowrap">{time(last.timestamp)}</span> },
      ]}
    />
  )
}

/** Whoever looks the same in the list is one, by whichever of their keys. The entries come newest first. */
function byAsker(entries: readonly Entry[], column: string) {
  const askers = new Map<string, { last: Entry; times: Record<Seen, number> }>()
  for (const entry of entries) {
    const who = [entry.user_id ?? entry.key_id, entry.role, entry.origin, entry.agent_metadata?.agent_id].join(' ')
    const known = askers.get(who) ?? { last: entry, times: { unmasked: 0, masked: 0, 'no row': 0 } }
    known.times[seen(entry, column)] += 1
    askers.set(who, known)
  }
  return [...askers.values()].map((asker) => ({ ...asker, best: mostOf(asker.times) }))
}

const mostOf = (times: Record<Seen, number>): Seen => (times.unmasked > 0 ? 'unmasked' : times.masked > 0 ? 'masked' : 'no row')
