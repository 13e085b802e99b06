/** A query as the audit log has it: who, what, what the policies made of it, and where the time went. */
import { useQuery } from '@tanstack/react-query'
import { Fragment } from 'react'
import { api, ask, type Shapes } from '../api/client'
import { count, milliseconds, time } from '../format'
import { useNames } from '../names'
import { Badge } from '../parts/Badge'
import { CodeBlock } from '../parts/CodeBlock'
import { Answered } from '../parts/Page'
import { Table } from '../parts/Table'
import { useEnvironment } from '../session'

type Detail = Shapes['QueryEntryDetail']

export function AuditedQuery({ queryId }: { queryId: string }) {
  const { env_id } = useEnvironment()
  const detail = useQuery({
    queryKey: ['audit-query', queryId],
    queryFn: () => ask(api.GET('/v1/environments/{env_id}/audit/queries/{query_id}', { params: { path: { env_id, query_id: queryId } } })),
  })
  return (
    <Answered of={detail} scope="audit:read">
      {(entry) => (
        <div className="stack">
          <About entry={entry} />
          <h3>As it was asked</h3>
          <CodeBlock label="As it was asked" text={entry.sql_original} />
          {entry.sql_healed && (
            <>
              <h3>As it was corrected</h3>
              <CodeBlock label="As it was corrected" text={entry.sql_healed} />
            </>
          )}
          {entry.sql_with_rls && (
            <>
              <h3>As the policies made it</h3>
              <CodeBlock label="As the policies made it" text={entry.sql_with_rls} />
            </>
          )}
          {entry.stages.length > 0 && (
            <>
              <h3>Where the time went</h3>
              <Table
                label="Stages"
                id={(stage) => stage.stage}
                rows={entry.stages}
                columns={[
                  { head: 'Stage', cell: (stage) => stage.stage.replaceAll('_', ' ') },
                  { head: 'Took', isNumber: true, cell: (stage) => milliseconds(stage.ms) },
                ]}
              />
            </>
          )}
        </div>
      )}
    </Answered>
  )
}

function About({ entry }: { entry: Detail }) {
  const named = useNames()
  const whose = (id: string) => (
    <>
      {named(id)} <code>{id}</code>
    </>
  )
  return (
    <dl className="facts">
      <dt>Outcome</dt>
      <dd>
        <Outcome of={entry} />
      </dd>
      <dt>When (UTC)</dt>
      <dd>{time(entry.timestamp)}</dd>
      {entry.user_id && (
        <>
          <dt>Person</dt>
          <dd>{whose(entry.user_id)}</dd>
        </>
      )}
      {entry.key_id && (
        <>
          <dt>Key</dt>
          <dd>{whose(entry.key_id)}</dd>
        </>
      )}
      <dt>As</dt>
      <dd>
        {entry.role.replaceAll('_', ' ')}, by {entry.origin}
        {entry.by_dashboard && ' for one of its pages'}
        {entry.source_ip && `, from ${entry.source_ip}`}
      </dd>
      <dt>Tables</dt>
      <dd>{entry.tables_accessed.join(', ') || 'none'}</dd>
      <dt>Masked</dt>
      <dd>{entry.columns_masked.join(', ') || 'nothing'}</dd>
      <dt>Policies</dt>
      <dd>{entry.policy_verdicts.map((verdict) => `${verdict.policy_name}: ${verdict.action}`).join('; ') || 'none ruled it'}</dd>
      <dt>Credits</dt>
      <dd>{count(entry.credits_consumed)}</dd>
      <dt>Query</dt>
      <dd>
        <code>{entry.query_id}</code>
      </dd>
    </dl>
  )
}

/** How it ended; why, where it did not end well. */
export function Outcome({ of }: { of: Pick<Detail, 'outcome' | 'error_code'> }) {
  return (
    <>
      <Badge>{of.outcome}</Badge>{' '}
      {of.error_code && (
        <a href={`/docs/errors#${of.error_code}`} target="_blank" rel="noreferrer" title="What it means, and what to do">
          {of.error_code.split('_').map((word, at) => (
            <Fragment key={at}>
              {at > 0 && '_'}
              {at > 0 && <wbr />}
              {word}
            </Fragment>
          ))}
        </a>
      )}
    </>
  )
}
