/** The stages that whoever asks can see, each as a folder of files. */
import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { Answered } from '../parts/Page'
import { queried } from '../queried'
import { useEnvironment } from '../session'
import { stagesOf, type Stage } from '../stageFiles'
import { StageFolder } from './StageFolder'

export function Stages() {
  const { env_id } = useEnvironment()
  const id = useId()
  const stages = useQuery({
    queryKey: ['stages', env_id],
    queryFn: async () => {
      const { columns, rows } = await queried(env_id, 'show stages')
      return stagesOf(columns, rows)
    },
    staleTime: 60_000,
  })
  return (
    <section className="stack" aria-labelledby={id}>
      <h2 id={id}>Stages of files</h2>
      <Answered
        of={stages}
        isEmpty={(all) => all.length === 0}
        empty={
          <p className="fine">
            No stage is here. The SQL editor makes one: <code>create stage …</code>
          </p>
        }
      >
        {(all) => (
          <div className="pile">
            {all.map((stage) => (
              <One key={`${stage.schema}.${stage.name}`} stage={stage} />
            ))}
          </div>
        )}
      </Answered>
    </section>
  )
}

/** Its files are asked for once it is opened. */
function One({ stage }: { stage: Stage }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="card" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>@{stage.name}</strong> <span className="fine">{stage.comment ? `${stage.schema}: ${stage.comment}` : stage.schema}</span>
      </summary>
      {isOpen && <StageFolder stage={stage} />}
    </details>
  )
}
