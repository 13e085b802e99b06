/** A file on its way into a stage: in the stage once it is whole, or never. */
import { useEffect, useRef, useState } from 'react'
import { sendFile } from '../api/client'
import { Problem, problemOf } from '../api/problem'
import { useChanged } from '../lists'
import { FileDrop } from '../parts/FileDrop'
import { Refusal } from '../parts/Page'
import { Sending } from '../parts/Sending'
import { useEnvironment } from '../session'
import { fileAddress } from '../stageFiles'

export function StagePut({ stage }: { stage: string }) {
  const { env_id } = useEnvironment()
  const changed = useChanged('stage-files')
  const running = useRef<AbortController>(null)
  const [sending, setSending] = useState<{ size: number; sent: number }>()
  const [put, setPut] = useState('')
  const [problem, setProblem] = useState<Problem>()
  useEffect(() => () => running.current?.abort(), [])
  const take = async (file: File) => {
    running.current?.abort()
    const abort = new AbortController()
    running.current = abort
    const isLast = () => running.current === abort
    const tell = (sent: number) => {
      if (isLast()) setSending({ size: file.size, sent })
    }
    setPut('')
    setProblem(undefined)
    tell(0)
    try {
      const response = await sendFile(fileAddress(env_id, stage, file.name), file, { signal: abort.signal, sent: tell }, 'PUT')
      if (!response.ok) throw await Problem.of(response)
      if (isLast()) setPut(`${file.name} is in the stage.`)
    } catch (error) {
      if (isLast()) setProblem(problemOf(error))
    }
    if (isLast()) setSending(undefined)
    await changed()
  }
  return (
    <>
      <FileDrop label="Put a file here" hint="Or drop it here. It takes the place of one of that name." accept="" take={(file) => void take(file)} />
      {sending && <Sending sent={sending.sent} size={sending.size} cancel={() => running.current?.abort()} />}
      {problem && <Refusal problem={problem} />}
      {/* It stands here before it says anything, so that a screen reader reads it out. */}
      <p className="fine breaks" role="status">
        {put}
      </p>
    </>
  )
}
