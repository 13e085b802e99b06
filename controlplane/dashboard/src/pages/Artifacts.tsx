/** Artifacts that attempts have made. */
import { Link } from 'wouter'
import type { Shapes } from '../api/client'
import { count, time } from '../format'
import { Badge } from '../parts/Badge'
import { Table } from '../parts/Table'

type Artifact = Shapes['Artifact']

export function Artifacts({ artifacts, label = 'Artifacts' }: { artifacts: readonly Artifact[]; label?: string }) {
  return (
    <Table
      label={label}
      id={(artifact) => artifact.id}
      rows={artifacts}
      columns={[
        { head: 'Artifact', cell: (artifact) => <Link href={`/explain/${artifact.id}`}>{artifact.artifact_key ?? artifact.id.slice(-8)}</Link> },
        { head: 'Kind', cell: (artifact) => artifact.kind },
        { head: 'Confidence', isNumber: true, cell: (artifact) => count(artifact.confidence) },
        { head: 'Validated', cell: (artifact) => (artifact.validation_status ? <Badge>{artifact.validation_status}</Badge> : '–') },
        { head: 'Where', cell: (artifact) => artifact.branch_id ?? 'mainline' },
        { head: 'Made (UTC)', cell: (artifact) => <span className="nowrap">{time(artifact.created_at)}</span> },
      ]}
    />
  )
}
