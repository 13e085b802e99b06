/** Files on their way into tables, as whoever is signed in sends them. */
import { useEffect, useRef, useState } from 'react'
import { api, ask, sendFile } from './api/client'
import { Problem, problemOf } from './api/problem'
import type { Watch } from './api/upload'
import { exact } from './exact'
import { useEnvironment } from './session'
import { pathOf, type Load, type Loaded } from './tableFiles'

/** What the platform says of the file; its rows with every digit. */
async function loaded(envId: string, file: File, load: Load, operation: string, watch: Watch): Promise<Loaded> {
  const response = await sendFile(pathOf(envId, file.name, load), file, watch, 'POST', operation)
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

/** How often the rows that have come are asked for. */
const LOOK_MS = 3000

const place = (operation: string) => ({ params: { path: { operation_id: operation } } })

/** Tells the rows of a load that have come, until what it returns is called. A look that fails tells nothing. */
function watchRows(operation: string, tell: (rows: number) => void): () => void {
  const look = async () => {
    const { progress } = await ask(api.GET('/v1/operations/{operation_id}', place(operation)))
    if (typeof progress.rows === 'number') tell(progress.rows)
  }
  const timer = setInterval(() => void look().catch(() => undefined), LOOK_MS)
  return () => clearInterval(timer)
}

/** One load on its way. */
interface Running {
  abort: AbortController
  /** The platform's name of it. */
  operation: string
  /** Bytes that have left. */
  most: number
  isCancelled: boolean
}

/** Ends a load. Until its last byte has left, breaking it off is sure; after it the platform says whether that was in time. */
function end(run: Running, file: File): void {
  run.isCancelled = true
  if (run.most < file.size) {
    run.abort.abort()
    return
  }
  void ask(api.POST('/v1/operations/{operation_id}/cancel', place(run.operation))).catch((error: unknown) => {
    // One that has ended is about to be answered.
    if (problemOf(error).status !== 409) run.abort.abort()
  })
}

/** What is said of a load that failed. */
function failed(error: unknown, { isDryRun }: Load, { isCancelled, most }: Running, file: File): Problem {
  const problem = problemOf(error)
  if (isCancelled && problem.status === 408) return new Problem(0, 'CANCELLED', isDryRun ? 'you cancelled it' : 'you cancelled it: nothing was loaded', {}, undefined)
  return isDryRun ? problem : unanswered(problem, most >= file.size)
}

/** Loads of a file, one at a time; they end when their page is left. */
export function useLoad(file: File) {
  const { env_id } = useEnvironment()
  const running = useRef<Running>(null)
  const [sent, setSent] = useState<number>()
  const [rows, setRows] = useState<number>()
  useEffect(() => () => running.current?.abort.abort(), [])
  const start = async (load: Load): Promise<Loaded> => {
    running.current?.abort.abort()
    const run: Running = { abort: new AbortController(), operation: crypto.randomUUID(), most: 0, isCancelled: false }
    running.current = run
    const tell = (bytes: number | undefined) => {
      run.most = Math.max(run.most, bytes ?? 0)
      if (running.current === run) setSent(bytes)
    }
    tell(0)
    setRows(undefined)
    const leave = watchRows(run.operation, (come) => {
      if (running.current === run) setRows(come)
    })
    try {
      return await loaded(env_id, file, load, run.operation, { signal: run.abort.signal, sent: tell })
    } catch (error) {
      throw failed(error, load, run, file)
    } finally {
      leave()
      tell(undefined)
      if (running.current === run) running.current = null
    }
  }
  return {
    /** Bytes that have left, while it runs. */
    sent,
    /** Rows that have come, as far as the platform says it. */
    rows,
    start,
    cancel: () => {
      if (running.current) end(running.current, file)
    },
  }
}
