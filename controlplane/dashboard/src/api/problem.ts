/** The platform's answer when it refuses: a code, a sentence, details, and the request's id. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: Readonly<Record<string, unknown>>,
    readonly requestId: string | undefined,
  ) {
    super(message)
  }

  static async of(response: Response): Promise<Problem> {
    return Problem.read(response, await response.json().catch(() => undefined))
  }

  static read(response: Response, body: unknown): Problem {
    const error = (body as { error?: { code?: string; message?: string; details?: Record<string, unknown> } })?.error
    return new Problem(
      response.status,
      error?.code ?? `HTTP ${response.status}`,
      error?.message ?? response.statusText,
      error?.details ?? {},
      response.headers.get('x-request-id') ?? undefined,
    )
  }

  /** What was typed and cannot be sent. */
  static typed(field: string, message: string): Problem {
    return new Problem(0, 'NOT SENT', message, { field }, undefined)
  }

  static unreachable(cause: unknown): Problem {
    if (cause instanceof DOMException && cause.name === 'AbortError') {
      return new Problem(0, 'CANCELLED', 'you cancelled it', {}, undefined)
    }
    return new Problem(0, 'UNREACHABLE', 'the platform cannot be reached', {}, undefined)
  }

  /** An answer that broke off on its way. */
  static incomplete(cause: unknown, queryId: string | null): Problem {
    if (cause instanceof DOMException && cause.name === 'AbortError') return Problem.unreachable(cause)
    const where = queryId ? `: the query log says why at ${queryId}` : ''
    return new Problem(0, 'INCOMPLETE', `the answer is incomplete, it broke off on its way${where}`, {}, undefined)
  }

  /** The code thover every protocol answers alike. */
  get stableCode(): string {
    return this.text('stable_code') ?? this.code
  }

  get reason(): string | undefined {
    return this.text('reason')
  }

  /** The field of the request that does not fit. */
  get field(): string | undefined {
    return this.text('field')
  }

  /** The SQLSTATE of an error in the data: the statement is understood, and a value that it met does not fit. */
  get ofData(): string | undefined {
    return this.text('sqlstate')
  }

  /** Somebody else has changed what was to be changed. */
  get isStale(): boolean {
    return this.status === 412 || this.reason === 'version_conflict'
  }

  get isForbidden(): boolean {
    return this.status === 403
  }

  private text(name: string): string | undefined {
    const value = this.details[name]
    return typeof value === 'string' ? value : undefined
  }
}

/** Whatever was thrown, as a [`Problem`]. */
export function problemOf(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, 'UNEXPECTED', String(error), {}, undefined)
}
