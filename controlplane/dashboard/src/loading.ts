/** Files on their way into tables, as whoever is signed in sends them. */
import { useEffect, useRef, useState } from 'react'
import { sendFile } from './api/client'
import { Problem, problemOf } from './api/problem'
import type { Watch } from './api/upload'
import { exact } from './exact'
import { useEnvironment } from './session'
import { pathOf, type Load, type Loaded } from './tableFiles'

/** What the platform says of the file; its rows with every digit. */
async function loaded(envId: string, file: File, load: Load, watch: Watch): Promise<Loaded> {
  const response = await sendFile(pathOf(envId, file.name, load), file, watch)
  if (!response.ok) throw await Problem.of(response)
  const text = await response.text()
  return { ...(JSON.parse(text) as Loaded), rows: (exact(text) as Loaded).rows ?? null }
}

/** A load whose answer has not come. What was not sent to its end is not loaded. */
function unanswered(problem: Problem, isSent: boolean): Problem {
  if (problem.status > 0) return problem
  const outcome = isSent ? 'all of the file was loaded or nothing, and the catalogue says which' : 'nothing was loaded'
  return new Problem(0, problem.code, `${problem.message}: ${outcome}`, problem.details, undefined)
}

/** Loads of a file, one at a time; they end when their page is left. */
export function useLoad(file: File) {
  const { env_id } = useEnvironment()
  const running = useRef<AbortController>(null)
  const [sent, setSent] = useState<number>()
  useEffect(() => () => running.current?.abort(), [])
  const start = async (load: Load): Promise<Loaded> => {
    running.current?.abort()
    const abort = new AbortController()
    running.current = abort
    let most = 0
    const tell = (bytes: number | undefined) => {
      most = Math.max(most, bytes ?? 0)
      if (running.current === abort) setSent(bytes)
    }
    tell(0)
    try {
      return await loaded(env_id, file, load, { signal: abort.signal, sent: tell })
    } catch (error) {
      const problem = problemOf(error)
      throw load.isDryRun ? problem : unanswered(problem, most >= file.size)
    } finally {
      tell(undefined)
    }
  }
  return {
    /** Bytes that have left, while it runs. */
    sent,
    start,
    cancel: () => running.current?.abort(),
  }
}
