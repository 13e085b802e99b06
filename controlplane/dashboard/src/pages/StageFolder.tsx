/** The files of a stage: whoever may read takes them, whoever may write puts and removes them. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask, saveFile, type Shapes } from '../api/client'
import { problemOf, type Problem } from '../api/problem'
import { bytes, time } from '../format'
import { useChanged } from '../lists'
import { ADDERS } from '../parts/AddDataLink'
import { Confirm } from '../parts/Dialog'
import { Answered, Refusal } from '../parts/Page'
import { Table } from '../parts/Table'
import { WRITERS } from '../permissions'
import { useEnvironment, useSession } from '../session'
import { fileAddress, ownName, stageName, type Stage } from '../stageFiles'
import { StagePut } from './StagePut'

type StageFile = Shapes['StageFile']

export function StageFolder({ stage }: { stage: Stage }) {
  const { env_id } = useEnvironment()
  const { is } = useSession()
  const named = stageName(stage)
  const files = useQuery({
    queryKey: ['stage-files', env_id, named],
    queryFn: () => ask(api.GET('/v1/environments/{env_id}/stages/{stage}/files', { params: { path: { env_id, stage: named } } })),
  })
  return (
    <div className="stack">
      {is(WRITERS) ? <StagePut stage={named} /> : <p className="notice">Your role reads these files. An {ADDERS} puts files here, and removes them.</p>}
      <Answered of={files} isEmpty={(told) => told.files.length === 0} empty={<p className="fine">No file is here.</p>}>
        {(told) => (
          <Table
            label={`Files of ${stage.name}`}
            id={(file) => file.path}
            rows={told.files}
            columns={[
              { head: 'File', cell: (file) => <span className="breaks">{file.path}</span> },
              { head: 'Size', isNumber: true, cell: (file) => <span className="nowrap">{bytes(file.bytes)}</span> },
              { head: 'Changed', cell: (file) => <span className="nowrap">{time(file.modified_at)}</span> },
              { head: '', cell: (file) => <Acts file={file} stage={named} /> },
            ]}
          />
        )}
      </Answered>
    </div>
  )
}

function Acts({ file: { path }, stage }: { file: StageFile; stage: string }) {
  const { env_id } = useEnvironment()
  const { is } = useSession()
  const changed = useChanged('stage-files')
  const [problem, setProblem] = useState<Problem>()
  const save = () => {
    setProblem(undefined)
    saveFile(fileAddress(env_id, stage, path), ownName(path)).catch((error: unknown) => setProblem(problemOf(error)))
  }
  return (
    <>
      <div className="row">
        <button type="button" className="small" onClick={save}>
          Download
          <span className="unseen"> {path}</span>
        </button>
        {is(WRITERS) && (
          <Confirm
            label="Remove"
            question={<span className="breaks">Remove {path}? Nobody can take it back.</span>}
            act={() =>
              ask(
                api.DELETE('/v1/environments/{env_id}/stages/{stage}/files/{path}', { params: { path: { env_id, stage, path } } }),
              ).then(changed)
            }
          />
        )}
      </div>
      {problem && <Refusal problem={problem} />}
    </>
  )
}
