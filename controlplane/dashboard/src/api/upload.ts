/** A file on its way to the platform, as the body of one request. `fetch` does not say how much of it has left. */
import { Problem } from './problem'

/** Who looks on, and may end it. */
export interface Watch {
  signal: AbortSignal
  /** So many bytes have left. */
  sent: (bytes: number) => void
}

/** How a file is sent: into a table, or into a stage, where it takes the place of one of its path. */
export type SendMethod = 'POST' | 'PUT'

/** The answer to the whole file. */
export function upload(path: string, headers: Headers, file: Blob, { signal, sent }: Watch, method: SendMethod = 'POST'): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const cancel = () => request.abort()
    const cancelled = () => reject(Problem.unreachable(new DOMException('cancelled', 'AbortError')))
    if (signal.aborted) {
      cancelled()
      return
    }
    signal.addEventListener('abort', cancel)
    request.upload.onprogress = ({ loaded }) => sent(loaded)
    request.onabort = cancelled
    request.onerror = () => reject(Problem.unreachable(undefined))
    request.onload = () => resolve(answered(request))
    request.onloadend = () => signal.removeEventListener('abort', cancel)
    request.open(method, path)
    headers.forEach((value, name) => request.setRequestHeader(name, value))
    request.send(file)
  })
}

function answered(request: XMLHttpRequest): Response {
  const id = request.getResponseHeader('x-request-id')
  return new Response(request.responseText, { status: request.status, statusText: request.statusText, headers: id ? { 'x-request-id': id } : {} })
}
